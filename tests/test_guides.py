"""Numbers in the guides that are constants of the code: defaults, limits, sizes of samples."""

import inspect

import pytest

from illume import Explainer
from illume.data import limits, schema
from illume.encoders.options import QUICK
from illume.explanations import counterfactuals, drift, neighbours, rule_cover, rule_sample, trust_map
from illume.fit import model_checks, prepare, rule_trees, shapley_values, trials
from illume.io.save_explainer import HELD_ROWS
from illume.shapley import fit_shapley, training_run
from tests.blocks import ROOT

QUERIES = (
    f"from {training_run.FEWEST_QUERIES:,} (or {training_run.QUERIES_PER_FEATURE} per feature, up to "
    f"{training_run.fewest_queries(10**6):,}) to {training_run.MOST_QUERIES:,}"
)
SAYS = {
    "docs/guides/scaling.md": (
        f"at most {QUICK.epoch_rows:,} rows and validates on at most {QUICK.validation_rows:,}",
        f"at most {QUICK.max_steps:,} steps by default",
        f"up to {training_run.MOST_QUERIES:,}",
        f"at most {trials.VALIDATION_ROWS:,} validation rows",
        f"{counterfactuals.POOL_ROWS:,} original training rows",
        f"At most {neighbours.MOST:,} rows per decision",
    ),
    "docs/guides/objective.md": (
        *(
            f'| `"{name}"` | {effort.ask_seconds:g} s | {effort.most_steps:,} |'
            for name, effort in training_run.EFFORTS.items()
        ),
        f"{prepare.ENCODER_QUERIES:,} and {prepare.QUERIES_PER_ROW} per training row",
        f"within {trials.LATENTS_TOLERANCE}".replace("0.", "."),
        QUERIES,
    ),
    "docs/method.md": (QUERIES, f"up to {fit_shapley.MOST_PROBES} training rows are predicted again"),
    "docs/guides/saving.md": (
        f"up to `rows` ({HELD_ROWS:,})",
        f"up to {shapley_values.KEPT_ROWS:,}: `refine`",
        f"{rule_trees.POLISHING_ROWS:,} training and synthetic rows, {rule_trees.KNOWN_ROWS:,} training and",
        f"and {rule_sample.REPORT_ROWS:,} report rows",
        f"up to {trust_map.ANCHORS} held-out rows",
        f"more than {limits.DEFAULT // 2**30} GiB",
    ),
    "docs/guides/trust.md": (
        f"up to {fit_shapley.MOST_ROWS} held-out rows",
        f"the {trust_map.NEIGHBOURS} nearest held-out rows (with more than {trust_map.ANCHORS} held-out rows",
        f"at most {neighbours.MOST:,} per decision",
    ),
    "docs/guides/data.md": (f"More than {schema.MAX_CATEGORIES} different values",),
    "docs/guides/drift.md": (f"from more than {drift.MOST_ROWS:,} rows",),
    "docs/guides/models.md": (f"up to {model_checks.ROWS} rows again",),
    "docs/guides/explanations.md": (
        f"adds {rule_cover.LEAST:.0%} of the rows".replace("%", " %"),
        f"less than {rule_cover.MOST:.0%} are covered".replace("%", " %"),
        *(
            f"{text}{inspect.signature(Explainer.rule_set).parameters[name].default}{after}"
            for name, text, after in (
                ("max_rules", "at most ", " rules (`max_rules`)"),
                ("max_conditions", "at most ", " conditions (`max_conditions`)"),
                ("precision", "(`precision=", "`)"),
                ("interval", "(`interval=", "`)"),
            )
        ),
    ),
    "docs/guides/report.md": tuple(
        f"`{name}={inspect.signature(Explainer.report).parameters[name].default:_}`"
        for name in ("n_counterfactuals", "max_rows", "max_counterfactual_rows")
    ),
}


@pytest.mark.parametrize("page", SAYS)
def test_numbers_in_a_guide_are_those_of_the_code(page):
    text = " ".join((ROOT / page).read_text().split())
    assert [words for words in SAYS[page] if words not in text] == []
