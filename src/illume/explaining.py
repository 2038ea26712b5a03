"""What a fitted explainer answers: attributions, latents, rules, counterfactuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from illume.assembly import parts
from illume.assembly.constraints import Wanted
from illume.assembly.rule_set import rule_set
from illume.assembly.rules import RuleOptions
from illume.assembly.stand_in import StandIn
from illume.data.frames import Frame, NumpyFrame, Origin, as_frame, chunks
from illume.data.match_dtypes import FrameBuilder
from illume.data.row_sources import is_row_source, iter_batches, open_rows
from illume.data.schema import check_names, require_columns, require_unknown
from illume.errors import RowError, rows_after
from illume.results.attributions import Attributions
from illume.results.counterfactuals import Counterfactuals
from illume.results.interactions import Interactions
from illume.results.latents import Latents
from illume.results.rule_set import RuleSet
from illume.results.rules import Rules


class Explaining(ABC):
    """Gives an explainer its answers, from the parts that `fit` learned."""

    backend_: Any
    black_box_: Any
    class_names_: Any
    columns_: Any
    encoding_: Any
    material_: Any
    pool_frame_: Any
    schema_: Any
    unknown: Any

    @abstractmethod
    def fit_rules(self) -> Self:
        """Grow the tree that rules come from, unless that was done."""

    def __call__(self, X: Any, *, refine: int = 0) -> Attributions:
        """Return the attributions of a frame's rows, in the rows' order.

        Parameters
        ----------
        refine
            How often the model may be asked more for each row, about rows mixed with background rows: Shapley
            values come closer to the model's, and standard errors say by how much. 0 asks once a row.
        """
        frame = self._checked(X)
        parts.require_refinable(self, refine)
        with self._naming_rows(frame):
            return parts.attribution_assembly(self, int(refine)).attributions(
                frame, self.black_box_, int(refine)
            )

    def interactions(self, X: Any, *, max_features: int = 12, n_samples: int = 32) -> Interactions:
        """Return which pairs of features act together: pairwise Shapley interaction values of each row.

        They are those of the network that learned the model, and consistent with the contributions: a
        feature's row of the matrix adds up to its contribution.

        Parameters
        ----------
        max_features
            Only pairs among so many features, those with the largest contributions over the rows.
        n_samples
            How many random sets of other features each value is the mean of.
        """
        frame = self._checked(X)
        parts.require_interactions(self, max_features, n_samples)
        with self._naming_rows(frame):
            return parts.interactions(self, frame, self(frame), max_features, n_samples)

    def latents(self, X: Any, maps: bool = False) -> Latents:
        """Return what the surrogate decides on: the rows' latents and, if asked for, their linear maps.

        They are the rows' own, before any refinement. Maps take 8 bytes per row, latent and input.
        """
        frame = self._checked(X)
        with self._naming_rows(frame):
            return parts.latent_assembly(self).latents(frame, self.black_box_, maps)

    def stream(
        self, X: Any, chunk_rows: int = 65_536, kind: str = "attributions", **options: Any
    ) -> Iterator[Any]:
        """Yield explanations piece by piece, so that memory is bounded by the piece.

        `X` is a frame, or what `fit` reads, too: a path to Parquet files, a Dataset, a LazyFrame.
        `kind` is `attributions`, `latents`, `rules` or `counterfactuals`; options are those of the method.
        """
        kinds: dict[str, Callable[..., Any]] = {
            "attributions": self,
            "latents": self.latents,
            "rules": self.rules,
            "counterfactuals": self.counterfactuals,
        }
        if kind not in kinds:
            raise ValueError(f"kind must be one of {list(kinds)}, found {kind!r}")
        first = 0
        for piece in self._pieces(X, chunk_rows):
            with rows_after(first):
                found = kinds[kind](piece, **options)
            yield found
            first += len(piece)

    def _pieces(self, X: Any, rows: int) -> Iterator[Any]:
        """Yield rows piece by piece, of the library that the explainer was fitted with."""
        if not is_row_source(X):
            for _, piece in chunks(self._checked(X), rows):
                yield piece.native
            return
        check_is_fitted(self, "pair_")
        source = open_rows(X)
        check_names(source.names, self.columns_)
        pool = getattr(self, "pool_frame_", None)
        like = pool.native if pool is not None and self.backend_ == "pandas" else None
        backend = self.backend_ or "numpy"
        yield from iter_batches(source, self.columns_, rows, backend=backend, like=like)

    def rules(
        self, X: Any, *, polish: bool = True, precision: float = 0.95, max_conditions: int | None = None
    ) -> Rules:
        """Return a rule for each row of a frame: conditions under which the model decides alike.

        The first call grows the tree that rules come from, see `fit_rules`.

        Parameters
        ----------
        polish
            Choose conditions and move bounds so that a rule reaches the wanted precision at a large
            coverage; otherwise the rules are those of the tree itself.
        precision
            What share of the rows that a rule covers should be decided alike.
        max_conditions
            A rule has conditions on so many features at most.
        """
        options = RuleOptions(polish, precision, max_conditions)
        frame = self._checked(X)
        with self._naming_rows(frame):
            return parts.rule_assembly(self.fit_rules()).rules(frame, self.black_box_, options)

    def counterfactuals(  # noqa: PLR0917 -- the order that users of DiCE know
        self,
        X: Any,
        n: int = 3,
        desired_class: Any = "opposite",
        features_to_vary: str | Sequence[str] = "all",
        permitted_range: Mapping[str, Sequence[Any]] | None = None,
        max_changes: int | None = None,
        min_probability: float = 0.0,
    ) -> Counterfactuals:
        """Return for each row changed rows that the model decides otherwise, checked on the model itself.

        Parameters
        ----------
        n
            How many examples each row should get, with different features changed.
        desired_class
            `opposite`, any other than the row's own, or a class.
        features_to_vary
            `all`, or the names of the features that may change.
        permitted_range
            For some features, `[low, high]` or a list of categories that a value must be in if it changes.
        max_changes
            An example changes so many features at most.
        min_probability
            How sure the model must be of its new decision; without, examples lie close to the boundary.
        """
        wanted = Wanted(n, desired_class, features_to_vary, permitted_range, max_changes, min_probability)
        frame = self._checked(X)
        parts.require_examples(self)
        wanted.desired(self.class_names_)
        wanted.permitted(self.schema_, self.pool_frame_)
        with self._naming_rows(frame):
            assembly = parts.counterfactual_assembly(self.fit_rules())
            return assembly.counterfactuals(frame, self.black_box_, wanted)

    def rule_set(self) -> RuleSet:
        """Return the global view: the leaves of the tree, largest first, each with a typical rule."""
        check_is_fitted(self, "pair_")
        backend = Origin(self.backend_)
        return rule_set(parts.rule_assembly(self.fit_rules()), self.material_.training, backend)

    def _checked(self, X: Any) -> Frame:
        check_is_fitted(self, "pair_")
        self._heed_unknown()
        frame = require_columns(as_frame(X), self.columns_)
        if self.backend_ is not None and isinstance(frame, NumpyFrame):
            # The model was asked with frames: it knows its columns by their names.
            return FrameBuilder(self.columns_, self.backend_, self.pool_frame_).of_array(frame)
        return frame

    def _heed_unknown(self) -> None:
        """Read rows as `unknown` says now: it may be set after the fit, which does not depend on it."""
        if self.unknown == self.encoding_.unknown:
            return
        require_unknown(self.unknown)
        self.encoding_ = replace(self.encoding_, unknown=self.unknown)
        if isinstance(self.black_box_, StandIn):
            self.black_box_ = replace(self.black_box_, encoding=self.encoding_)

    @contextmanager
    def _naming_rows(self, frame: Frame) -> Iterator[None]:
        """Let errors about a row name it by its place in the whole frame, of which a piece was at work."""
        try:
            yield
        except RowError:
            self.encoding_.require_usable(frame.select(self.schema_.names))
            raise
