"""Latents are the surrogate's view of rows: the same alone or in a batch, with every encoder."""

import numpy as np
import pandas as pd
import pytest

from illume import Explainer, Training
from illume.results.latents import Plane
from tests.common import FAST, global_explainer, grouped, linear_black_box, loans, use_local


@pytest.fixture(scope="module")
def latents(loan_explainer):
    return loan_explainer.latents(loans(40, seed=2), maps=True)


@pytest.fixture(scope="module")
def wide():
    """Rows of NumPy and a black box that nothing but products decides."""
    X = np.random.default_rng(0).normal(size=(120, 5))
    return X, lambda rows: 1 / (1 + np.exp(-6 * rows[:, 0] * rows[:, 1]))


@pytest.fixture(scope="module", params=["meta", "linear", "identity", "fell back"])
def explainer(request, wide):
    X, model = wide
    if request.param == "fell back":  # nothing local can beat the global surrogate on its own kind
        options = {"training": Training(max_epochs=1), "n_latents": 1}
        return Explainer(linear_black_box([1, 2, 0, 0, 1]), **grouped(queries=0, **options)).fit(X)
    options = {"queries": 100, "n_latents": 3, "training": FAST}
    fitted = Explainer(model, **grouped(encoder=request.param, **options)).fit(X)
    if (
        fitted.fit_latents().quality_.surrogate.fell_back
    ):  # one map for all is no better here; look at it all the same
        use_local(fitted)
    return fitted


def test_latents_are_the_maps_times_the_inputs_and_levels_for_every_encoder(explainer, wide):
    found = explainer.latents(wide[0], maps=True)
    assert found.maps.shape == (120, found.n_latents, 5)
    pair = explainer.fitted_.pair
    levels = pair.encoder.pull_back(found.X, pair.surrogate.coef_, at=np.zeros_like(found.X)).Z
    assert levels.any() == (explainer.surrogate_options.encoder == "meta" and pair is explainer.fitted_.local)
    np.testing.assert_allclose(found.Z, np.einsum("nkm,nm->nk", found.maps, found.X) + levels, atol=1e-6)
    np.testing.assert_allclose(found.decide(found.Z), found.surrogate_decisions)


def test_where_the_global_surrogate_explains_latents_are_the_inputs(explainer, wide):
    found = explainer.latents(wide[0][:10], maps=True)
    if explainer.surrogate_options.encoder == "identity" or explainer.surrogate_options.n_latents == 1:
        np.testing.assert_array_equal(found.Z, found.X)
        np.testing.assert_array_equal(found.maps[3], np.eye(5))
        assert found.names == ("x0", "x1", "x2", "x3", "x4")
    else:
        assert found.names == ("z1", "z2", "z3")
        shared = np.allclose(found.maps[0], found.maps[1])
        assert shared == (explainer.surrogate_options.encoder == "linear")


def test_the_explainer_that_should_fall_back_does(explainer):
    fell_back = explainer.fit_latents().quality_.surrogate.fell_back
    assert explainer.surrogate_options.n_latents != 1 or fell_back


def test_a_row_alone_is_the_row_in_a_batch_and_has_the_same_place(explainer, wide):
    X = wide[0]
    batch, alone = explainer.latents(X, maps=True), explainer.latents(X[7:8], maps=True)
    for name in ("Z", "X", "maps", "plane", "probabilities", "surrogate_probabilities"):
        np.testing.assert_allclose(getattr(alone, name), getattr(batch, name)[7:8], atol=1e-6)
    np.testing.assert_allclose(batch[[7, 3]].plane, batch.plane[[7, 3]])


def test_chunks_of_rows_change_nothing(explainer, wide, monkeypatch):
    whole = explainer.latents(wide[0], maps=True)
    monkeypatch.setattr("illume.explanations.fitted.BATCH_ROWS", 50)
    monkeypatch.setattr("illume.data.threads.row_chunks.__defaults__", (7,))
    pieces = explainer.latents(wide[0], maps=True)
    for name in ("Z", "X", "maps", "probabilities"):
        np.testing.assert_allclose(getattr(pieces, name), getattr(whole, name), atol=1e-6)


