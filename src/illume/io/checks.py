"""What the parts of a file must be like, beyond the types of their fields, before any use is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoding
from illume.data.outputs import Outputs
from illume.data.schema import Schema
from illume.encoders.base import HEAD_TYPES, Head, IdentityEncoder
from illume.encoders.estimators import weight_shapes
from illume.encoders.forward import SoftBins
from illume.encoders.options import Objective, PairObjective
from illume.explanations.fitted import AnsweredFrame, ReportAnswers
from illume.explanations.neighbours import SEARCHES
from illume.explanations.options import OPTION_TYPES
from illume.explanations.places import Places
from illume.explanations.reference import KNOTS, Reference
from illume.explanations.rule_intervals import LEVELS
from illume.explanations.tree_rules import PrecisionCurve
from illume.io.codec import Check, Reader
from illume.io.stored import (
    HeldRows,
    Stored,
    StoredEncoder,
    StoredExact,
    StoredIntervals,
    StoredLatent,
    StoredNear,
    StoredRows,
    StoredRules,
)
from illume.surrogates.tree import TreeNodes, require_tree
from illume.twin.exact import Trees
from illume.twin.features import FeatureCodes
from illume.twin.forest import Forest
from illume.twin.games import MOST_PLAYERS
from illume.twin.learned import LearnedTwin
from illume.twin.network_arrays import Coding, ModelArrays, ValueArrays
from illume.twin.read_linear import Linear
from illume.twin.shapley_model import ErrorModel, ShapleyModel

BACKENDS = (None, "pandas", "polars", "pyarrow")
NAN = "nan"
# Shapes and ranges of arrays. Sizes are f features, m inputs, c answers, s scores, numbers, and other letters
# for what is the same in all arrays of a value; a range goes from its first end to below its second one. With
# `nan` figures may be missing.
ARRAYS: dict[Any, dict[str, str]] = {
    Stored: {"missing": "f"},
    Encoding: {"owner": "m 0:f", "mean": "m", "scale": "m >0"},
    Reference: {
        **dict.fromkeys(("knots", "below", "at_most"), f"f {KNOTS} nan"),
        "missing": "f 0: nan",
        "shares": "n 0:",
    },
    Places: {"anchors": "n m", "distances": "d"},
    StoredRows: {"numbers": "n a", "codes": "n b", "P": "n c"},
    HeldRows: {"position": "n 0:"},
    AnsweredFrame: {"P": "n c"},
    ReportAnswers: dict.fromkeys("PQB", "n c"),
    Head: {"coef": "h k", "intercept": "h"},
    SoftBins: {"column": "n 0:m", "low": "n", "steepness": "n >0"},
    StoredLatent: {"coef": "s k", "intercept": "s"},
    StoredNear: {"alike": "n", "Z": "n k"},
    TreeNodes: {
        **dict.fromkeys(("children_left_", "children_right_", "feature_", "threshold_"), "n"),
        "value_": "n c",
    },
    StoredRules: {"answers": "n c", "spread": "n c 0:", "support": "n 0:"},
    PrecisionCurve: {"targets": "n", "precision": "n nan", "coverage": "n nan"},
    StoredIntervals: {"typical": "c 0:", "margins": f"c {len(LEVELS)} -1:"},
    Forest: {
        "left": "n -1:n",
        "right": "n -1:n",
        "feature": "n 0:f",
        "rank": "n -2:",
        "missing_left": "n",
        "roots": "t 0:n",
        "choices": "q w",
        "choice": "n -1:q",
        "value": "n s",
    },
    Trees: {"start": "s"},
    StoredExact: {"background": "f b", "mean": "f s"},
    Linear: {"slopes": "f s", "missing": "f s nan", "levels": "f w s", "intercept": "s"},
    Coding: {
        "features": "j 0:f",
        "starts": "j 0:",
        "numeric": "j",
        "inputs": "j 0:m",
        "widths": "j 1:",
        "knots": "n",
        "mean": "m",
    },
    ModelArrays: {"first": "v u", "first_bias": "u", "last": "w o", "last_bias": "o"},
    ValueArrays: {"constant": "j s", "first": "v u", "first_bias": "u", "last": "w o", "last_bias": "o"},
    ErrorModel: {
        "share": "j s 0:",
        "variance": "j s 0: nan",
        "walk_variance": "j s 0: nan",
        "weights": "3 0:",
        "remainder": "s >0",
    },
    ShapleyModel: {"base": "s"},
}
MAY_BE_NAN = {
    kind: tuple(name for name, each in specs.items() if NAN in each) for kind, specs in ARRAYS.items()
}


def require(*sound: tuple[Any, str]) -> None:
    """Raise ValueError with the message of the first that does not hold."""
    for holds, message in sound:
        if not holds:
            raise ValueError(message)


def require_array(name: str, array: Any, spec: str, sizes: dict[str, int]) -> None:
    """Raise ValueError unless an array has the shape and range of `ARRAYS`; sizes not yet known become so."""
    words = spec.split()
    dims = [word for word in words if word.isalnum() and word != NAN]
    wanted = tuple(int(dim) if dim.isdigit() else sizes.get(dim) for dim in dims)
    if len(array.shape) != len(wanted) or any(n not in (None, m) for m, n in zip(array.shape, wanted)):  # noqa: B905
        raise ValueError(f"{name} has shape {array.shape}, expected {wanted}")
    sizes |= dict(zip(dims, array.shape, strict=True))
    known = array[~np.isnan(array)] if NAN in words else array
    for word in set(words) - {*dims, NAN} if known.size else ():
        if word == ">0":
            require(((known > 0).all(), f"{name} must be above 0"))
            continue
        low, high = (sizes.get(end, end) for end in word.split(":"))
        above = high != "" and known.max() >= int(high)
        require(
            (known.min() >= int(low) and not above, f"{name} must lie from {low} to below {high or 'any'}")
        )


def check(value: Any, file: Reader) -> None:
    """Raise ValueError if a value of a file cannot be one."""
    kind = type(value)
    if kind is Schema:
        _schema(value)
    if Schema not in file.shared or Outputs not in file.shared:
        return
    sizes = {
        "f": len(file.schema),
        "m": _n_inputs(file),
        "c": len(file.outputs),
        "s": len(file.outputs.explained),
    }
    for name, spec in ARRAYS.get(kind, {}).items():
        if getattr(value, name) is not None:
            require_array(name, getattr(value, name), spec, sizes)
    if kind in CHECKS:
        CHECKS[kind](value, file)


def _n_inputs(file: Reader) -> int:
    return len(Encoding.owners(file.schema))


def _stored(stored: Stored, file: Reader) -> None:
    names, columns = set(stored.schema.names), set(stored.columns)
    options = {name: stored.settings.get(name, kind()) for name, kind in OPTION_TYPES.items()}
    for name, kind in OPTION_TYPES.items():
        require((type(options[name]) is kind, f"settings.{name} is {options[name]!r:.60}"))
    search = options["surrogate_options"].search
    require(
        (search in SEARCHES, f"settings.search is {search!r}, expected one of {SEARCHES}"),
        (names <= columns and len(columns) == len(stored.columns), "the columns are not those of the schema"),
        (stored.backend in BACKENDS, f"backend is {stored.backend!r}, expected one of {BACKENDS}"),
        (stored.kind in ("shapley", "pullback"), f"kind is {stored.kind!r}"),
        (set(stored.dictionary.columns) <= names, "the dictionary labels what is no feature"),
        (stored.latent or not stored.rules, "there are rules without a latent surrogate"),
        (stored.latent or stored.twin, "there is no twin"),
    )
    held = [each for each in (stored.latent, stored.rules) if each]
    if stored.rows is None:
        require((all(each.near is None for each in held), "there are neighbours without rows"))
        return
    n, of, m = len(stored.rows.training), stored.facts.n_training, stored.encoding.n_inputs
    alike = all(each.near is not None and len(each.near.alike) == n for each in held)
    require((n <= of and alike, f"the file holds {n} rows of {of}, or other neighbours"))
    for answered in filter(None, (stored.rows.pool, stored.rows.background)):
        frame = answered.frame
        require((frame.names == stored.columns, f"the stored rows have the columns {frame.names[:5]}"))
        file.budget.spend(2 * 8 * len(frame) * m, f"{len(frame):,} rows × {m:,} inputs")
        stored.encoding.transform(frame.select(stored.schema.names))  # raises if it cannot be encoded


def _answers(file: Reader, *answers: FloatArray) -> None:
    for P in answers:
        fits = P.shape == (len(answers[0]), len(file.outputs)) and file.outputs.is_valid(P)
        require((fits, "there are rows that are no answers of a model"))


def _schema(schema: Schema) -> None:
    twice = [each.name for each in schema.features if len(set(each.categories)) < len(each.categories)]
    once = schema.names and len(set(schema.names)) == len(schema.names)
    require((once, "the schema must name every feature once"))
    require((not twice, f"features {twice[:5]} have a category twice"))


def _encoding(encoding: Encoding, file: Reader) -> None:
    same = np.array_equal(encoding.owner, Encoding.owners(file.schema))
    require((same and len(encoding.owner), "owner is not that of the features, or no column varies"))


def _reference(found: Reference, file: Reader) -> None:
    fits = found.n_rows >= 0 and len(found.shares) == len(Reference.unknown(file.schema).shares)
    require((fits, "n_rows or shares are not those of the features"))


def _rows(rows: StoredRows, file: Reader) -> None:
    features = [feature for feature in file.schema.features if not feature.constant]
    widths = np.array([len(each.categories) for each in features if not each.numeric], dtype=np.int64)
    n, m = len(rows), _n_inputs(file)
    shapes = (rows.numbers.shape[1], rows.codes.shape[1]) == (len(features) - len(widths), len(widths))
    require((shapes, "numbers and codes are not those of the features"))
    require((((rows.codes >= -1) & (rows.codes < widths)).all(), "codes are no categories"))
    # rows, and conditions on them: a byte for every category, and for some thresholds of every number
    file.budget.spend(29 * n * m, f"{n:,} rows of {m:,} numbers and categories")
    _answers(file, rows.P)


def _frame(answered: AnsweredFrame, file: Reader) -> None:
    require((len(answered.P) == len(answered.frame) > 0, "P is not that of the rows"))
    _answers(file, answered.P)


def _held(rows: HeldRows, file: Reader) -> None:
    require((len(rows.position) == len(rows.training), "position is not that of the rows"))
    _answers(file, *(rows.report_answers or ()))


def _encoder(stored: StoredEncoder, file: Reader) -> None:
    encoder, m = stored.encoder, _n_inputs(file)
    require((1 <= stored.alpha <= m, f"alpha is {stored.alpha}, expected 1 to {m}"))
    if isinstance(encoder, IdentityEncoder):
        require((not stored.weights, "there are weights, which an identity encoder never has"))
        return
    objectives = Objective | PairObjective | None
    require(
        (encoder.task in HEAD_TYPES, f"task is {encoder.task!r}, expected one of {sorted(HEAD_TYPES)}"),
        (type(encoder.n_latents) is int, f"n_latents is {encoder.n_latents!r}, expected a number"),
        (isinstance(encoder.objective, objectives), f"objective is {encoder.objective!r}"),
    )
    rank = len(stored.weights["basis"]) if "basis" in stored.weights else None
    shapes = weight_shapes(encoder, m, rank, len(stored.bins))
    found = {name: weights.shape for name, weights in stored.weights.items()}
    require((found == shapes, f"weights have the shapes {found}, expected {shapes}"))


def _near(near: StoredNear | None, k: int, file: Reader) -> None:
    if near is not None:
        file.budget.spend(3 * 8 * len(near.alike) * k, f"{len(near.alike):,} rows × {k:,} latents")
        require((near.Z is None or near.Z.shape[1] == k, "there are other latents than the encoder's"))


def _latent(latent: StoredLatent, file: Reader) -> None:
    k = latent.encoder.n_latents(_n_inputs(file))
    require((latent.coef.shape[1] == k, f"coef has shape {latent.coef.shape}, and there are {k} latents"))
    _near(latent.near, k, file)


def check_tree(rules: StoredRules, k: int, file: Reader) -> None:
    """Raise ValueError unless rules come from a tree on k latents."""
    require_tree(rules.tree, k)
    n = len(rules.tree.feature_)
    require((len(rules.support) == n, f"support has {len(rules.support)} nodes, expected {n}"))
    file.budget.spend(4 * 8 * n * k, f"tree: {n:,} nodes × {k:,} latents")
    _near(rules.near, k, file)


def _codes(codes: FeatureCodes, file: Reader) -> None:
    require(
        (len(codes.cuts) == len(codes.categories) == len(file.schema), "there are codes of other features")
    )
    rise = all(cuts.ndim == 1 and (np.diff(cuts) > 0).all() for cuts in codes.cuts)
    require((rise, "cuts do not rise"))


def _forest(forest: Forest, file: Reader) -> None:
    inner = np.flatnonzero(forest.left >= 0)
    children = np.concatenate([forest.left[inner], forest.right[inner]])
    own = np.sort(np.concatenate([forest.roots, children]))
    sound = (children > np.tile(inner, 2)).all() and np.array_equal(own, np.arange(len(forest.left)))
    require((sound and forest.n_features == len(file.schema), "there are nodes that are no trees"))


def _trees(trees: Trees, file: Reader) -> None:
    width, parts = trees.codes.n_codes + 1, trees.forest.branches
    short = max((part.n_bits for part in parts), default=0) <= MOST_PLAYERS
    require((short and trees.forest.choices.shape[1] == width, "there are too long paths, or other codes"))
    sizes = sum(part.width << part.n_bits for part in parts if part.has_table)
    file.budget.spend(8 * sizes, f"twin: tables of {sizes:,} numbers")


def _linear(linear: Linear, file: Reader) -> None:
    width = 1 + max(map(len, linear.categories), default=0)
    fits = len(linear.categories) == len(file.schema) and linear.levels.shape[1] == width
    require((fits, "levels are not those of the categories"))


def _exact(exact: StoredExact, file: Reader) -> None:
    one, rows = len(file.outputs.explained) < 2, exact.background
    require((not (exact.centred and one), "the twin is centred, and there is one score"))
    if rows is not None and isinstance(exact.parts, Trees):
        known = rows.size and rows.min() >= -1 and rows.max() < exact.parts.codes.n_codes
        require((known, "background holds no rows, or codes that are none of the features"))


def _coding(coding: Coding, file: Reader) -> None:
    owner, widths = Encoding.owners(file.schema), coding.widths
    require(((np.diff(coding.features) > 0).all(), "features are not in order"))
    require((np.isin(coding.features, owner).all(), "features holds constant ones"))
    numeric = np.array([file.schema.features[j].numeric for j in coding.features], dtype=bool)
    n_inputs = np.array([(owner == j).sum() for j in coding.features], dtype=np.int64)
    ends = np.cumsum(widths + 1)
    require((np.array_equal(coding.numeric, numeric), "numeric is not that of the features"))
    knot_owner = np.repeat(np.arange(int(numeric.sum())), widths[numeric])
    fits = np.where(numeric, widths >= 2, widths == n_inputs).all() and len(coding.knots) == len(knot_owner)
    require((fits, "widths or knots are not those of the features"))
    require(
        (np.array_equal(coding.starts, ends - widths - 1), "starts are not those of the widths"),
        (np.array_equal(coding.inputs, np.searchsorted(owner, coding.features)), "inputs are others"),
        (coding.size == (ends[-1] if len(ends) else 0), f"size is {coding.size}"),
        (((np.diff(coding.knots) > 0) | (np.diff(knot_owner) > 0)).all(), "knots do not rise"),
    )


def _shapley(model: ShapleyModel, file: Reader) -> None:
    scale, m = model.scale, model.coding.n_features
    known = file.outputs.read_scale(scale.least, scale.center, scale.unit)
    same = type(scale) is type(known) and (scale.unit > 0).all()
    require((same, "scale is not that of the answers"), (model.n_features == len(file.schema), "n_features"))
    require((len(model.errors.share) == len(model.values.constant) == m, "errors are not of the features"))
    s = len(file.outputs.explained)
    for network, n_parts in ((model.network, 2), (model.values, 3)):
        nodes, n_units = network.table.nodes, network.first.shape[1]
        d = nodes.shape[-1] - s
        # the model's network gates one part by the other; that of values keeps a third one beside
        last = (n_units // n_parts * (n_parts - 1), s if n_parts == 2 else m * d * s)
        fits = nodes.shape == (model.coding.size, s + d) and d > 0 and network.table.n_main == s
        require((fits, f"nodes has shape {nodes.shape}, expected {model.coding.size} by more than {s}"))
        fits = network.first.shape[0] == m * d and n_units % n_parts == 0 and network.last.shape == last
        require((fits, "the layers of a network do not fit together"))


def _learned(twin: LearnedTwin, file: Reader) -> None:
    coding, rows = twin.model.coding, twin.background
    fits = rows.at.shape == rows.part.shape and rows.at.shape[1:] == (coding.n_features,)
    require((fits and not twin.exact, "background is not of the features"))
    inside = (rows.at >= coding.starts) & (rows.at <= coding.starts + coding.widths)
    require((inside.all(), "background holds codes that are none of the features"))


CHECKS: dict[Any, Check] = {
    Stored: _stored,
    Encoding: _encoding,
    Reference: _reference,
    StoredRows: _rows,
    AnsweredFrame: _frame,
    HeldRows: _held,
    ReportAnswers: lambda found, file: _answers(file, found.P, found.Q, found.B),
    StoredEncoder: _encoder,
    StoredLatent: _latent,
    FeatureCodes: _codes,
    Forest: _forest,
    Trees: _trees,
    Linear: _linear,
    StoredExact: _exact,
    Coding: _coding,
    ShapleyModel: _shapley,
    LearnedTwin: _learned,
}
