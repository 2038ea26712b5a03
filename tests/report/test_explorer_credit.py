"""A page that holds a credit model: its answers, and the changes that it finds, are the model's."""

import json

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, load
from illume.errors import ExportError
from illume.explanations.asked import Asked
from illume.report.explorer_payload import explorer_payload
from tests.report.common import data_of
from tests.report.credit import CODES, OFFER, applicants, fit_credit
from tests.report.engine import (
    assert_equal,
    assert_the_models_own,
    modules_in,
    needs_node,
    read_figures,
    run_script,
    write_payload,
)
from tests.report.exact_models import edited

N_FLIPS = 60


@pytest.fixture(scope="module")
def credit():
    """Return the model, applicants and an explainer."""
    model, X = fit_credit()
    return model, X, Explainer(model, positive_class="refused", verbose=False).fit(X)


@needs_node
def test_a_thousand_edited_applicants_get_the_models_own_answers(credit, tmp_path):
    fitted = credit[2].fitted_
    assert fitted.twin.exact
    frame = fitted.as_frame(edited(applicants(1_000, seed=5), 1_000))
    write_payload(fitted, frame, tmp_path)
    modules, said = modules_in(tmp_path / "modules"), tmp_path / "said"
    run_script("run_engine.mjs", modules, tmp_path / "payload.json", said)
    said = read_figures(np.fromfile(said), fitted)
    assert_equal(said, fitted, frame)
    assert_the_models_own(said, fitted, frame)


@pytest.fixture(scope="module")
def flips(credit, tmp_path_factory):
    """Return refused applicants and the changes that the page finds for them."""
    model, X, explainer = credit
    folder = tmp_path_factory.mktemp("flips")
    refused = X[model.predict(X) == "refused"][:N_FLIPS].reset_index(drop=True)
    fitted = explainer.fitted_
    (folder / "payload.json").write_text(json.dumps(explorer_payload(fitted, Asked.of(fitted, refused))))
    modules, found = modules_in(folder / "modules"), folder / "found.json"
    run_script("search_flips.mjs", modules, folder / "payload.json", found, len(refused), "amount")
    return model, refused, fitted, json.loads(found.read_text())


@needs_node
def test_what_the_page_finds_flips_the_model_itself(flips):
    model, refused, _, said = flips
    rows = [one["row"] for each in said["found"] for one in (*each["single"], *each["any"])]
    assert len(rows) > N_FLIPS
    made = pd.DataFrame(rows, columns=refused.columns)
    assert (model.predict(made) == "granted").all()


@needs_node
def test_where_no_single_change_is_said_to_be_enough_none_is(flips):
    """All values that the model tells apart were tried: here anew, on the model."""
    model, refused, fitted, said = flips
    assert said["proves"] is True
    without = [i for i, each in enumerate(said["found"]) if not each["single"]]
    assert 0 < len(without) < N_FLIPS
    for i in without[:10]:
        rows = list(_singles(refused.iloc[i], fitted))
        assert (model.predict(pd.DataFrame(rows)) == "refused").all()


def _singles(row, fitted):
    """Yield the row with each value of one feature: a number in each seen bin, all categories."""
    for name, cuts in zip(fitted.schema.names, fitted.twin.parts.codes.cuts, strict=True):
        feature = fitted.schema[name]
        if feature.numeric:
            inside = cuts[(cuts > feature.low) & (cuts < feature.high)]
            edges = np.array([feature.low, *inside, feature.high])
            values = np.unique(np.floor(np.concatenate([edges, edges + 1])))
            values = values[(values >= feature.low) & (values <= feature.high)]
        else:
            values = CODES[name]
        for value in values:
            yield row.where(row.index != name, value)


@needs_node
def test_a_single_change_between_quantiles_is_found(flips):
    """As of row 20963 of a credit set: no quantile of the amounts is enough, an amount between two is."""
    model, refused, fitted, said = flips
    knots = np.unique(fitted.reference().knots[fitted.schema.names.index("amount")])
    known = [(model.predict(refused.assign(amount=knot)) == "granted") for knot in knots]
    only_between = ~np.any(known, axis=0) & (
        model.predict(refused.assign(amount=np.mean(OFFER))) == "granted"
    )
    assert only_between.sum() > 3
    assert all(said["found"][i]["alone"] for i in np.flatnonzero(only_between))


def test_refused_applicants_get_confirmed_flips_before_others(credit, tmp_path):
    model, X, explainer = credit
    rows = X[:60]
    n_refused = int((model.predict(rows) == "refused").sum())
    path = explainer.explorer(rows, tmp_path / "credit.html", max_counterfactual_rows=n_refused)
    data = data_of(path)
    flips = {int(row): found for row, found in data["engine"]["flips"].items()}
    assert sorted(flips) == np.flatnonzero(model.predict(rows) == "refused").tolist()
    assert sum(map(bool, flips.values())) > 0.9 * n_refused
    assert data["page"]["twin"] == "These are the model's own answers: the page holds its 150 trees."
    assert "This file holds the model itself" in path.read_text("utf-8")


def test_a_page_without_the_model_has_a_learned_twin(credit, tmp_path):
    model, X, _ = credit
    options = {"effort": "quick", "queries": 5_000, "verbose": False, "random_state": 0}
    fresh = Explainer(model, positive_class="refused", **options).fit(X)
    pages = {"date": "2026-01-01", "rules": False, "counterfactuals": False, "hold_model": False}
    path = fresh.explorer(X[:5], tmp_path / "page.html", **pages)
    assert fresh.fitted_.twin.exact
    engine = data_of(path)["engine"]
    assert (engine["twin"]["kind"], engine["twin"]["exact"]) == ("learned", False)
    assert "holds the model itself" not in path.read_text("utf-8")
    learned = Explainer(model, positive_class="refused", twin="learned", **options).fit(X)
    other = learned.explorer(X[:5], tmp_path / "learned.html", **pages)
    assert engine == data_of(other)["engine"]


def test_a_loaded_explainer_that_holds_the_model_makes_no_page_without_it(credit, tmp_path):
    model, X, explainer = credit
    explainer.save(tmp_path / "a.illume", rules=False)
    loaded = load(tmp_path / "a.illume", model=model)
    with pytest.raises(ExportError, match=r"has no learned twin .* fit with twin='learned'"):
        loaded.explorer(X[:5], tmp_path / "page.html", hold_model=False, rules=False)


def test_without_rules_a_page_that_holds_the_model_trains_nothing(credit, tmp_path):
    _, X, explainer = credit
    fresh = Explainer(explainer.model, verbose=False).fit(X)
    data = data_of(fresh.explorer(X[:30], tmp_path / "page.html", rules=False))
    assert not fresh.fitted_.latents.ready
    assert data["engine"]["rules"] is None
    assert data["engine"]["flips"] == {}
