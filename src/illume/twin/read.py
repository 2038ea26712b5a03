"""Reads a model, and compares what was read with the model's answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.black_box import owner_of
from illume.data.frames import Frame
from illume.data.outputs import Outputs
from illume.data.sampling import evenly_spaced
from illume.data.schema import Schema
from illume.twin.exact import ExactTwin, Sum, Trees
from illume.twin.features import quiet, to_features
from illume.twin.read_linear import read_linear, to_terms
from illume.twin.read_trees import Columns, ColumnTrees, UnreadableError, read_trees

Ask = Callable[[Frame], FloatArray]

CHECKED_ROWS = 2_048  # of the fitted rows, and as many mixed ones
SINGLE = float(np.finfo(np.float32).eps)
MOST_BYTES = 2**30  # of tables
MOST_SECONDS = 0.03  # of a core, for a row


class Precision(NamedTuple):
    """How far the model's own answers are from the sum that it is: by rounding alone.

    `score` is the error of a sum, in parts of its largest value, `answer` that of a probability.
    """

    score: float
    answer: float

    @classmethod
    def of(cls, trees: ColumnTrees) -> Precision:
        """Return that of trees: in single precision, each that is added may be rounded by half a digit."""
        return PRECISE if trees.precise else cls(SINGLE * (8 + len(trees.roots) / 2), 2 * SINGLE)


PRECISE = Precision(1e-9, 1e-12)


@dataclass(frozen=True, eq=False)
class Read:
    """A twin, or None and the reason in a few words; and the scale on which the model adds up."""

    twin: ExactTwin | None
    reason: str
    scale: str = ""


def read_twin(
    model: Any,
    schema: Schema,
    frame: Frame,
    P: FloatArray,
    outputs: Outputs,
    *,
    scale: str,
    background: Frame,
    ask: Ask | None,
) -> Read:
    """Read a model that answers the frame's rows with P (n, c); `scale` is a scale, or `auto`.

    What was read must give the model's own answers, on these rows and, if it may be asked, on mixed ones.
    """
    try:
        if getattr(outputs, "labels_only", False):
            raise UnreadableError("it answers with decisions alone")
        found, links, precision = _read(owner_of(model), schema, frame)
        known = evenly_spaced(len(frame), CHECKED_ROWS)
        link = _find_link(found, links, frame.take(known), P[known], precision)
        added_up = outputs.scale_of(link)
        if not added_up:
            raise UnreadableError(
                "its number is not the sum itself"
                + ("; with DataOptions(link='log'), it is read" if link == "exp" else "")
            )
        if scale not in ("auto", added_up):
            raise UnreadableError(f"it adds up in {added_up}, and contributions in {scale} were asked for")
        twin = ExactTwin(found, link == "softmax", found.read(background))
        if ask is not None:
            mixed = _mixed(frame, schema)
            _require_equal(found, link, mixed, ask(mixed), precision)
    except UnreadableError as error:
        return Read(None, str(error))
    return Read(twin, "", added_up)


def ignored_by(twin: ExactTwin, schema: Schema) -> tuple[str, ...]:
    """Return the features that vary but have no effect on the model's answers."""
    pairs = zip(schema.features, twin.parts.used, strict=True)
    return tuple(feature.name for feature, used in pairs if not used and not feature.constant)


def _read(model: Any, schema: Schema, frame: Frame) -> tuple[Sum, tuple[str, ...], Precision]:
    """Return the sum that a model is, the links that may follow, and how precise its answers are."""
    before: list[Any] = []
    while type(model).__name__ == "Pipeline" and hasattr(model, "steps"):
        if len(model.steps) > 1:
            before.append(model[:-1])
        model = model.steps[-1][1]
    name = type(model).__name__
    article = "an" if name[:1] in "AEIOUX" or name.startswith("LGBM") else "a"
    with quiet():
        try:
            trees = read_trees(model)
            if trees is not None:
                return _read_forest(replace(trees, columns=_after(before, trees.columns)), schema, frame)
            linear = read_linear(model)
            if linear is not None:
                linear = replace(linear, columns=_after(before, linear.columns))
                return to_terms(linear, schema, frame), linear.links, PRECISE
        except UnreadableError:
            raise
        except Exception as error:  # an unknown version of a library may look in any way
            raise UnreadableError(f"reading it failed: {type(error).__name__}: {error}") from error
    raise UnreadableError(f"{article} {name} is neither trees nor linear")


