"""Labels and units in a report."""

from copy import copy

from tests.report.common import DATE, data_of, text_of

LABELS = {
    "income": {"label": "Yearly income", "unit": "k€"},
    "education": {"label": "Highest degree", "values": {"low": "none <b>", "high": "university"}},
}


def test_a_report_shows_labels_and_units_and_keeps_the_names_beside_them(loan_explainer, loan_frame, folder):
    explainer = copy(loan_explainer).set_params(labels=LABELS)
    path = explainer.report(
        loan_frame.head(40),
        folder / "labels.html",
        n_counterfactuals=1,
        max_counterfactual_rows=10,
        date=DATE,
    )
    found, text = data_of(path), text_of(path)
    assert "none <b>" not in path.read_text("utf-8").replace("none &lt;b&gt;", "")
    columns = {column["column"]: column for column in found["rows"]["columns"]}
    assert (columns["income"]["name"], columns["income"]["unit"]) == ("Yearly income", "k€")
    assert set(columns["education"]["categories"]) <= {"none <b>", "middle", "university", "(missing)"}
    assert "Yearly income" in text
    assert "university" in text
    conditions = " ".join(each for rule in found["rules"]["rules"] for each in rule["conditions"])
    changes = [
        change
        for each in found["counterfactuals"]["examples"].values()
        for one in each
        for change in one["changes"]
    ]
    named = {name for name, _, _ in changes}
    assert not {"income", "education"} & named
    assert "income" not in conditions.replace("Yearly income", "")
    assert (
        any(after.endswith(" k€") for name, _, after in changes if name == "Yearly income")
        or "k€" in conditions
    )
