"""Numbers in the guides that are constants of the code: defaults, limits, sizes of samples."""

import inspect

import pytest

from illume import Explainer
from illume.data import limits, schema
from illume.encoders.options import STEADINESS
from illume.explanations import counterfactuals, drift, neighbours, places, rule_cover, rule_sample
from illume.fit import fit, model_checks, prepare, rule_trees, settings, shapley_values, trials
from illume.io.save_explainer import HELD_ROWS
from illume.results import levels
from illume.twin import fit_shapley, learned, read, tabulated, train_networks, training_run
from tests.blocks import ROOT

EFFORTS = training_run.EFFORTS
QUERIES = " or ".join(", ".join(f"{effort.n_queries:,}" for effort in EFFORTS.values()).rsplit(", ", 1))
SAYS = {
    "docs/guides/scaling.md": (
        f"{settings.N_PAIRS['standard']:,} pairs of made-up rows",
        f"in {settings.PAIR_STEPS['standard']:,} steps",
        f"is asked {EFFORTS['standard'].n_queries:,} queries, and up to {training_run.TIERS[-1]:,} for more",
        f"at most {trials.VALIDATION_ROWS:,} validation rows",
        f"verified on up to {2 * read.CHECKED_ROWS:,} rows",
        f"{counterfactuals.POOL_ROWS:,} original training rows",
        f"At most {neighbours.MOST:,} rows per decision",
    ),
    "docs/guides/objective.md": (
        *(
            f'| `"{name}"` | {effort.n_queries:,} | {effort.most_steps:,} | '
            f"{settings.PAIR_STEPS.get(name, settings.PAIR_STEPS['standard']):,} |"
            for name, effort in EFFORTS.items()
        ),
        f"{prepare.ENCODER_QUERIES:,} and {prepare.QUERIES_PER_ROW} per training row",
        f"up to {settings.MOST_TIMES} times as many",
        f"from up to {'twice' if train_networks.MORE == 2 else train_networks.MORE} as many walks",
        f"The default is {STEADINESS}".replace("0.", "."),
        f"more than {training_run.MOST_SECONDS:g} s to answer",
        f"leaves {training_run.FOR_EACH_FEATURE} queries to each feature",
    ),
    "docs/method.md": (
        QUERIES,
        f"up to {fit_shapley.MOST_PROBES} training rows are predicted again",
        f"with {learned.PAIR_SAMPLES} random sets for each row",
        f"at most {tabulated.MOST_CELLS} different rows",
    ),
    "docs/guides/saving.md": (
        f"up to `rows` ({HELD_ROWS:,})",
        f"up to {fit.BACKGROUND_ROWS:,} of an exact twin, {shapley_values.KEPT_ROWS:,} of a learned one",
        f"{rule_trees.POLISHING_ROWS:,} training and synthetic rows, {rule_trees.KNOWN_ROWS:,} training and",
        f"and {rule_sample.REPORT_ROWS:,} report rows",
        f"up to {places.ANCHORS} held-out rows",
        f"more than {limits.DEFAULT // 2**30} GiB",
    ),
    "docs/guides/trust.md": (
        f"up to {fit_shapley.MOST_ROWS} held-out rows",
        f"among at most {neighbours.MOST:,} per decision",
        f"from a share of {levels.HIGH_SHARE}, `fair` from {levels.FAIR_SHARE}".replace("0.", "."),
        f"sample of background rows above {fit.BACKGROUND_ROWS:,} fitted ones",
    ),
    "docs/guides/data.md": (f"More than {schema.MAX_CATEGORIES} different values",),
    "docs/guides/drift.md": (f"from more than {drift.MOST_ROWS:,} rows",),
    "docs/guides/models.md": (
        f"up to {model_checks.ROWS} rows again",
        f"more than {read.MOST_SECONDS} s, or tables more than {read.MOST_BYTES // 2**30} GiB".replace(
            "0.", "."
        ),
        f"up to {read.CHECKED_ROWS:,} fitted rows and as many mixed ones",
    ),
    "docs/guides/explanations.md": (
        f"of more than {fit.BACKGROUND_ROWS:,} a random sample of {fit.BACKGROUND_ROWS:,}",
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
