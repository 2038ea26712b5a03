"""Hints for users of other packages."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.errors import SchemaError

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


def suggest_attribute(name: str) -> str:
    """Return the message for an attribute that an explainer does not have.

    >>> suggest_attribute("expected_value")
    "an Explainer has no 'expected_value'; write explainer(X).base_values"
    """
    known = ATTRIBUTES.get(name)
    return f"an Explainer has no {name!r}" + (f"; write {known}" if known else "")


def require_rows_first(X: Any, y: Any) -> None:
    """Raise if labels were given in the place of rows."""
    if y is not None and np.ndim(X) == 1 and len(np.shape(y)) == 2:
        raise SchemaError(
            "fit takes rows first, and needs no labels: explainer.fit(X), or explainer.fit(X, y)"
        )
