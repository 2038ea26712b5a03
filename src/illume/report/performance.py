"""How right the model itself is on rows whose labels are known: figures, tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score, roc_auc_score, roc_curve

from illume._typing import FloatArray, IntArray
from illume.data.sampling import evenly_spaced
from illume.report.drawings import Axis, Chart
from illume.report.markup import Markup, tag
from illume.report.words import count, figure, percent, quote
from illume.results.attributions import Attributions

MOST_CLASSES = 8  # in the table of decisions, and with a curve each
N_BINS = 10
N_SHADES = 8
MOST_POINTS = 200  # of a curve
MOST_DOTS = 1_000
SEEN = "If the model was trained on these rows, the figures are better than they would be on new ones."


def describe_model(found: Attributions, labels: IntArray | FloatArray) -> Markup:
    """Return what the labels of the explained rows say about the model."""
    if found.outputs.decides:
        return _describe_classes(found, np.asarray(labels, dtype=np.intp))
    return _describe_numbers(found.outputs, found.predictions, np.asarray(labels, dtype=np.float64))


def _figure(title: str, note: str, *content: Markup) -> Markup:
    return tag("figure", tag("figcaption", tag("b", title), tag("span", note)), *content)


def _section(lead: str, *figures: Markup) -> Markup:
    return Markup(tag("p", lead, class_="lead") + tag("div", *figures, class_="figures"))


def _describe_classes(found: Attributions, labels: IntArray) -> Markup:
    decisions, names = found.decisions, found.class_names
    n, counts = len(labels), np.bincount(labels, minlength=len(names))
    most = int(counts.argmax())
    lead = (
        f"On the {count(n, 'row')} of this report, the model's decision is the true class for "
        f"{percent(float((decisions == labels).mean()))}; always {quote(names[most])} would be right for "
        f"{percent(counts[most] / n)}. {SEEN}"
    )
    figures = [_confusion(names, labels, decisions)]
    if not getattr(found.outputs, "labels_only", False):
        figures += [*_roc(found, labels), _calibration(found, labels)]
    return _section(lead, *figures)


def _confusion(names: Sequence[str], labels: IntArray, decisions: IntArray) -> Markup:
    """Return the table of true classes by decisions; rare classes of many are put together."""
    often = np.argsort(-np.bincount(labels, minlength=len(names)), kind="stable")
    kept = np.sort(often[:MOST_CLASSES]) if len(names) > MOST_CLASSES else np.arange(len(names))
    groups = np.full(len(names), len(kept))
    groups[kept] = np.arange(len(kept))
    shown = [names[c] for c in kept] + ["other classes"] * (len(kept) < len(names))
    table = confusion_matrix(groups[labels], groups[decisions], labels=range(len(shown)))
    right, true, decided = table.diagonal(), table.sum(1), table.sum(0)
    shades = np.ceil(N_SHADES * table / np.maximum(true, 1)[:, None]).astype(int)
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(tag("td", f"{n:,}", class_=f"shade-{shades[i, j]}") for j, n in enumerate(table[i].tolist())),
            tag("td", _share(right[i], true[i]), class_="share-right"),
        )
        for i, name in enumerate(shown)
    ]
    head = [tag("td"), *(tag("th", name, scope="col") for name in shown), tag("th", "Recall", scope="col")]
    foot = [_share(one, of) for one, of in zip(right.tolist(), decided.tolist(), strict=True)]
    last = tag("tr", tag("th", "Precision", scope="row"), *(tag("td", one) for one in foot), tag("td"))
    grid = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows, last), class_="confusion")
    note = "A line is a true class, a column a decision; the diagonal is right."
    return _figure(
        "Confusion matrix",
        note,
        tag("div", grid, class_="wide", tabindex="0", role="region", aria_label="Confusion matrix"),
    )


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _roc(found: Attributions, labels: IntArray) -> list[Markup]:
    """Return the ROC curve of the positive one of two classes, or of each class against all others."""
    outputs: Any = found.outputs
    names, P, n = found.class_names, found.probabilities, len(labels)
    counts = np.bincount(labels, minlength=len(names))
    classes = [outputs.at] if len(names) == 2 else np.argsort(-counts, kind="stable")[:MOST_CLASSES].tolist()
    curves = {c: roc_curve(labels == c, P[:, c]) for c in sorted(classes) if 0 < counts[c] < n}
    if not curves:
        return []
    areas = {c: float(roc_auc_score(labels == c, P[:, c])) for c in curves}
    said = [
        f"AUC {figure(area)}" + (f" for {quote(names[c])}" * (len(names) > 2)) for c, area in areas.items()
    ]
    chart = Chart(Axis("false positive rate"), Axis("true positive rate"), f"ROC curve: {', '.join(said)}.")
    marks = [chart.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "chance")]
    for c, (false, true, _) in curves.items():
        few = np.unique(np.linspace(0, len(false) - 1, MOST_POINTS).round().astype(int))
        marks.append(chart.line(false[few], true[few], f"stroke-{c % 8 if len(names) > 2 else 0}"))
    if len(names) == 2:
        decided, true = found.decisions == outputs.at, labels == outputs.at
        rates = [decided[rows].mean(keepdims=True) for rows in (~true, true)]
        marks.append(chart.dots(rates[0], rates[1], "stands", 5))
        threshold = "" if outputs.cutoff is None else f" at the threshold {outputs.cutoff.threshold:g}"
        note = f"{said[0]} for {quote(names[outputs.at])}; 0.5 is chance, 1 is perfect. "
        note += f"The dot is the decision{threshold}."
        return [_figure("ROC curve", note, chart.draw(*marks))]
    note = "Each class against all others; an AUC of 0.5 is chance, 1 is perfect."
    legend = [tag("span", _mark(c), f"{names[c]}: {figure(area)}") for c, area in areas.items()]
    return [_figure("ROC curves", note, chart.draw(*marks), tag("p", *legend, class_="legend"))]


def _mark(c: int) -> Markup:
    dot = tag("circle", cx="6", cy="6", r="4.2", class_=f"class-{c % 8}")
    return tag("svg", dot, viewBox="0 0 12 12", class_="swatch", aria_hidden="true")


def _calibration(found: Attributions, labels: IntArray) -> Markup:
    """Return how often a class was true where its probability was so high, in bins of equally many rows."""
    names, rows, outputs = found.class_names, np.arange(len(labels)), cast(Any, found.outputs)
    binary = len(names) == 2
    about = np.full(len(labels), outputs.at) if binary else found.decisions
    given, true = found.probabilities[rows, about], labels == about
    bins = np.array_split(np.argsort(given, kind="stable"), min(N_BINS, len(rows)))
    said, happened = (np.array([values[rows].mean() for rows in bins]) for values in (given, true))
    gap = float(np.average(np.abs(said - happened), weights=[len(rows) for rows in bins]))
    what = f"probability of {quote(names[outputs.at])}" if binary else "probability of the decided class"
    note = "On the diagonal, a probability of 0.7 comes true for 70 % of the rows. "
    note += f"Mean distance from it: {figure(gap)}."
    chart = Chart(Axis(what), Axis("share that was so"), f"Calibration: {note}")
    marks = [
        chart.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "chance"),
        chart.line(said, happened, "stroke-0"),
        chart.dots(said, happened, "class-0", 4),
    ]
    return _figure("Calibration", note, chart.draw(*marks))


def _describe_numbers(outputs: Any, predictions: FloatArray, labels: FloatArray) -> Markup:
    n = len(labels)
    each = [_scores(outputs, predictions[:, i], labels[:, i], i) for i in range(len(outputs))]
    said = "; ".join((f"{name}: {text}" if len(each) > 1 else text) for name, text in each)
    lead = f"On the {count(n, 'row')} of this report, the model has {said}. {SEEN}"
    if len(each) > 1:
        lead += f" The charts show {each[0][0]}."
    shown = evenly_spaced(n, MOST_DOTS)
    predicted, actual = predictions[shown, 0], labels[shown, 0]
    some = "" if len(shown) == n else f" {len(shown):,} of {n:,} rows, evenly spaced."
    name, show, off = each[0][0], _shower(outputs), actual - predicted
    ends = _ends(np.concatenate([predicted, actual]))
    chart = Chart(
        Axis("predicted", *ends, show),
        Axis("actual", *ends, show),
        f"Predicted and actual {name}: {each[0][1]}.",
    )
    fits = [chart.line(np.array(ends), np.array(ends), "chance"), chart.dots(predicted, actual, "dots", 2.5)]
    middle = " and ".join(map(show, np.quantile(off, [0.25, 0.75]).tolist()))
    around = Chart(
        Axis("predicted", *_ends(predicted), show),
        Axis("actual − predicted", *_ends(off), show),
        f"Residuals of {name}: half of them are between {middle}.",
    )
    zero = np.array([around.x.low, around.x.high])
    rest = [around.line(zero, np.zeros(2), "chance"), around.dots(predicted, off, "dots", 2.5)]
    note = f"A dot is a row; on the line, the prediction is right.{some}"
    return _section(
        lead,
        _figure("Predicted and actual", note, chart.draw(*fits)),
        _figure("Residuals", f"Half of them are between {middle}.{some}", around.draw(*rest)),
    )


def _shower(outputs: Any) -> Callable[[float], str]:
    return lambda number: str(outputs.format(number)).replace("-", "−")


def _scores(outputs: Any, predicted: FloatArray, actual: FloatArray, i: int) -> tuple[str, str]:
    """Return the name of an output, and R² and mean absolute error of its predictions in words."""
    r2 = float(r2_score(actual, predicted)) if len(actual) > 1 else float("nan")
    error = float(mean_absolute_error(actual, predicted))
    usual = float(np.abs(actual - np.median(actual)).mean())
    text = (
        f"R² {figure(r2)} and a mean absolute error of {outputs.format(error, i)} (always the median: "
        f"{outputs.format(usual, i)})"
    )
    return outputs.names[i], text


def _ends(numbers: FloatArray) -> tuple[float, float]:
    low, high = float(numbers.min()), float(numbers.max())
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room
