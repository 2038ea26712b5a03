"""A stored file of every format version explains as it did; run this file to store one of a new version."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import illume
from illume.data.archive import VERSION
from tests.common import grouped

FILES = Path(__file__).parent / "files"
VERSIONS = sorted(FILES.glob("version*.illume"))
TOLERANCE = 1e-5
FIRST = 10


def rows(n=90):
    """Mixed rows; their numbers are spread evenly, so that none lies at the edge of a decision by chance."""
    i = np.arange(n)
    frame = pd.DataFrame(
        {
            "age": 18 + (i * 37) % 61,
            "income": np.where(i % 13 == 0, np.nan, 10 + ((i * 29) % 83) * 0.75),
            "education": np.array(["low", "middle", "high"], dtype=object)[(i * 7) % 3],
            "owner": (i * 5) % 4 == 0,
        }
    )
    return frame.astype({"education": object})


def model(frame):
    """Three classes, by formulas that are the same everywhere."""
    age, income = frame["age"].to_numpy(dtype=float), frame["income"].fillna(30.0).to_numpy()
    high = (frame["education"] == "high").to_numpy(dtype=float)
    a, b = (age - 48) / 18, (income - 40) / 18
    logits = np.stack([2 * a * b, b - a + high, np.where(frame["owner"], 1.0, -0.5)], axis=1)
    weights = np.exp(logits)
    return weights / weights.sum(1, keepdims=True)


def explanations(explainer):
    """Return the figures that must stay as they are."""
    some = rows().iloc[::6]
    found, rules = explainer(some), explainer.rules(some)
    refined = explainer(some, refine=6)
    examples = explainer.counterfactuals(some.head(6))
    return {
        "values": found.values.tolist(),
        "standard_errors": found.standard_errors.tolist(),
        "refined": refined.values.tolist(),
        "refined_errors": refined.standard_errors.tolist(),
        "scores": found.scores.tolist(),
        "surrogate_probabilities": found.surrogate_probabilities.tolist(),
        "status": found.refinement.status.tolist(),
        "trust": found.trust.share.tolist(),
        "low": np.nan_to_num(rules.bounds.low).tolist(),
        "high": np.nan_to_num(rules.bounds.high).tolist(),
        "rules": [rule.text for rule in rules],
        "covered": rules.n_covered.tolist(),
        "rule_set": [rule.text for rule in explainer.rule_set()],
        "changed": examples.changed.tolist(),
        "distance": examples.distance.tolist(),
        "quality": explainer.quality_.agreement,
        "surrogate_quality": explainer.quality_.surrogate.agreement,
        "rule_quality": explainer.rule_quality_.precision,
    }


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_a_stored_file_explains_as_it_did(path):
    wanted = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    found = explanations(illume.load(path, model=model))
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        if name in ("status", "rules", "rule_set", "changed"):
            assert found[name] == value, name
        else:
            np.testing.assert_allclose(found[name], value, atol=TOLERANCE, rtol=TOLERANCE, err_msg=name)


def test_there_is_a_small_stored_file_of_every_version():
    assert [path.stem for path in VERSIONS] == [f"version{i}" for i in range(FIRST, VERSION + 1)]
    assert all(path.stat().st_size < 250_000 for path in VERSIONS)


def main():
    objective = illume.Objective(lambda_g=1.0, lambda_x=0.0, lambda_w=0.0, lambda_y=0.0, width=12)
    training = illume.Training(batch_size=32, learning_rate=1e-2, max_epochs=60)
    settings = {"n_latents": 3, "effort": "quick", "queries": 1_200, "objective": objective}
    explainer = illume.Explainer(
        model, **grouped(training=training, validation_size=0.25, report_size=0.25, **settings)
    )
    path = FILES / f"version{VERSION}.illume"
    explainer.fit(rows()).save(path, rules=True)
    print(explainer.quality_, path.stat().st_size)  # noqa: T201
    text = json.dumps(explanations(explainer), indent=1)
    path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
