import numpy as np

from illume.explanations.attributions import contributions, slopes


def test_slopes_equal_the_sum_over_latents():
    rng = np.random.default_rng(0)
    W, B = rng.normal(size=(5, 3, 4)), rng.normal(size=(2, 3))
    slow = np.zeros((5, 2, 4))
    for i in range(5):
        for j in range(4):
            for c in range(2):
                slow[i, c, j] = sum(B[c, r] * W[i, r, j] for r in range(3))
    np.testing.assert_allclose(slopes(W, B), slow)


def test_contributions_add_up_to_the_linear_score_of_the_latents():
    rng = np.random.default_rng(0)
    W, B, X = rng.normal(size=(5, 3, 4)), rng.normal(size=(2, 3)), rng.normal(size=(5, 4))
    Z = np.einsum("nkm,nm->nk", W, X)
    np.testing.assert_allclose(contributions(slopes(W, B), X).sum(2), Z @ B.T)
