"""Base classes of results: batches and single rows, with their labels and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin
from illume.data.outputs import Outputs
from illume.data.schema import describe_unknown
from illume.results.by_label import ByLabel
from illume.results.dictionary import NO_LABELS, DataDictionary
from illume.results.display import Shown

RowT = TypeVar("RowT")


def row_positions(rows: Any, n: int) -> tuple[Any, bool]:
    """Return an index into arrays of n rows, and whether a single row was requested.

    >>> row_positions(-1, 3)
    (slice(2, 3, None), True)
    """
    if isinstance(rows, (str, tuple)):
        raise TypeError(f"rows are taken by position, not by {rows!r}; for a feature use to_frame()")
    if isinstance(rows, (int, np.integer)):
        if not -n <= rows < n:
            raise IndexError(f"there are {n} rows, found {rows}")
        position = range(n)[int(rows)]
        return slice(position, position + 1), True
    if isinstance(rows, slice):
        return rows, False
    return np.asarray(rows if len(rows) else np.empty(0, dtype=np.intp)), False


class PerRow:
    """Base of dataclasses whose fields in `PER_ROW` have an entry per row; indexing takes rows of these."""

    PER_ROW: ClassVar[tuple[str, ...]] = ()

    def take_rows(self, rows: Any, **changes: Any) -> Self:
        """Keep some rows, with other fields changed; lazy fields stay lazy."""
        values = {name: vars(self)[name] for name in self.PER_ROW}
        taken = {name: None if value is None else value[rows] for name, value in values.items()}
        return replace(self, **taken, **changes)  # type: ignore[type-var]

    def __getitem__(self, rows: Any) -> Any:
        return self.take_rows(rows)


def alias(path: str) -> Any:
    """Return a property that reads another attribute: `alias("labels.features")`."""
    return property(attrgetter(path))


def row_entry(path: str) -> Any:
    """Return a property of a row: its entry in an attribute of the batch, as a Python value if it is one."""
    read = attrgetter(f"batch.{path}")

    def entry(row: Row) -> Any:
        value = read(row)[0]
        return value.item() if isinstance(value, np.generic) else value

    return property(entry)


@dataclass(frozen=True, eq=False)
class Labels:
    """Names of features and inputs, and what the model answers.

    `inputs` are the numbers behind the features: the feature itself, or `feature = value` for every category;
    `owner` is the position of the feature that an input belongs to, `unit` the size of one scaled unit in
    original units, `dictionary` what features and their values are called in texts and plots.
    """

    features: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: Outputs
    owner: IntArray
    unit: FloatArray
    dictionary: DataDictionary = NO_LABELS

    @property
    def feature_labels(self) -> tuple[str, ...]:
        """What the features are called in texts and plots."""
        return tuple(map(self.dictionary.label, self.features))

    @property
    def input_labels(self) -> tuple[str, ...]:
        """What the inputs are called in texts and plots."""
        owners = [self.features[j] for j in self.owner]
        return tuple(map(self.dictionary.input, owners, self.inputs))

    def feature(self, name: int | str) -> int:
        """Return the position of a feature, given by its name, position or label."""
        found = _position(name if name in self.features else self.dictionary.column(name), self.features)
        if found is None and isinstance(name, str):
            raise ValueError(f"the feature asked for is {describe_unknown(name, self.features)}")
        if found is None:
            raise ValueError(f"there is no feature {name}; there are {len(self.features)}")
        return found

    def categories(self, j: int) -> tuple[str, ...] | None:
        """Return the categories of feature j as text; None for a number or a constant column."""
        inputs = [self.inputs[i] for i in np.flatnonzero(self.owner == j)]
        if len(inputs) < 2:
            return None
        return tuple(name.removeprefix(f"{self.features[j]} = ") for name in inputs)

    def output(self, name: int | str | None) -> int:
        """Return the position of an output, given by its name or position; None is the one to show first."""
        explained = self.outputs.explained
        if name is None:
            return self.outputs.leading
        found = _position(name, explained)
        if found is None:
            opposite = "; those to the other class have the opposite sign: explain with positive_class="
            hint = f"{opposite}{name!r}" if name in self.outputs.names else ""
            raise ValueError(f"output {name!r} is not known; choose one of {list(explained)}{hint}")
        return found


def _position(name: int | str, names: tuple[str, ...]) -> int | None:
    if isinstance(name, str):
        return names.index(name) if name in names else None
    return int(name) % len(names) if -len(names) <= name < len(names) else None


class Batch(Shown, PerRow, Generic[RowT]):
    """Results of several rows: indexable and iterable by row; subclasses are frozen dataclasses."""

    ROW: ClassVar[type[Any]]
    outputs: Outputs
    predictions: FloatArray
    origin: Origin
    novelty: Any

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def probabilities(self) -> FloatArray:
        """The black box's probabilities (n, n_classes), if it answers with these."""
        return self.outputs.probabilities(self.predictions)

    @property
    def class_names(self) -> tuple[str, ...]:
        """All classes of the black box, or the names of its numbers."""
        return self.outputs.names

    def __iter__(self) -> Iterator[RowT]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> RowT: ...
    @overload
    def __getitem__(self, rows: slice | IntArray | BoolArray | Sequence[int]) -> Self: ...
    def __getitem__(self, rows: Any) -> Any:
        """Take one row by its position, or several by a slice, positions or a mask."""
        taken, single = row_positions(rows, len(self))
        batch = self.take_rows(taken, origin=self.origin.take(taken))
        return self.ROW(batch, taken.start) if single else batch

    @property
    def loc(self) -> ByLabel:
        """Rows by the labels of their frame's index: `result.loc[126]`, or `result.loc[[126, 607]]`."""
        return ByLabel(self, self.origin)

    @property
    def row_note(self) -> str:
        """See `Shown`: how rows are taken, where their labels are no positions."""
        index = self.origin.index
        if index is None or not len(index) or index.tolist() == list(range(len(index))):
            return ""
        one = f".loc[{index[:1].tolist()[0]!r}]"
        return f"rows have the labels of their frame: {one} takes one by label, [0] by position"

    @property
    def row_labels(self) -> np.ndarray[Any, Any]:
        """The index of the rows, or their positions where they have none, (n,)."""
        return np.arange(len(self)) if self.origin.index is None else np.asarray(self.origin.index)

    @property
    def outside(self) -> BoolArray:
        """Which rows are outside of what the explainer was fitted on, (n,)."""
        return np.zeros(len(self), dtype=bool) if self.novelty is None else self.novelty.outside


