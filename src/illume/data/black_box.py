"""The model to explain, called in batches with the user's own kind of frame."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.answers import ADVICE, MOST_NAMED, as_answer, is_distribution, is_labels, label_positions
from illume.data.class_outputs import Classes
from illume.data.frames import Frame, chunks
from illume.data.number_outputs import Numbers
from illume.data.number_text import count
from illume.data.outputs import Outputs
from illume.data.sampling import evenly_spaced
from illume.errors import BlackBoxError, LabelsOnlyWarning, OptionError, Setting, rows_after, warn

TRIED = 5  # single rows; a model that fails on each of them is not called again
BATCH_ROWS = 65_536
MOST_LABELS = 20  # whole numbers of fewer different values are labels, unless the model is a regressor
MIXED_ROWS = 256  # that tell labels from numbers
METHODS = ("predict", "predict_proba")
TASKS = ("auto", "classification", "regression")
Answer = np.ndarray[Any, Any]
COUNTING = Lock()  # of all instances, which are copied and pickled; a service asks in several threads


@dataclass(frozen=True)
class OutputRequest:
    """What the user says about the model's answers: the task, names of classes or numbers, and a link."""

    task: str = "auto"
    class_names: Sequence[Any] | None = None
    output_names: Sequence[Any] | None = None
    link: str = "identity"


class BlackBox:
    """Calls a model in batches, checks every answer, and names rows that fail.

    Parameters
    ----------
    model
        An object with `predict_proba` or `predict`, or a callable from a frame to answers: probabilities
        (n, c), or (n,) for the second of two classes; numbers (n,) or (n, c); or labels (n,).
    request
        What the user says about the answers.
    outputs
        What the model answers; None until its first answers tell.
    mixes
        Whether it may be asked about rows of values from several rows.
    """

    def __init__(
        self,
        model: Any,
        request: OutputRequest | None = None,
        outputs: Outputs | None = None,
        mixes: bool = True,
    ) -> None:
        self.mixes = mixes
        self.model, self.request, self.outputs = model, request or OutputRequest(), outputs
        require_instance(model)
        task = self.request.task if outputs is None else outputs.task
        if task == "auto" and is_regressor(model):
            task = "regression"
        self._ask = _question(model, task)
        self.n_asked = 0
        self.most_rows = BATCH_ROWS  # fewer once the model has failed on more

    def __call__(
        self, frame: Frame, at_once: int = BATCH_ROWS, done: Callable[[int], object] = lambda n: None
    ) -> FloatArray:
        """Return the answers (n, c) to a frame's rows, asked so many at once; tell how many are `done`."""
        size = min(at_once, self.most_rows)
        answers = []
        for rows, piece in chunks(frame, size):
            with rows_after(rows.start):
                answers.append(self._predict(piece))
            done(len(piece))
        if not answers:
            return np.empty((0, 0 if self.outputs is None else len(self.outputs)))
        widths = {answer.shape[1:] for answer in answers}
        if len(widths) > 1:
            raise BlackBoxError(f"the model answered with shapes {sorted(widths)} by turns")
        raw = np.concatenate(answers)
        if self.outputs is None:
            request = replace(self.request, task="regression") if self._counts(frame, raw) else self.request
            self.outputs = find_outputs(owner_of(self.model), raw, request)
        return self.outputs.parse(raw)

    def _counts(self, frame: Frame, raw: Answer) -> bool:
        """Whether whole numbers that could be labels are numbers: mixed rows get ones that no row had."""
        model = owner_of(self.model)
        labels = is_classifier(model) or hasattr(model, "classes_") or self.request.class_names is not None
        if self.request.task != "auto" or labels or not self.mixes or not _few_whole_numbers(raw):
            return False
        rng, n = np.random.default_rng(0), len(frame)
        rows, others = rng.integers(n, size=(2, MIXED_ROWS))
        own = rng.random((MIXED_ROWS, len(frame.names))) < 0.5
        try:
            mixed = self._answer(frame.mixer(frame)(rows, np.where(own, -1, others[:, None])))
        except Exception:  # whatever a model raises: then it answers no mixed rows
            return False
        return mixed.ndim == 1 and not np.isin(mixed, raw).all()

    def require_outputs(self) -> Outputs:
        """Return what the model answers, once it has been asked."""
        if self.outputs is None:
            raise BlackBoxError("the model has not been asked yet")
        return self.outputs

    def _predict(self, frame: Frame) -> Answer:
        """Call the model and, if it fails, search for the failing rows."""
        try:
            return self._answer(frame)
        except BlackBoxError:
            raise
        except Exception as error:
            self._require_some(frame, error)
        return self._predict_parts(frame)

    def _require_some(self, frame: Frame, error: Exception) -> None:
        """Raise if the model answers none of a few single rows."""
        positions = evenly_spaced(len(frame), TRIED).tolist()
        if not all(self._fails(frame.slice(at, at + 1)) for at in positions):
            return
        alone = f"asked about {len(positions)} of them one by one, it failed on each"
        raise BlackBoxError(
            f"the model raised {type(error).__name__} on {count(len(frame), 'row')}: {error}; "
            f"{alone if len(frame) > 1 else 'asked again, it failed again'}"
        ) from error

    def _fails(self, frame: Frame) -> bool:
        """Whether the model raises; invalid probabilities are an error of their own."""
        try:
            self._answer(frame)
        except BlackBoxError:
            raise
        except Exception:
            return True
        return False

    def _predict_parts(self, frame: Frame) -> Answer:
        """Return the answers to a frame on which the model failed, half by half, or raise naming the rows."""
        half, n = len(frame) // 2, len(frame)
        pending = [(half, n), (0, half)] if half else [(0, n)]
        answers: list[Answer] = []
        failed: dict[int, Exception] = {}
        most_rows = 1
        while pending and len(failed) <= MOST_NAMED:
            start, stop = pending.pop()
            try:
                with rows_after(start):
                    answers.append(self._answer(frame.slice(start, stop)))
                most_rows = max(most_rows, stop - start)
            except BlackBoxError:
                raise
            except Exception as error:
                middle = (start + stop) // 2
                if middle == start:
                    failed[start] = error
                else:
                    pending += [(middle, stop), (start, middle)]
        if failed:
            first = next(iter(failed.values()))
            words = f"the model raised {type(first).__name__}: {first}"
            more = len(failed) > MOST_NAMED
            raise BlackBoxError(words, tuple(failed)[:MOST_NAMED], more) from first
        with COUNTING:
            self.most_rows = min(self.most_rows, n, most_rows)
        return np.concatenate(answers)

    def _answer(self, frame: Frame) -> Answer:
        answer = self._ask(frame.native)
        n = len(frame)
        with COUNTING:
            self.n_asked += n
        return as_answer(answer, n)


