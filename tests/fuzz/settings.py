"""How many examples: as many as fit in the default run, or ILLUME_FUZZ_EXAMPLES for each property."""

import os

from hypothesis import HealthCheck, Phase, settings

EXAMPLES = int(os.environ.get("ILLUME_FUZZ_EXAMPLES", "0"))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)


def examples(default):
    """Return the settings of a property that the default run tries so often."""
    return settings(
        max_examples=EXAMPLES or default,
        deadline=None,
        derandomize=not EXAMPLES,
        database=None,
        phases=PHASES,
        print_blob=bool(EXAMPLES),
        suppress_health_check=list(HealthCheck),
    )
