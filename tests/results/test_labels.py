"""Labels and units: in every text, while columns keep their names."""

import json
from copy import copy

import numpy as np
import pytest

import illume
from illume.data.schema import Schema
from illume.errors import SchemaError
from illume.results.dictionary import DataDictionary
from tests.common import loans

LABELS = {
    "age": {"label": "Age", "unit": "years"},
    "income": {"label": "Yearly income", "unit": "k€"},
    "education": {"label": "Highest degree", "values": {"low": "none", "high": "university"}},
    "owner": "Owns a home",
}
NAMES = ["age", "income", "owner", "education"]


def labelled(explainer, labels=LABELS):
    return copy(explainer).set_params(labels=labels)


@pytest.fixture(scope="module")
def explainer(loan_explainer):
    return labelled(loan_explainer)


@pytest.fixture(scope="module")
def rows():
    return loans(20, seed=5)


def resolve(labels, frame=None):
    return DataDictionary.of(labels, Schema.infer(loans(50) if frame is None else frame))


def test_every_text_uses_labels_and_units(explainer, rows):
    found = explainer(rows)
    texts = [found, found[0], found.top(2), explainer.interactions(rows), explainer.check(rows)]
    for each in texts:
        for text in (repr(each), each._repr_html_()):
            assert "Yearly income" in text
            assert "income" not in text.replace("Yearly income", "")
    assert " k€" in repr(found[1])
    education = {str(value) for value in rows["education"]}
    shown = " ".join(repr(each) for each in found)
    assert ("university" in shown) == ("high" in education)


def test_rules_and_counterfactuals_use_labels_and_sql_the_names(explainer, rows):
    rules, examples = explainer.rules(rows), explainer.counterfactuals(rows)
    assert "Yearly income" in repr(rules) + repr(rules[0])
    text = "".join(repr(each) for each in (*rules, *examples, explainer.rule_set()))
    assert "k€" in text
    assert "Highest degree" in text
    assert not any(name in text.replace("Yearly income", "") for name in ("education", "income"))
    free = {"features_to_vary": ["owner"], "permitted_range": {"owner": [True]}}
    missing = explainer.counterfactuals(rows[rows["owner"]], n=1, **free)
    assert missing.reasons[0].startswith("none of the changes tried, to Owns a home")
    sql = " ".join(rule.to_sql() for rule in rules)
    assert '"income"' in sql
    assert not any(word in sql for word in ("Yearly", "Highest", "k€", "university"))
    conditions = [condition for rule in rules for condition in rule.to_dict()["conditions"]]
    assert {condition["feature"] for condition in conditions} <= set(NAMES)


def test_columns_keep_their_names(explainer, loan_explainer, rows):
    frame, plain = explainer(rows).to_frame(), loan_explainer(rows).to_frame()
    assert frame.equals(plain)
    assert explainer(rows).to_dict() == loan_explainer(rows).to_dict()
    assert list(explainer.rules(rows).to_frame("long")["feature"].unique()) != []
    assert set(explainer.rules(rows).to_frame("long")["feature"]) <= set(NAMES)
    changed = explainer.counterfactuals(rows).to_frame()
    assert set(changed.columns) & set(NAMES)
    assert "Yearly income" not in changed.columns


def test_labels_travel_with_files(explainer, rows, tmp_path):
    explainer.save(tmp_path / "loans.illume")
    loaded = illume.load(tmp_path / "loans.illume", model=explainer.model)
    assert repr(loaded(rows)) == repr(explainer(rows))
    assert repr(loaded.rules(rows)) == repr(explainer.rules(rows))
    loaded.save(tmp_path / "again.illume")
    assert (tmp_path / "again.illume").read_bytes() == (tmp_path / "loans.illume").read_bytes()


def test_labels_can_be_set_and_taken_back_after_the_fit(loan_explainer, rows):
    explainer = labelled(loan_explainer)
    assert "Yearly income" in repr(explainer(rows))
    explainer.labels = {"income": "Wage"}
    assert "Wage" in repr(explainer(rows))
    assert "Yearly" not in repr(explainer(rows))
    explainer.labels = None
    assert repr(explainer(rows)) == repr(loan_explainer(rows))


def test_a_dictionary_in_csv_or_json_is_the_same_as_a_mapping(tmp_path):
    table = "\ufeffcolumn,label,unit,value,value_label\nage,Age,years,,\nincome,Yearly income,k€,,\n"
    table += 'education,"Highest degree",,low,none\neducation,,,high,university\nowner,Owns a home,,,\n'
    (tmp_path / "words.csv").write_text(table, encoding="utf-8")
    (tmp_path / "semicolons.csv").write_text(table.replace(",", ";"), encoding="utf-8")
    (tmp_path / "words.json").write_text(json.dumps(LABELS), encoding="utf-8")
    for name in ("words.csv", "semicolons.csv", "words.json"):
        assert resolve(tmp_path / name) == resolve(LABELS)
    assert resolve(resolve(LABELS).to_dict()) == resolve(LABELS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,label\nage,Age\n", "has the columns column, label, unit, value, value_label; found name"),
        ("column,label\nage,Age,3\n", "line 2 has more cells"),
        ("column,label\nage,Age\nage,Years\n", "has 'Age' above"),
        ("", "found nothing"),
    ],
)
def test_a_file_that_is_no_dictionary_says_what_is_expected(content, message, tmp_path):
    path = tmp_path / "words.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=f"words.csv: .*{message}"):
        resolve(path)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"incme": "Income"}, "labels names 'incme', which is no column; the nearest column is 'income'"),
        ({"education": {"values": {"hihg": "x"}}}, "no fitted row has; the nearest is 'high'"),
        ({"age": {"values": {30: "thirty"}}}, r"fit with categorical=\['age'\]"),
    ],
)
def test_unknown_columns_and_categories_name_the_nearest(labels, message, loan_explainer, rows):
    with pytest.raises(SchemaError, match=message):
        labelled(loan_explainer, labels)(rows)

    def never(frame):
        raise AssertionError("the model was asked")

    with pytest.raises(SchemaError, match=message):
        illume.Explainer(never, labels=labels, queries=0).fit(loans(200))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"age": 3}, "must be a text, or a mapping with some of label, unit, values"),
        ({"age": {"lable": "x"}}, "must be a text, or a mapping"),
        ({"age": {"label": 3}}, "must be a text, found 3"),
        ({"education": {"values": ["low"]}}, "must be a mapping from values to texts"),
        ("words.txt", "must end in .csv or .json"),
    ],
)
def test_wrong_labels_say_what_is_expected(labels, message):
    with pytest.raises(ValueError, match=message):
        resolve(labels)


