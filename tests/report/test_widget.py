"""The explorer as a widget: what Python and the page tell each other."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from traitlets import TraitError

import illume
from illume.errors import MissingExtraError, SchemaError
from tests.common import loans
from tests.report.engine import NODE, needs_node


@pytest.fixture
def widget(loan_explainer, loan_frame):
    return loan_explainer.explore(loan_frame.iloc[:30])


def edit(widget, **changes):
    """Change values as the page does."""
    names = [feature["name"] for feature in json.loads(widget._page)["engine"]["features"]]
    values = [changes.get(name, value) for name, value in zip(names, widget._row["values"], strict=True)]
    widget.set_state({"_row": {**widget._row, "values": values, "by": "page"}})


def ask(widget, rows, monkeypatch):
    """Return what the page hears when it asks about rows."""
    heard = []
    monkeypatch.setattr(widget, "send", heard.append)
    widget._handle_custom_msg({"id": "a-1", "rows": rows}, [])
    return heard


def test_the_row_begins_as_the_first_of_the_frame_with_its_types(widget, loan_frame):
    pd.testing.assert_frame_equal(widget.row, loan_frame.iloc[:1].reset_index(drop=True))


def test_a_row_that_was_edited_on_the_page_is_a_frame_of_the_fitted_types(widget, loan_frame):
    heard = []
    widget.observe(lambda change: heard.append(change["new"]), "row")
    edit(widget, age=33, income=None, education="low")
    assert widget.row.dtypes.equals(loan_frame.dtypes)
    assert widget.row.loc[0, ["age", "education"]].tolist() == [33, "low"]
    assert np.isnan(widget.row.loc[0, "income"])
    assert len(heard) == 1
    assert widget._row["by"] == "page"


@pytest.mark.parametrize("kind", ["frame", "dict", "Series"])
def test_a_row_that_is_set_reaches_the_page(widget, loan_frame, kind):
    row = loan_frame.iloc[7:8]
    widget.row = {"frame": row, "dict": row.iloc[0].to_dict(), "Series": row.iloc[0]}[kind]
    assert (widget._row["by"], widget._row["turn"], widget._row["row"]) == ("python", 1, 0)
    names = list(loan_frame.columns)
    assert widget._row["values"][names.index("age")] == row["age"].iloc[0]
    pd.testing.assert_frame_equal(widget.row.reset_index(drop=True), row.reset_index(drop=True))


def test_what_cannot_be_explained_is_refused_and_the_row_stays(widget, loan_frame):
    before = widget.row
    with pytest.raises(SchemaError, match="row must be one row, found 2; take one, such as X"):
        widget.row = loan_frame.iloc[:2]
    with pytest.raises(SchemaError, match="column 'education' holds 'none'"):
        widget.row = loan_frame.iloc[:1].assign(education="none")
    with pytest.raises((SchemaError, TraitError)):
        widget.row = loan_frame.iloc[:1, :2]
    assert widget.row is before


def test_the_kernels_model_answers_all_rows_at_once(widget, loan_model, loan_frame, monkeypatch):
    edit(widget, age=60)
    first = widget._row["values"]
    edit(widget, income=None)
    (heard,) = ask(widget, [first, widget._row["values"]], monkeypatch)
    changed = loan_frame.iloc[[0, 0]].assign(age=60)
    changed.iloc[1, list(changed.columns).index("income")] = np.nan
    np.testing.assert_allclose(heard["answers"], loan_model.predict_proba(changed))
    assert heard["id"] == "a-1"


def test_a_model_of_numbers_answers_with_one_for_each_row(
    limit_explainer, limit_model, loan_frame, monkeypatch
):
    widget = limit_explainer.explore(loan_frame.iloc[:5])
    edit(widget, age=60)
    (heard,) = ask(widget, [widget._row["values"]] * 2, monkeypatch)
    wanted = limit_model.predict(loan_frame.iloc[[0, 0]].assign(age=60))
    np.testing.assert_allclose(heard["answers"], wanted[:, None])


def test_a_model_of_many_classes_answers_with_all_probabilities(
    three_class_explainer, three_class, monkeypatch
):
    model, X = three_class
    widget = three_class_explainer.explore(X[:5])
    edit(widget, a=1.5)
    (heard,) = ask(widget, [widget._row["values"]], monkeypatch)
    np.testing.assert_allclose(heard["answers"], model.predict_proba(X[:1].assign(a=1.5)))


def test_an_error_of_the_model_is_told_in_its_words(widget, monkeypatch):
    def fail(frame):
        raise RuntimeError("out of tea")

    monkeypatch.setattr(widget._rows.fitted.black_box, "_ask", fail)
    (heard,) = ask(widget, [widget._row["values"]], monkeypatch)
    assert "out of tea" in heard["problem"]
    assert "answers" not in heard


def test_without_the_model_none_is_connected(loan_explainer, loan_frame, tmp_path):
    loan_explainer.save(tmp_path / "loans.illume")
    alone = illume.load(tmp_path / "loans.illume").explore(loan_frame.iloc[:5])
    assert (alone._live, json.loads(alone._page)["rows"]["has_model"]) == (False, False)


def test_scenarios_come_back_as_load_scenarios_reads_them(widget):
    assert widget.scenarios is None
    values = widget._row["values"]
    kept = {"name": "older", "row": "0", "values": values, "twin": [0.25, 0.75], "model": None}
    table = json.loads(widget._page)["page"]["table"]
    head = {"format": "illume scenarios", "version": 1, "table": table, "outputs": ["no", "yes"]}
    widget._scenarios = json.dumps({**head, "scenarios": [kept]})
    found = widget.scenarios
    assert found.loc[0, ["scenario", "twin_yes"]].tolist() == ["older", 0.75]
    assert found["age"].dtype == widget.row["age"].dtype


def test_rows_of_other_libraries_come_back_as_such(polars_explainer):
    explainer, frame = polars_explainer
    widget = explainer.explore(frame[:5])
    assert isinstance(widget.row, pl.DataFrame)
    edit(widget, age=44)
    assert widget.row.schema == frame.schema
    assert widget.row["age"].to_list() == [44]


@pytest.fixture(scope="module")
def polars_explainer(loan_model):
    def model(rows):
        return loan_model.predict_proba(rows.to_pandas().astype({"education": object}))

    frame = pl.from_pandas(loans(150))
    return illume.Explainer(model, effort="quick", queries=500).fit(frame), frame


@needs_node
def test_the_module_exports_what_anywidget_asks_for(widget, tmp_path):
    path = tmp_path / "widget.mjs"
    path.write_text(widget._esm)
    code = f"import({path.as_uri()!r}).then((found) => console.log(Object.keys(found.default)))"
    shown = subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[ 'render' ]"


def test_the_extra_is_named_if_it_is_missing(loan_explainer, loan_frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingExtraError, match=r"this needs anywidget; install it with: pip .*\[notebook\]"):
        loan_explainer.explore(loan_frame)


@pytest.mark.parametrize("max_rows", [0, 1.5])
def test_bad_options_are_refused(loan_explainer, loan_frame, max_rows):
    with pytest.raises(ValueError, match="max_rows must be a positive integer"):
        loan_explainer.explore(loan_frame, max_rows=max_rows)
