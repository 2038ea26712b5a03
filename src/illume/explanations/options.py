"""Options of an explainer, grouped by what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from illume.data.black_box import OutputRequest
from illume.data.schema import Schema
from illume.encoders.options import STEADINESS, Objective, Training


@dataclass(frozen=True, eq=False)
class SurrogateOptions:
    """How the local surrogate is built: the encoder, the linear model on its latents, and their training.

    Parameters
    ----------
    encoder
        `meta` gives every row its own linear map (the default), `linear` one map for all, `identity`
        none (a global surrogate); or an encoder object, which has its own objective, training and latents.
    model
        `logistic` (for numbers, linear regression), a linear model of scikit-learn, or an object with
        `fit(Z, P)`, `answers(Z)`, `coef_` and `intercept_`. With `logistic`, the linear head that a joint
        objective trains with the encoder is used.
    objective
        `pairs` (the default) learns from pairs of rows that what stands for the model answers; `joint`, the
        paper's `co` or `so`, or an `Objective`. For `encoder="linear"`, `pairs` is `joint`.
    steadiness
        How alike the slopes of neighbouring rows are to be, from 0 to 1, with the objective `pairs`: slopes
        of neighbours count more, or less, in training until the paper's robustness of slopes on validation
        rows is this. Steadier slopes follow the model less closely near a row; the surrogate's decisions
        hardly depend on it. With the default, .75, the paper's robustness is above .8.
    n_latents
        Number of latents; `auto` is 8, or twice the number of classes where these are more.
    rank
        For wide data: with `auto`, the maps of 200 inputs or more are a constant plus a part of rank 32
        that differs from row to row, so that weights and time grow linearly with the number of inputs. A
        number is another rank, None never does this. Only for `encoder="meta"`.
    training
        How to train; by default a fixed number of steps for `pairs`, quick for objectives with a head, as in
        the paper for the others.
    search
        How neighbours are found among the training rows: `exact`, among at most 16,384 per decision, or
        among all of them by an `index` (faiss).
    """

    encoder: Any = "meta"
    model: Any = "logistic"
    objective: str | Objective = "pairs"
    steadiness: float = STEADINESS
    n_latents: int | str = "auto"
    rank: int | str | None = "auto"
    training: Training | None = None
    search: str = "exact"


@dataclass(frozen=True, eq=False)
class RuleOptions:
    """Where rules come from.

    Parameters
    ----------
    objective
        `shared` (the default) grows the tree on the latents of the attributions; the paper's `so`, another
        name or an `Objective` trains an encoder for rules alone.
    tree
        `tree`, or a decision tree of scikit-learn, which is then used as it is.
    """

    objective: str | Objective = "shared"
    tree: Any = "tree"


@dataclass(frozen=True, eq=False)
class DataOptions:
    """How rows are read, described and divided, and what the model answers.

    Parameters
    ----------
    schema
        A `Schema` made by hand; by default it is inferred.
    task
        `classification` or `regression`; `auto` finds out by the model and its first answers.
    class_names, output_names
        Names of the classes, by default the model's own `classes_`; or of the numbers that a model answers
        with, by default `prediction`, or `output 0`, `output 1`, …
    link
        For a model that answers with numbers: `identity`, contributions add up to the number itself; or,
        where all numbers are positive, `log`: they add up to its logarithm, and are factors of the number.
    row_budget
        Maximum number of rows to learn from, drawn uniformly; ranges and categories are those of all rows.
        None takes all rows of a frame, and 200,000 of a folder, a dataset or a lazy frame.
    backend
        Library of the frames that the model is called with where `fit` reads the rows itself: `pandas`
        (the default where it is installed), `polars` or `pyarrow`.
    validation_size, report_size
        Shares of the rows that settings are chosen on, and that quality is reported on.
    """

    schema: Schema | None = None
    task: str = "auto"
    class_names: Sequence[Any] | None = None
    output_names: Sequence[Any] | None = None
    link: str = "identity"
    row_budget: int | None = None
    backend: str | None = None
    validation_size: float = 0.15
    report_size: float = 0.15

    @property
    def outputs(self) -> OutputRequest:
        """What is said about the model's answers."""
        return OutputRequest(self.task, self.class_names, self.output_names, self.link)


OPTION_TYPES: dict[str, type[Any]] = {
    "surrogate_options": SurrogateOptions,
    "rule_options": RuleOptions,
    "data_options": DataOptions,
}
