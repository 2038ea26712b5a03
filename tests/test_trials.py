"""Which number of latents and which alignment short trials select."""

import pytest

from illume.explanations.trial import Setting
from illume.fit.settings import Choices
from illume.fit.trials import Search


@pytest.mark.parametrize(
    ("known", "n_latents", "alignment"),
    [
        ({4: 0.86, 8: 0.91, 16: 0.92}, 8, 1.0),  # within .015 of the best
        ({4: 0.904, 8: 0.90, 16: 0.92}, 16, 1.0),  # .016 and more below it
        ({4: 0.90, 8: 0.90, 16: 0.90}, 4, 1.0),
        ({4: 0.90, 8: 0.90, 16: 0.90, (4, 0.0): 0.93}, 4, 1.0),  # no alignment gains .03, not more
        ({4: 0.90, 8: 0.90, 16: 0.90, (4, 0.0): 0.94, (4, 0.5): 0.92}, 4, 0.5),
        ({4: 0.90, 8: 0.90, 16: 0.90, (4, 0.0): 0.94, (4, 0.5): 0.90}, 4, 0.0),
    ],
)
def test_the_fewest_latents_and_strongest_alignment_near_the_best_score_win(known, n_latents, alignment):
    class KnownScores(Search):
        def scores(self, settings):
            names = {s: s.n_latents if s.alignment == 1 else (s.n_latents, s.alignment) for s in settings}
            return {setting: known.get(name, 0.0) for setting, name in names.items()}

    search = KnownScores(None, None, None)
    assert search.best_setting(Choices((16, 4, 8), (1.0, 0.5, 0.0))) == Setting(n_latents, alignment)
