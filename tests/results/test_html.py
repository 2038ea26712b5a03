"""HTML of results shows every word of their text, and data only as text."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from illume.data.class_outputs import Classes
from illume.data.frames import Origin
from tests.common import loans

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def rules(loan_explainer):
    return loan_explainer.rules(loans(6, seed=3))


@pytest.fixture(scope="module")
def found(loan_explainer):
    return loan_explainer.counterfactuals(loans(6, seed=3), n=1)


def test_all_text_from_data_is_escaped(pullback, rules, found):
    outputs = Classes((NASTY, f"{NASTY} 2"))
    labels = replace(pullback.labels, features=(NASTY, "income", "owner", "education"), outputs=outputs)
    data = pullback.data.astype(object)
    data[:, 3] = NASTY
    index = pd.Index([f"{NASTY}{i}" for i in range(60)], name=NASTY)
    odd = replace(pullback, labels=labels, data=data, origin=Origin("pandas", index))
    after = found.after.astype(object)
    after[found.changed] = NASTY
    changed = replace(found, after=after, outputs=outputs, feature_names=(NASTY, "income", "owner", "edu"))
    named = replace(rules, outputs=outputs, question=outputs.question())
    for result in (odd, changed, named):
        for html in (result._repr_html_(), result[0]._repr_html_()):
            assert "<script" not in html
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_html_shows_every_word_of_the_text(pullback, rules, found, loan_pullback):
    for result in (pullback, pullback[0], rules, rules[0], found, found[0], loan_pullback.quality_):
        html = unescape(re.sub(r"<.*?>", " ", result._repr_html_()))
        words, shown = (set(re.sub(r"[█▒→⇒,:]", " ", each).split()) for each in (repr(result), html))
        assert words <= shown


def test_a_feature_may_have_the_name_of_a_column_of_ours(pullback):
    names = ("decision", "offset", "2 other features", "rest")
    wide = replace(pullback, labels=replace(pullback.labels, features=names)).to_frame()
    assert wide.columns.is_unique
    np.testing.assert_allclose(wide["offset"], pullback.values[:, 1])
    np.testing.assert_allclose(wide["offset_"], pullback.offset)
