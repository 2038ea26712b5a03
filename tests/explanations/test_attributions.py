import numpy as np

from illume.explanations.pullback import contributions


def test_contributions_add_up_to_the_linear_score_of_the_latents():
    rng = np.random.default_rng(0)
    W, B, X = rng.normal(size=(5, 3, 4)), rng.normal(size=(2, 3)), rng.normal(size=(5, 4))
    Z = np.einsum("nkm,nm->nk", W, X)
    np.testing.assert_allclose(contributions(B @ W, X).sum(2), Z @ B.T)