class LabelledBatch(Batch[RowT]):
    """A batch with labels and with the predictions of both black box and surrogate."""

    labels: Labels
    surrogate_predictions: FloatArray

    feature_names: tuple[str, ...] = alias("labels.features")
    """The features, in the order of `data`."""
    feature_labels: tuple[str, ...] = alias("labels.feature_labels")
    """What the features are called in texts and plots: their labels, or their names."""
    dictionary: DataDictionary = alias("labels.dictionary")
    """Labels of features and values, and units."""
    input_names: tuple[str, ...] = alias("labels.inputs")
    """The inputs behind the features, in the order in which the surrogate sees them."""
    outputs: Outputs = alias("labels.outputs")
    """What the black box answers."""
    output_names: tuple[str, ...] = alias("labels.outputs.explained")
    """The explained outputs: the positive one of two classes, every class, or every number."""

    @property
    def surrogate_probabilities(self) -> FloatArray:
        """The surrogate's probabilities before any refinement (n, n_classes), if the black box has these."""
        return self.outputs.probabilities(self.surrogate_predictions)

    @property
    def decisions(self) -> IntArray:
        """The black box's decision, as a position in `class_names`.

        `np.array(result.class_names)[result.decisions]` are the names, which `to_frame()` has, too.
        """
        P = self.probabilities  # raises for numbers
        return self.outputs.question().decide(P)

    @property
    def surrogate_decisions(self) -> IntArray:
        """The surrogate's decision, as a position in `class_names`."""
        Q = self.surrogate_probabilities
        return self.outputs.question().decide(Q)

    def output(self, name: int | str | None) -> int:
        """Return the position of an output, given by its name or position; None is the one to show first."""
        return self.labels.output(name)


@dataclass(frozen=True, eq=False, repr=False)
class Row(Shown):
    """One row of a batch, itself a batch of one row; `at` is its position in the batch that it comes from."""

    batch: Any
    at: int | None = None

    status = row_entry("refinement.status")
    """`agreed`, `refined` or `not faithful`: whether the surrogate agrees with the black box."""
    outside = row_entry("outside")
    """Whether the row is outside of what the explainer was fitted on."""

    @property
    def label(self) -> Any:
        """What the row is called: its label in the index of the frame, or its position."""
        index = self.batch.origin.index
        return self.at if index is None else index.tolist()[0]

    @property
    def row_name(self) -> str:
        """See `Shown`: label and position, where these differ."""
        same = self.at is None or self.label == self.at
        return "" if same else f"row {self.label} (position {self.at})"

    @property
    def prediction(self) -> Any:
        """The black box's answer: a class, a number, or a number for each output."""
        return self.batch.outputs.plain(self.batch.predictions[0])

    @property
    def headline(self) -> str:
        """The black box's answer, with its probability or its name."""
        return str(self.batch.outputs.headline(self.batch.predictions[0]))

    @property
    def decision(self) -> str:
        """The black box's answer in a word or a number."""
        return str(self.batch.outputs.short(self.batch.predictions[0]))

    @property
    def probability(self) -> float:
        """The black box's probability of its decision."""
        batch = self.batch
        return float(batch.probabilities[0, int(batch.outputs.question().decide(batch.probabilities)[0])])

    @property
    def outside_reasons(self) -> tuple[str, ...]:
        """Why the row is outside of what the explainer was fitted on; empty if it is not."""
        novelty = self.batch.novelty
        return () if novelty is None else novelty.reasons()


class LabelledRow(Row):
    """One row of a batch with labels."""

    agreed: bool = row_entry("agreed")
    """Whether surrogate and black box decide alike, before any refinement."""
    feature_names: tuple[str, ...] = alias("batch.feature_names")
    """The features, in the order of `data`."""
    feature_labels: tuple[str, ...] = alias("batch.feature_labels")
    """What the features are called in texts and plots: their labels, or their names."""
    data: np.ndarray[Any, Any] = row_entry("data")
    """The row itself, (n_features,)."""

    @property
    def surrogate_probability(self) -> float:
        """The surrogate's probability of the black box's decision."""
        return float(self.batch.surrogate_probabilities[0, int(self.batch.decisions[0])])

    @property
    def surrogate_text(self) -> str:
        """The surrogate's answer, in words."""
        batch = self.batch
        said = batch.outputs.surrogate_short(batch.predictions[0], batch.surrogate_predictions[0])
        return f"surrogate: {said}"

    @property
    def output(self) -> int:
        """The output to read first: the only one, the positive or else the decided class, or first number."""
        return int(self.batch.outputs.first(self.batch.predictions)[0])

    @property
    def output_name(self) -> str:
        """The name of the output to read first."""
        return str(self.batch.output_names[self.output])

    def position(self, output: int | str | None = None) -> int:
        """Return the position of an output, given by its name or position; by default `output`."""
        return self.output if output is None else int(self.batch.output(output))