def _read_forest(trees: ColumnTrees, schema: Schema, frame: Frame) -> tuple[Sum, tuple[str, ...], Precision]:
    forest, codes = to_features(trees, schema, frame)
    cost = forest.cost
    if cost.bytes > MOST_BYTES or cost.row_seconds > MOST_SECONDS:
        raise UnreadableError(
            f"exact values of its {forest.n_leaves:,} leaves would take {cost.bytes / 1e6:,.0f} MB and about "
            f"{cost.row_seconds:.2f} s a row"
        )
    return Trees(forest, codes, trees.base), (trees.link,), Precision.of(trees)


def _after(steps: list[Any], columns: Columns) -> Columns:
    """Return what the model's columns are, after the transformers of Pipelines."""

    def prepared(rows: Any) -> FloatArray:
        for step in steps:
            rows = step.transform(rows)
        return columns(rows.toarray() if hasattr(rows, "toarray") else rows)

    return prepared


def answers_of(scores: FloatArray, link: str) -> FloatArray:
    """Return a model's answers (n, c) from its raw scores (n, s).

    >>> answers_of(np.array([[0.0]]), "logistic"), answers_of(np.array([[0.25]]), "share")
    (array([[0.5, 0.5]]), array([[0.75, 0.25]]))
    """
    from scipy.special import expit, softmax

    if link == "logistic":
        return np.concatenate([expit(-scores), expit(scores)], axis=1)
    if link == "share":
        return np.concatenate([1.0 - scores, scores], axis=1)
    if link == "softmax":
        return np.asarray(softmax(scores, axis=1))
    return np.exp(scores) if link == "exp" else scores


def _find_link(found: Sum, links: tuple[str, ...], frame: Frame, P: FloatArray, precision: Precision) -> str:
    """Return the link that makes the model's answers of the scores; raise if none does."""
    s, c = found.n_outputs, P.shape[1]
    possible = [link for link in links if link == "softmax" or s == c or (s, c) == (1, 2)]
    possible = ["share" if (link, s, c) == ("identity", 1, 2) else link for link in possible]
    scores = found.scores(found.read(frame))
    off = [_off(scores, link, P, precision) for link in possible]
    best = min(range(len(off)), key=lambda k: off[k].times, default=-1)
    if best < 0 or not off[best].times <= 1:
        raise UnreadableError(_differs(off[best].largest if off else np.inf, "fitted"))
    return possible[best]


def _differs(off: float, kind: str) -> str:
    by = f" by {off:.2g} of the largest answer" if np.isfinite(off) else ""
    return f"what was read differs from its answers to {kind} rows{by}"


class _Off(NamedTuple):
    """The largest difference of answers: times what rounding allows, and in parts of the largest answer."""

    times: float
    largest: float


def _off(scores: FloatArray, link: str, P: FloatArray, precision: Precision) -> _Off:
    """Compare answers P (n, c) with those of scores; near 0, the logarithms of probabilities count."""
    with np.errstate(over="ignore", invalid="ignore"):
        Q = answers_of(scores, link)
        if Q.shape != P.shape:
            return _Off(np.inf, np.inf)
        largest = max(float(np.abs(P).max(initial=0.0)), 1e-300)
        size = max(1.0, float(np.abs(scores).max(initial=0.0)))
        if link in ("logistic", "softmax"):
            allowed = precision.score * size * P + precision.answer
        else:
            allowed = np.full(P.shape, precision.score * largest * (size if link == "exp" else 1.0))
        worst = float((np.abs(Q - P) / allowed).max(initial=0.0))
        off = float(np.abs(Q - P).max(initial=0.0)) / largest
    return _Off(worst, off) if np.isfinite(worst) else _Off(np.inf, np.inf)


def _require_equal(found: Sum, link: str, frame: Frame, P: FloatArray, precision: Precision) -> None:
    off = _off(found.scores(found.read(frame)), link, P, precision)
    if not off.times <= 1:
        raise UnreadableError(_differs(off.largest, "mixed"))


def _mixed(frame: Frame, schema: Schema) -> Frame:
    """Return rows each of whose features comes from one of two fitted rows."""
    rng = np.random.default_rng(0)
    n = min(len(frame), CHECKED_ROWS)
    mine, others = rng.integers(len(frame), size=(2, n))
    source: IntArray = np.full((n, len(frame.names)), -1, dtype=np.intp)
    columns = [frame.names.index(name) for name in schema.names]
    taken = rng.random((n, len(columns))) < rng.random((n, 1))
    source[:, columns] = np.where(taken, others[:, None], -1)
    return frame.mixer(frame)(mine, source)
