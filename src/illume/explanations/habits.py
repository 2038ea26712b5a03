"""What users of other packages type, and the call of illume that does it."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

import numpy as np

from illume.data.hints import POSITION, guided
from illume.errors import SchemaError

Kind = TypeVar("Kind")

ROW = "a frame, a Series or a dict is a row, too"
ATTRIBUTES = {
    "shap_values": "explainer(X).values; explainer(X) holds all else, .to_shap() is shap's object",
    "shap_interaction_values": "explainer.interactions(X).values",
    "expected_value": "explainer(X).base_values",
    "explain": "explainer(X)",
    "explain_row": f"explainer(row)[0]; {ROW}",
    "explain_instance": f"explainer(row)[0]; {ROW}",
    "explain_local": "explainer(X)",
    "explain_global": "explainer(X).importance, or explainer.rule_set()",
    "attributions": "explainer(X)",
    "generate_counterfactuals": "explainer.counterfactuals(X, n=4, desired_class=…)",
    "explain_anchor": "explainer.rules(X)",
    "anchors": "explainer.rules(X)",
    "feature_importances_": "explainer(X).importance",
    "feature_importance": "explainer(X).importance",
    "feature_names": "explainer.schema_.names",
    "feature_names_in_": "explainer.schema_.names",
    "classes_": "explainer.class_names_",
    "predict": "explainer(X).predictions for the model's answers, or ask explainer.model",
    "predict_proba": "explainer(X).probabilities for the model's answers, or ask explainer.model",
    "transform": "explainer.latents(X)",
    "score": "explainer.quality_",
    "summary_plot": "illume.plots.beeswarm(explainer(X))",
    "force_plot": "illume.plots.waterfall(explainer(X)[0])",
    "show_in_notebook": "explainer(X)[0] as the last line of a cell",
    "to_html": "explainer.report(X, 'report.html')",
}
ARGUMENTS = {
    "__init__": {
        POSITION: "fit takes the rows: illume.Explainer(model).fit(X)",
        "data": "fit takes the rows: illume.Explainer(model).fit(X)",
        "masker": "write background=X for the rows to compare with",
        "training_data": "fit takes the rows: illume.Explainer(model).fit(X)",
        "feature_names": "features have the names of the columns",
        "categorical_features": "write categorical=[…] with names of columns",
        "class_names": "write data_options=illume.DataOptions(class_names=[…])",
        "mode": "it is found out; data_options=illume.DataOptions(task='regression') says it",
        "link": "write data_options=illume.DataOptions(link=…)",
        "seed": "write random_state=…",
    },
    "__call__": {
        POSITION: "labels are not needed: explainer(X)",
        "nsamples": "write refine=64 to ask the model 64 times more per row",
        "num_samples": "write refine=64 to ask the model 64 times more per row",
        "num_features": "write explainer(X).top(10)",
        "check_additivity": "leave it out: contributions always add up",
        "max_evals": "write refine=64 to ask the model 64 times more per row",
        "top_labels": "leave it out: all classes are explained",
        "threshold": "write explainer.threshold = … first, which decides in all explanations",
    },
    "counterfactuals": {
        "total_CFs": "write n=…",
        "total_cfs": "write n=…",
        "n_counterfactuals": "write n=…",
        "query_instances": "rows are the first argument",
        "features_to_change": "write features_to_vary=[…]",
        "target_class": "write desired_class=…",
        "stopping_threshold": "write min_probability=…",
        "positive_class": "write desired_class=… for the class to reach",
    },
    "rules": {"positive_class": "write explainer.positive_class = … first"},
    "rule_set": {"positive_class": "write explainer.positive_class = … first"},
}
CALLS = {"__init__": "Explainer", "__call__": "explainer(X)"}


def suggest_attribute(name: str) -> str:
    """Return the message for an attribute that an explainer does not have.

    >>> suggest_attribute("expected_value")
    "an Explainer has no 'expected_value'; write explainer(X).base_values"
    """
    known = ATTRIBUTES.get(name)
    return f"an Explainer has no {name!r}" + (f"; write {known}" if known else "")


def guide(kind: type[Kind]) -> type[Kind]:
    """Let calls of a class's methods that do not fit be answered in one line, which says the call that does.

    Not those of `fit`, whose warnings name the line that calls it.
    """
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        public = name in CALLS or not name.startswith("_")
        if public and name != "fit" and method.__module__.startswith("illume."):
            setattr(kind, name, guided(method, CALLS.get(name, name), ARGUMENTS.get(name, {})))
    return kind


def require_rows_first(X: Any, y: Any) -> None:
    """Raise if labels were given in the place of rows."""
    if y is not None and np.ndim(X) == 1 and len(np.shape(y)) == 2:
        raise SchemaError(
            "fit takes rows first, and needs no labels: explainer.fit(X), or explainer.fit(X, y)"
        )