def require_instance(model: Any) -> None:
    """Raise if the model is a class instead of an instance."""
    if isinstance(model, type):
        raise BlackBoxError(
            f"the model {model.__name__} is a class; pass an instance that has been fitted, for instance "
            f"{model.__name__}(…).fit(X, y)"
        )


def owner_of(model: Any) -> Any:
    """Return the estimator behind `model.predict` or `model.predict_proba`; any other model itself."""
    owner = getattr(model, "__self__", None)
    known = getattr(model, "__name__", "") in METHODS
    return owner if known and (hasattr(owner, "classes_") or _has_type(owner, "regressor")) else model


def model_columns(model: Any, columns: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that the model says it uses (scikit-learn's `feature_names_in_`).

    None where it does not say, or names others than there are.
    """
    require_instance(model)
    names = tuple(str(name) for name in getattr(owner_of(model), "feature_names_in_", ()))
    return names if names and set(names) <= set(columns) else None


def is_regressor(model: Any) -> bool:
    """Whether a model says that it answers with numbers."""
    return _has_type(owner_of(model), "regressor")


def _has_type(model: Any, kind: str) -> bool:
    """Whether scikit-learn calls the model a `classifier` or `regressor`."""
    from sklearn import base

    try:
        return bool(getattr(base, f"is_{kind}")(model))
    except (AttributeError, TypeError):  # no estimator of scikit-learn's kind
        return False


def is_classifier(model: Any) -> bool:
    """Whether a model says that it decides between classes."""
    model = owner_of(model)
    return hasattr(model, "predict_proba") or _has_type(model, "classifier")


def _ask_booster(model: Any, rows: Any) -> Any:
    """Ask a Booster of XGBoost, with the trees up to its best iteration."""
    from scipy.special import softmax
    from xgboost import DMatrix

    best = "best_iteration" in model.attributes()
    trees = (0, model.best_iteration + 1) if best else (0, 0)
    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    labels = objective == "multi:softmax"  # whose probabilities are there, too
    found = model.predict(DMatrix(rows, enable_categorical=True), output_margin=labels, iteration_range=trees)
    return softmax(found, axis=1) if labels else found


def _question(model: Any, task: str) -> Callable[[Any], Any]:
    """Return the callable to ask: for classes `predict_proba` before `predict`, for numbers `predict`."""
    if f"{type(model).__module__}.{type(model).__name__}" == "xgboost.core.Booster":
        return partial(_ask_booster, model)
    for name in ("predict",) if task == "regression" else ("predict_proba", "predict"):
        method = getattr(model, name, None)
        if callable(method):
            return method
    if callable(model):
        return model
    rows = "; rows go to fit: illume.Explainer(model).fit(X)" if hasattr(model, "shape") else ""
    raise BlackBoxError(f"a {type(model).__name__} cannot be asked; {ADVICE}{rows}")


def find_outputs(model: Any, raw: Answer, request: OutputRequest) -> Outputs:
    """Find out what a model answers, from what it is and from its first answers.

    A classifier has `predict_proba`, or answers with labels: text, booleans, or few different whole numbers.
    Answers that can be probabilities are probabilities, unless the model is a regressor, or the user names
    numbers. All else is numbers.
    """
    task, for_numbers = request.task, request.link != "identity" or request.output_names is not None
    if task == "auto":
        classifier = is_classifier(model) or is_labels(raw)
        like_classes = is_distribution(raw) or _few_whole_numbers(raw)
        numbers = _has_type(model, "regressor") or not like_classes or for_numbers
        task = "regression" if numbers and not classifier else "classification"
    if task == "regression":
        return _find_numbers(raw, request)
    if for_numbers:
        name = "output_names" if request.output_names is not None else "link"
        raise OptionError(
            Setting(name, getattr(request, name)),
            " is for models that answer with numbers, but this one answers with classes",
        )
    return _find_classes(model, raw, request.class_names)


def _find_numbers(raw: Answer, request: OutputRequest) -> Numbers:
    n = 1 if raw.ndim == 1 else raw.shape[1]
    names = default_names(n, request.output_names)
    if len(names) != n:
        raise BlackBoxError(f"output_names has {len(names)} names, the model answers {n} numbers")
    if len(set(names)) < n:
        raise BlackBoxError(f"output_names is {list(names)}, where one stands twice; name each once")
    if request.class_names is not None:
        raise BlackBoxError(
            f"class_names={list(request.class_names)!r} is for models that answer with classes, but this one "
            f"answers with numbers such as {raw.flat[0].item()!r}; name them with output_names"
        )
    return Numbers(names, request.link)


def default_names(n: int, given: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of numbers: those given, or `prediction`, or `output 0` and so on.

    >>> default_names(1, None), default_names(2, None)
    (('prediction',), ('output 0', 'output 1'))
    """
    if given is not None:
        return tuple(str(name) for name in given)
    return ("prediction",) if n == 1 else tuple(f"output {i}" for i in range(n))


def _few_whole_numbers(raw: Answer) -> bool:
    """Whether an answer is like labels in numbers: (n,), whole, and of few different values."""
    if raw.ndim != 1 or not len(raw) or not (raw.dtype.kind in "iu" or np.isin(raw, (0.0, 1.0)).all()):
        return False
    return len(np.unique(raw)) <= MOST_LABELS


def _find_classes(model: Any, raw: Answer, given: Sequence[Any] | None) -> Classes:
    classes = getattr(model, "classes_", None)
    known = None if classes is None else np.asarray(classes).tolist()
    certain = not hasattr(model, "predict") and is_distribution(raw)  # probabilities of exactly 0 and 1
    if not certain and _answers_labels(raw, known):
        return _find_labels(model, raw, known, given)
    n = 2 if raw.ndim == 1 else raw.shape[1]
    if given is not None and len(given) != n:
        raise BlackBoxError(f"class_names has {len(given)} names, the model has {n} classes")
    own = [str(name) for name in known] if known is not None and len(known) == n else None
    names = [str(name) for name in (given if given is not None else own or range(n))]
    _require_order(names, own or [])
    return Classes(tuple(_require_distinct(names)))


def _require_distinct(names: list[str]) -> list[str]:
    """Return names of classes; raise if two are the same."""
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise BlackBoxError(
            f"two classes of the model are called {twice!r}, among {names}; name each differently with "
            f"DataOptions(class_names=…)"
        )
    return names


def _require_order(names: list[str], own: list[str]) -> None:
    """Raise if a class has the name of another one of the model's own."""
    moved = [name for i, name in enumerate(names) if name in own and own[i] != name]
    if moved:
        raise BlackBoxError(
            f"class_names is {names}, where {moved[0]!r} stands at the place of another class: the model's "
            f"own classes_ are {own}, in this order; leave class_names out, or give new names in this order"
        )


def _answers_labels(raw: Answer, known: Sequence[Any] | None) -> bool:
    """Whether a classifier answers with labels instead of probabilities."""
    if is_labels(raw) or raw.ndim != 1:
        return is_labels(raw)
    found = np.unique(raw)
    if raw.dtype.kind != "f" or (known is not None and set(found.tolist()) <= set(known)):
        return True
    return len(found) <= MOST_LABELS and bool((found == np.round(found)).all())


def _find_labels(
    model: Any, raw: Answer, known: Sequence[Any] | None, given: Sequence[Any] | None
) -> Classes:
    seen = np.unique(raw).tolist()
    found = [str(label) for label in (known or seen if given is None else given)]
    if given is not None and not {str(label) for label in seen} <= set(found):
        raise BlackBoxError(f"class_names has {found}, the model answers with the labels {seen}")
    label_positions(raw, _require_distinct(found))
    more = "a model with predict_proba, or a callable that returns probabilities,"
    if hasattr(model, "predict_proba"):
        more = "the model itself, or its predict_proba, in the place of its predict"
    numbers = "" if is_labels(raw) else "; if these labels are numbers, say DataOptions(task='regression')"
    warn(
        "the model answers with decisions alone, not with probabilities: each counts as certain, so that "
        f"contributions tell which features change the decision, but not how close it is; {more} tells more"
        f"{numbers}",
        LabelsOnlyWarning,
    )
    return Classes(tuple(found), labels_only=True)
