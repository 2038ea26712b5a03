"""`save`, for whatever has the parts of an explainer."""

from __future__ import annotations

import os
from typing import Any

HELD_ROWS = 20_000


class Saves:
    """Adds `save` to the explainer."""

    def save(self, path: str | os.PathLike[str], *, rows: int | str = HELD_ROWS, rules: bool = True) -> None:
        """Write the fitted explainer to one file, which `illume.load` reads; the model is not part of it.

        The file is a zip of JSON and plain arrays, without code or pickle. It is written at once: whatever
        happens, there is the old file or the new one. A loaded explainer gives the same numbers.

        **Which rows of your data are in the file.** So many training rows as `rows` says, encoded, with the
        model's answers: explanations are refined towards them. About 2,000 training rows as they came, which
        counterfactuals take values from. Up to 1,000 background rows as they came, with the model's answers,
        which refine Shapley values. For rules, up to 2,048 training and made-up rows, on which rules
        are polished, and up to 4,096 report rows, on which they are measured, all encoded. Up to 256 report
        rows or centres of them, encoded, for the figures of trust. Categories and ranges of the features,
        quantiles of every number, the shares of categories, and the thresholds of the tree are always in the
        file.

        Parameters
        ----------
        rows
            How many training rows at most, spread over the decisions; `all`, or `none`. With `none` there is
            not a single row in the file: neither Shapley values nor explanations that disagree with the model
            are refined, figures of trust are not known, rules are the tree's own, and there are no
            counterfactuals.
            With fewer than all, refined explanations may have other neighbours than before.
        rules
            Grow the tree that rules come from first, if that was not done; without, a loaded explainer has
            neither rules nor counterfactuals, unless they were asked for before.
        """
        from sklearn.utils.validation import check_is_fitted

        from illume.io.saving import save

        explainer: Any = self
        if rules:
            explainer.fit_rules()
        check_is_fitted(explainer, "pair_")
        save(explainer, path, rows)