def test_labels_that_are_no_mapping_are_refused():
    with pytest.raises(TypeError, match="labels must be a mapping"):
        resolve(["age"])


def test_equal_labels_are_told_apart_by_names():
    found = resolve({"age": "Amount", "income": "Amount", "owner": "education"})
    labels = [found.label(name) for name in NAMES]
    assert labels == ["Amount (age)", "Amount (income)", "education (owner)", "education"]
    values = resolve({"education": {"values": {"low": "some", "middle": "some", "high": "some"}}})
    assert values.category("education", "low") == "some (low)"
    with pytest.raises(ValueError, match="calls two columns 'A \\(age\\)'"):
        resolve({"age": "A", "income": "A", "owner": "A (age)"})


def test_numeric_codes_have_labels_too():
    frame = loans(50)[["age"]].assign(code=np.arange(50) % 3)
    schema = Schema.infer(frame, categorical=["code"])
    for codes in ({1: "one", 2: "two"}, {"1": "one", "2": "two"}, {1.0: "one", np.int64(2): "two"}):
        found = DataDictionary.of({"code": {"values": codes}}, schema)
        shown = [found.show("code", value) for value in (0, 1, 2.0, np.int64(1), None)]
        assert shown == ["0", "one", "two", "one", "(missing)"]


def test_hostile_labels_are_made_harmless(loan_explainer, rows):
    nasty = "<script>alert('x')</script>\n\x1b[31m\u202e\ud800 $x$"
    explainer = labelled(loan_explainer, {"income": nasty, "education": {"values": {"low": nasty}}})
    found = explainer(rows)
    for each in (found, *found[:3], explainer.rules(rows), explainer.counterfactuals(rows.head(3))):
        text = repr(each)
        assert "\x1b" not in text
        assert "\u202e" not in text
        text.encode("utf-8")
        assert "<script>" not in each._repr_html_()
    assert "\n" not in explainer._require_fitted().dictionary.label("income")


def test_a_file_may_describe_more_than_the_features(loan_frame, tmp_path):
    path = tmp_path / "dictionary.csv"
    lines = ["column,label,value,value_label", "target,Repaid,,", "age,Age,99,not known"]
    lines += ["education,Degree,low,none", "education,,doctor,doctorate"]
    path.write_text("\n".join(lines))
    found = resolve(path, loan_frame)
    assert found.label("age") == "Age"
    assert found.category("education", "low") == "none"
    assert set(found.columns) == {"age", "education"}
    with pytest.raises(SchemaError, match="'target', which is no column"):
        resolve({"target": "Repaid", "age": "Age"}, loan_frame)
    path.write_text("column,label\ntarget,Repaid\n")
    with pytest.raises(SchemaError, match="'target', which is no column"):
        resolve(path, loan_frame)


def test_columns_can_be_given_by_their_labels(explainer, rows):
    label = explainer.fitted_.dictionary.label
    kept, raised = label("education"), label("age")
    assert (kept, raised) != ("education", "age")
    found = explainer.counterfactuals(rows, n=1, immutable=[kept], direction={raised: "up"})
    wanted = explainer.counterfactuals(rows, n=1, immutable=["education"], direction={"age": "up"})
    assert repr(found) == repr(wanted)
    assert explainer(rows).labels.feature(raised) == explainer(rows).labels.feature("age")


def test_values_can_be_given_by_their_labels(explainer, rows):
    one = {"permitted_range": {"Highest degree": ["university"]}, "direction": {"owner": [False, True]}}
    other = {"permitted_range": {"education": ["high"]}, "direction": {"Owns a home": ["False", "True"]}}
    found, wanted = (explainer.counterfactuals(rows, n=1, **each) for each in (one, other))
    assert repr(found) == repr(wanted)
    for option in ("permitted_range", "direction"):
        said = rf"{option} of 'education' holds 'school', not among its values: 'high' \(university\), 'low' "
        with pytest.raises(SchemaError, match=said + r"\(none\), 'middle'"):
            explainer.counterfactuals(rows, **{option: {"Highest degree": ["university", "school"]}})
    with pytest.raises(SchemaError, match=r"its values are 'high' \(university\)"):
        explainer.counterfactuals(rows, direction={"education": "up"})


def test_a_value_is_meant_rather_than_the_label_of_another(loan_explainer, rows):
    swapped = {"education": {"values": {"low": "high", "high": "low"}}}
    limits = {"permitted_range": {"education": ["high"]}}
    found = labelled(loan_explainer, swapped).counterfactuals(rows, n=1, **limits)
    wanted = loan_explainer.counterfactuals(rows, n=1, **limits)
    np.testing.assert_array_equal(found.changed, wanted.changed)
