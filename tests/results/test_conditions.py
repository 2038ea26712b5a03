import sqlite3

import numpy as np
import pandas as pd
import pytest

from illume.data.frames import as_frame
from illume.data.schema import Other
from illume.results.conditions import Interval, Membership
from illume.results.counterfactuals import Change
from illume.results.dictionary import NO_LABELS

FRAME = pd.DataFrame(
    {
        'say "x"': [1.0, 2.0, 2.5, np.nan, 7.25],
        "it's": ["a'b", "c", None, "d", "e"],
        "yes": [True, False, True, True, False],
        "code": [1, 2, 3, 2, 1],
    }
)

CONDITIONS = [
    Interval('say "x"', high=2.0),
    Interval('say "x"', low=2.0, high=2.5),
    Interval('say "x"', low=2.5, missing=True),
    Membership("it's", ("a'b", "d"), ("c", "e", None)),
    Membership("it's", ("a'b", None), ("c", "d", "e")),
    Membership("it's", (None,), ("a'b", "c", "d", "e")),
    Membership("it's", ("c", Other.OTHER), ("a'b", None)),
    Membership("it's", ("c", Other.OTHER, None), ("a'b",)),
    Membership("it's", (Other.OTHER,), (None,)),
    Membership("yes", (True,), (False,)),
    Membership("code", (1, 3), (2,)),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_sql_selects_exactly_the_covered_rows(condition):
    covered = condition.covers(as_frame(FRAME))
    with sqlite3.connect(":memory:") as connection:
        FRAME.to_sql("rows", connection, index_label="id")
        found = connection.execute(f"SELECT id FROM rows WHERE {condition.to_sql()} ORDER BY id").fetchall()
    assert [row for (row,) in found] == np.flatnonzero(covered).tolist()
    assert 0 < covered.sum() < len(FRAME)


def test_a_value_never_seen_is_covered_only_where_others_are():
    rows = as_frame(pd.DataFrame({"city": ["Rome", "Oslo"]}))
    assert Membership("city", ("Rome",), ("Pisa",)).covers(rows).tolist() == [True, False]
    assert Membership("city", ("Rome", Other.OTHER), ("Pisa",)).covers(rows).tolist() == [True, True]


def test_conditions_read_like_sentences():
    assert str(Interval("age", low=18.0)) == "age ≥ 18"
    assert str(Interval("age", low=18.0, high=27.0)) == "18 ≤ age ≤ 27"
    assert str(Interval("age", low=18.0, high=18.0)) == "age = 18"
    assert str(Interval("income", high=31.42, missing=True)) == "income ≤ 31.42 (or missing)"
    assert str(Membership("education", ("low",), ("middle", "high"))) == "education = low"
    assert (
        str(Membership("education", ("low", None), ("middle", "high", "top")))
        == "education in {low, (missing)}"
    )
    assert str(Membership("education", ("a", "b", "c"), ("d", "e"))) == "education not in {d, e}"


@pytest.mark.parametrize(
    "value", ["< 0 DM", "a, b", "cats and dogs", "x = 1", " padded", "", "“so”", "1: yes"]
)
def test_values_that_could_be_read_as_conditions_are_quoted(value):
    several = str(Membership("account", ("other", value), ("x", "y", "z")))
    assert str(Membership("account", (value,), ("other", "more"))) == f"account = “{value}”"
    assert several == f"account in {{other, “{value}”}}"
    assert str(Change("account", "no account", value)) == f"account: no account → “{value}”"
    assert NO_LABELS.input("account", f"account = {value}") == f"account = “{value}”"


@pytest.mark.parametrize(
    "value", ["no account", "0-200 DM", "radio/tv", "(other)", "Sankt-Petersburg", "3.5 %"]
)
def test_plain_values_are_not_quoted(value):
    assert str(Membership("account", (value,), ("other", "more"))) == f"account = {value}"
    assert Change("account", value, 3.5).text == f"{value} → 3.5"


def test_dictionaries_name_open_sides_and_missing_values():
    assert Interval("x", high=3.0).to_dict() == {"feature": "x", "low": None, "high": 3.0, "missing": False}
    named = Membership("c", ("a", Other.OTHER), (None,)).to_dict()
    assert named == {"feature": "c", "allowed": ["a", "(other)"], "excluded": [None]}