def test_slopes_and_scores_are_those_of_the_attributions(loan_explainer, latents):
    attributions = loan_explainer(loans(40, seed=2))
    agreed = attributions.agreed
    np.testing.assert_array_equal(latents.agreed, agreed)
    log_odds = np.log(attributions.probabilities[:, 1] / attributions.probabilities[:, 0])
    np.testing.assert_allclose(attributions.scores, log_odds, rtol=1e-6)
    i = int(np.flatnonzero(agreed)[0])
    np.testing.assert_allclose(latents[i].slopes[0], attributions[i].slopes, rtol=1e-5)
    row = latents[i]
    level = latents.coefficients @ (row.z - row.map @ row.x)
    np.testing.assert_allclose(latents.intercept + row.contributions.sum(1) + level, row.scores)


def test_a_row_reads_like_the_batch_it_is_from(latents):
    row = latents[5]
    np.testing.assert_array_equal(row.z, latents.Z[5])
    np.testing.assert_array_equal(row.map, latents.maps[5])
    assert row.decision == latents.class_names[latents.decisions[5]]
    assert row.decision in repr(row)
    assert f"{latents.names[2]}  {row.z[2]:+.3f}" in repr(row)
    assert [one.decision for one in latents][5] == row.decision


def test_maps_come_only_when_asked_for(loan_explainer):
    found = loan_explainer.latents(loans(5, seed=2))
    assert found.maps is None
    assert found[:2].maps is None
    assert "without maps" in repr(found)
    with pytest.raises(
        ValueError, match=r"there are no maps; ask for them by explainer.latents\(X, maps=True\)"
    ):
        found[0].map  # noqa: B018


def test_a_frame_of_latents_has_the_rows_own_index(loan_explainer):
    rows = loans(6, seed=2).set_index(pd.Index(list("abcdef")))
    found = loan_explainer.latents(rows)
    frame = found.to_frame()
    assert list(frame.index) == list("abcdef")
    np.testing.assert_array_equal(frame[list(found.names)], found.Z)
    assert set(frame["decision"]) <= {"grant", "refuse"}


def test_a_column_that_is_called_like_a_figure_keeps_its_name():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["decision", "b"])
    model = linear_black_box([1, 1])
    found = global_explainer(model).fit(X).latents(X)
    frame = found.to_frame()
    np.testing.assert_array_equal(frame["decision"], found.X[:, 0])
    assert set(frame["decision_"]) <= {"0", "1"}


def test_no_rows_have_no_latents(loan_explainer):
    none = loan_explainer.latents(loans(5)[:0], maps=True)
    assert none.Z.shape == (0, none.n_latents)
    assert none.plane.shape == (0, 2)
    assert len(none.to_frame()) == 0
    assert repr(none).startswith("Latents of 0 rows")


def test_latents_can_be_streamed(loan_explainer):
    rows = loans(20, seed=2)
    pieces = list(loan_explainer.stream(rows, 8, kind="latents", maps=True))
    assert [len(piece) for piece in pieces] == [8, 8, 4]
    np.testing.assert_allclose(
        np.concatenate([p.Z for p in pieces]), loan_explainer.latents(rows).Z, atol=1e-6
    )


def test_the_plane_of_two_latents_is_the_latents_and_of_one_a_line():
    Z = np.array([[1.0, 2.0], [3.0, 5.0]])
    np.testing.assert_array_equal(Plane.fit(Z)(Z), Z)
    np.testing.assert_array_equal(Plane.fit(Z[:, :1])(Z[:, :1]), [[1.0, 0.0], [3.0, 0.0]])


def test_the_plane_of_many_latents_shows_the_two_widest_directions_by_the_same_sign():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 4)) * [0.1, 3.0, 0.1, 2.0] + 7.0
    plane = Plane.fit(Z)
    np.testing.assert_allclose(np.abs(plane.directions).argmax(1), [1, 3])
    assert (plane.directions[[0, 1], [1, 3]] > 0).all()
    assert plane.share.sum() > 0.99
    np.testing.assert_allclose(plane(Z).mean(0), 0.0, atol=1e-9)
    np.testing.assert_allclose(Plane.fit(Z[::-1])(Z), plane(Z), atol=1e-9)


def test_an_output_that_does_not_exist_is_named_with_those_that_do(
    latents, three_class_explainer, three_class
):
    with pytest.raises(ValueError, match=r"'grant' is not known; choose one of .*opposite sign"):
        latents.output("grant")
    several = three_class_explainer.latents(three_class[1][:3])
    assert several.output("mid") == several.output(1) == several.output(-2) == 1
    with pytest.raises(ValueError, match="output 3 is not known; choose one of"):
        several.output(3)
