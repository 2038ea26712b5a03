"""A fit that shows no progress bar tells the log what it does, and nothing else."""

import logging
import re

import numpy as np

from illume.data import progress
from tests.common import global_explainer, linear_black_box

ROWS = np.random.default_rng(0).normal(size=(60, 2))


def test_a_fit_off_the_terminal_prints_nothing_and_logs_each_part(caplog, capfd):
    model = linear_black_box([2.0, -1.0])
    with caplog.at_level(logging.INFO, logger="illume"):
        explainer = global_explainer(model).fit(ROWS)
        said = [record.getMessage() for record in caplog.records]
        explainer.fit_rules()
    assert said[0] == "fit on 60 rows of 2 columns: asking the model"
    assert "s: the model is learned, as " in said[1]
    assert said[-1].endswith("s: fitted")
    later = [record.getMessage() for record in caplog.records][len(said) :]
    assert later[0] == "training the latent surrogate"
    assert later[1].endswith("s: the latent surrogate is trained")
    assert later[2] == "growing the tree of rules"
    assert all(record.name.startswith("illume.") for record in caplog.records)
    assert capfd.readouterr() == ("", "")


def test_asking_and_learning_are_estimated_and_told(caplog, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    with caplog.at_level(logging.INFO, logger="illume"):
        global_explainer(linear_black_box([2.0, -1.0]), queries=500).fit(ROWS)
    said = [record.getMessage() for record in caplog.records]
    assert any(
        re.match(r"asking about 500 made-up rows takes about \d+ s, learning .* \d+ s", each) for each in said
    )
    asking = [each for each in said if each.startswith("asking the model: ")]
    assert len(asking) > 3
    assert re.search(r"\d+ % after \d+ s, about \d+ s left", asking[0])


def test_verbose_shows_bars_anywhere(capfd):
    global_explainer(linear_black_box([2.0, -1.0]), queries=50, verbose=True).fit(ROWS)
    assert "training, Shapley values" in capfd.readouterr().err
