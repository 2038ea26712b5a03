"""Flips in the explorer's file: confirmed by the model, and within what Python allowed."""

import json
import subprocess

import numpy as np
import pytest

import illume
from illume.report.assemble import STATIC
from tests.report.common import data_of
from tests.report.engine import NODE, needs_node


def examples_of(data):
    """Yield the row and the changes of each flip of a page."""
    for row, flips in data["engine"]["flips"].items():
        yield from ((int(row), one) for one in flips)


def changed_frame(frame, data, changes_of_rows):
    made = frame.iloc[[row for row, _ in changes_of_rows]].copy()
    for i, (_, changes) in enumerate(changes_of_rows):
        for j, value in changes:
            made.iloc[i, made.columns.get_loc(data["engine"]["features"][j]["name"])] = value
    return made


def test_the_model_confirms_every_flip_of_the_file(loan_explorer, loan_model, loan_frame):
    data = data_of(loan_explorer)
    found = list(examples_of(data))
    assert len({row for row, _ in found}) > 150
    made = changed_frame(loan_frame, data, [(row, one["changes"]) for row, one in found])
    P = loan_model.predict_proba(made)
    np.testing.assert_allclose(P, [one["answers"] for _, one in found])
    own = loan_model.predict(loan_frame.iloc[[row for row, _ in found]])
    assert (loan_model.predict(made) != own).all()


def test_rows_beyond_the_limit_and_pages_without_the_model_have_no_flips(
    loan_explainer, loan_frame, tmp_path
):
    few = data_of(loan_explainer.explorer(loan_frame, tmp_path / "few.html", max_counterfactual_rows=3))
    assert len(few["engine"]["flips"]) == 3
    none = data_of(loan_explainer.explorer(loan_frame, tmp_path / "none.html", counterfactuals=False))
    assert none["engine"]["flips"] == {}
    loan_explainer.save(tmp_path / "loans.illume")
    alone = illume.load(tmp_path / "loans.illume").explorer(
        loan_frame, tmp_path / "a.html", immutable=["age"]
    )
    assert data_of(alone)["engine"]["flips"] == {}
    assert data_of(alone)["page"]["search"]["locked"] == [0]


def test_limits_and_wishes_are_kept_by_flips_and_start_the_pages_search(loan_explainer, loan_frame, tmp_path):
    path = loan_explainer.explorer(
        loan_frame,
        tmp_path / "page.html",
        max_counterfactual_rows=20,
        immutable=["age"],
        direction={"income": "up", "education": ["low", "middle", "high"]},
        permitted_range={"income": [None, 45]},
        desired_class="grant",
        max_changes=2,
    )
    data = data_of(path)
    names = [feature["name"] for feature in data["engine"]["features"]]
    at = {name: str(names.index(name)) for name in names}
    assert data["page"]["search"] == {
        "locked": [names.index("age")],
        "directions": {at["income"]: 1.0, at["education"]: ["low", "middle", "high"]},
        "ranges": {at["income"]: [None, 45.0]},
        "maxChanges": 2,
        "wish": {"class": data["engine"]["outputs"]["names"].index("grant"), "least": 0.0},
    }
    found = list(examples_of(data))
    assert found
    for row, one in found:
        changes = dict(one["changes"])
        assert len(changes) <= 2
        assert names.index("age") not in changes
        income = changes.get(names.index("income"))
        assert income is None or loan_frame["income"][row] < income <= 45


def test_numbers_start_with_their_wish(limit_explainer, loan_frame, tmp_path):
    rows = loan_frame.iloc[:5]
    given = data_of(limit_explainer.explorer(rows, tmp_path / "a.html", desired_range=[None, 20]))
    assert given["page"]["search"]["wish"]["range"] == [None, 20.0]
    assert all(one["answers"][0] <= 20 for _, one in examples_of(given))
    usual = data_of(limit_explainer.explorer(rows, tmp_path / "b.html"))
    assert usual["page"]["search"]["wish"]["change"] > 0


def test_unknown_options_and_names_are_refused_before_any_work(loan_explainer):
    with pytest.raises(TypeError, match="explorer has no option 'imutable'"):
        loan_explainer.explorer(None, "page.html", imutable=["age"])
    with pytest.raises(illume.errors.SchemaError, match="immutable names 'agee'"):
        loan_explainer.explorer(None, "page.html", immutable=["agee"])


def test_rows_that_are_not_as_wanted_come_first(loan_explainer, loan_model, loan_frame, tmp_path):
    refused = np.flatnonzero(loan_model.predict(loan_frame) == "refuse")
    for wish in ({}, {"desired_class": "grant"}):
        path = loan_explainer.explorer(
            loan_frame, tmp_path / "p.html", max_counterfactual_rows=len(refused), **wish
        )
        assert sorted(map(int, data_of(path)["engine"]["flips"])) == refused.tolist()


@needs_node
def test_suggestions_go_beyond_the_boundary_by_the_margin_and_confirmed_ones_keep_limits(
    loan_explorer, tmp_path
):
    (tmp_path / "payload.json").write_text(json.dumps(data_of(loan_explorer)["engine"]))
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ loadEngine }} from {(STATIC / "engine.js").as_uri()!r};
        const engine = await loadEngine(JSON.parse(readFileSync({str(tmp_path / "payload.json")!r}, "utf8")));
        const found = [];
        for (let i = 0; i < 30; i += 1) {{
          const row = engine.rows.values(i);
          const k = 1 - engine.explain(row).decision;
          found.push({{
            shares: engine.recourse(row, {{ desired: k, margin: 1 }}).map((one) => one.answers[k]),
            least: engine.recourse(row, {{ desired: k, probability: 0.7 }}).map((one) => one.answers[k]),
            all: engine.confirmed(i).map((one) => one.changes),
            locked: engine.confirmed(i, {{ locked: [0] }}).map((one) => one.changes),
            up: engine.confirmed(i, {{ directions: {{ 0: 1 }} }}).map((one) => one.changes),
            known: engine.confirmed(i).every((one) => engine.answered(i, one.row) === one.answers),
            odd: engine.answered(i, row.map(() => null)),
          }});
        }}
        console.log(JSON.stringify(found));"""
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert any(one["shares"] for one in found)
    assert any(len(one["locked"]) < len(one["all"]) for one in found)
    for one in found:
        assert all(share > 1 / (1 + np.exp(-1)) for share in one["shares"])
        assert all(share > 0.7 for share in one["least"])
        ages = [[change for change in changes if change["j"] == 0] for changes in one["all"]]
        assert one["locked"] == [c for c, age in zip(one["all"], ages, strict=True) if not age]
        assert one["up"] == [
            c for c, age in zip(one["all"], ages, strict=True) if not age or age[0]["to"] > age[0]["from"]
        ]
        assert one["known"]
        assert one["odd"] is None
