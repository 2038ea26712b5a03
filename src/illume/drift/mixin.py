"""`check`, for whatever has the parts of an explainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from illume.data.row_sources import is_row_source

if TYPE_CHECKING:
    from illume.results.check import Check

SAMPLE = 1_000


class Checks:
    """Adds `check` to the explainer."""

    def check(self, frame: Any, *, sample: int = SAMPLE) -> Check:
        """Say whether explanations still apply to new rows: compare them with the rows of the fit.

        Compared are categories, ranges, missing values and the distribution of each feature, how far rows are
        from the fitted ones, and, on a sample, how often surrogate and black box decide alike. Categories
        never seen raise no error here. Of the rows themselves, only names of categories are in the answer.

        Parameters
        ----------
        frame
            The new rows; the more of them, the smaller the changes that can be told from chance. Or what
            `fit` reads, too: a path to Parquet files, a Dataset, a LazyFrame; of more than 200,000 rows,
            so many are drawn at random, and the answer says so.
        sample
            So many rows at most are put to the black box; 0 asks nothing.
        """
        from illume.drift.comparing import compare, compare_source

        if is_row_source(frame):
            return compare_source(self, frame, sample)
        return compare(self, self._checked(frame), sample)  # type: ignore[attr-defined]
