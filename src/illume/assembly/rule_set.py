"""The leaves of the rules' tree, measured, each with the rule of a row in its middle."""

from __future__ import annotations

import numpy as np

from illume.assembly.rules import RuleAssembly, RuleOptions
from illume.data.encoding import Encoded
from illume.data.frames import Origin
from illume.errors import LeftOutError
from illume.fit.pairs import Answered
from illume.results.rule_set import RuleSet


def rule_set(assembly: RuleAssembly, training: Answered, backend: Origin) -> RuleSet:
    """Return the leaves that hold training rows, largest first."""
    if not len(training):
        raise LeftOutError(
            "the leaves are shown by training rows in them, and the explainer was saved with rows='none'"
        )
    model = assembly.model
    rules, report = model.rules, model.report
    Z = rules.encoder.transform(training.X)
    leaf = rules.tree.apply(Z)
    agreed = rules.decisions[leaf] == training.P.argmax(1)
    leaves, number, size = np.unique(leaf, return_inverse=True, return_counts=True)
    centre = np.stack([np.bincount(number, weights=z) for z in Z.T], axis=1) / size[:, None]
    distance = np.square(Z - centre[number]).sum(1)
    # The first row of each leaf when sorted by leaf, agreeing rows first, then by distance.
    order = np.lexsort((distance, ~agreed, number))
    typical = order[np.searchsorted(number[order], np.arange(len(leaves)))]
    largest = np.argsort(-size, kind="stable")
    X = training.X[typical[largest]]
    encoded = Encoded.plain(X, len(assembly.encoding.schema))
    held_out = rules.tree.apply(rules.encoder.transform(report.X))
    right = report.decisions == rules.decisions[held_out]
    n_rows = np.bincount(held_out, minlength=len(rules.decisions))[leaves]
    n_correct = np.bincount(held_out[right], minlength=len(rules.decisions))[leaves]
    return RuleSet(
        rules=assembly.of_rows(encoded, training.P[typical[largest]], RuleOptions(), origin=backend),
        support=size[largest] / len(leaf),
        n_rows=n_rows[largest],
        n_correct=n_correct[largest],
        decisions=rules.decisions[leaves[largest]],
        source=model.source,
        class_names=assembly.class_names,
    )
