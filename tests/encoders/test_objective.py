from dataclasses import replace

import pytest
import torch

from illume import Objective
from illume.encoders import losses
from illume.encoders.base import as_probabilities
from illume.encoders.batches import Batch
from illume.encoders.losses import OneHot, weighted_sum
from illume.encoders.networks import EncoderModel, MapNetwork, linear
from illume.encoders.targets import ClassTargets

ALL = Objective(lambda_so=1, lambda_g=1)
NUMERIC = OneHot(torch.zeros(4, dtype=torch.bool), 0)


def batch(n_classes, n=20):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, 4, generator=generator)
    P = torch.randn(n, n_classes, generator=generator).softmax(1)
    return Batch(X, P, torch.randn(n, 4, generator=generator))


def model(n_classes=2, rank=None):
    generator = torch.Generator().manual_seed(1)
    maps = MapNetwork(4, 3, generator, widths=(6, 8), rank=rank)
    return EncoderModel(maps, linear(3, 1 if n_classes == 2 else n_classes, generator))


def loss_terms(objective, net, data):
    return losses.loss_terms(objective, net, data, NUMERIC, 4, targets=ClassTargets(data.P.shape[1]))


@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_term_equals_its_own_function_on_the_batch(n_classes, rank):
    data, net = batch(n_classes), model(n_classes, rank)
    terms = loss_terms(ALL, net, data)
    W = losses.unit(net.maps(data.X))
    Z = torch.einsum("nkm,nm->nk", W, data.X)
    log = {
        name: losses.log_neighbours(D)
        for name, D in {
            "x": losses.cosine(data.X),
            "y": losses.cosine(data.P),
            "z": losses.cosine(Z),
            "w": losses.map_distances(W),
        }.items()
    }
    expected = {
        "x": losses.divergence(log["x"], log["z"]),
        "w": losses.divergence(log["z"], log["w"]),
        "y": losses.divergence(log["y"], log["z"]),
        "so": losses.orthogonality(W),
        "co": losses.collinearity(Z),
        "g": ClassTargets(n_classes).mimicry(net.head(Z), data.P),
    }
    assert terms.keys() == expected.keys() | {"st"}
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value, rtol=1e-4, atol=1e-6, msg=name)
    torch.testing.assert_close(weighted_sum(ALL, terms), torch.stack(list(terms.values())).sum())


def test_terms_of_weight_zero_are_left_out():
    nothing = dict.fromkeys(("lambda_x", "lambda_w", "lambda_y", "lambda_st", "lambda_co"), 0.0)
    terms = loss_terms(Objective(**nothing, lambda_g=1), model(), batch(2))
    assert terms.keys() == {"g"}
    terms = loss_terms(Objective(lambda_y=0, lambda_st=0), model(), batch(2))
    assert not {"y", "st"} & terms.keys()


def test_one_map_for_all_rows_has_neither_map_structure_nor_instability():
    terms = loss_terms(ALL, model(rank=0), batch(2))
    assert not {"w", "st"} & terms.keys()


def test_maps_are_the_same_whether_all_rows_or_some_have_a_direction():
    data, net = batch(2), model()
    few = replace(data, v=data.v[:5])
    a, b = (loss_terms(ALL, net, d) for d in (data, few))
    for name in a.keys() - {"st"}:
        torch.testing.assert_close(a[name], b[name])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_low_rank_maps_give_the_same_terms_and_gradients_by_their_factors_and_whole(n_classes):
    data, net = batch(n_classes), model(n_classes, rank=2)
    by_factors = Objective(lambda_w=0, lambda_g=1)
    whole = replace(by_factors, lambda_so=1.0)
    found = [loss_terms(objective, net, data) for objective in (by_factors, whole)]
    assert found[0].keys() == found[1].keys() - {"so"}
    sums = [weighted_sum(by_factors, {name: terms[name] for name in found[0]}) for terms in found]
    torch.testing.assert_close(*sums)
    parameters = list(net.parameters())
    for one, other in zip(*(torch.autograd.grad(each, parameters) for each in sums), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("co", {"lambda_co": 1, "lambda_so": 0, "lambda_y": 1, "lambda_st": 1, "alpha": None}),
        ("so", {"lambda_co": 0, "lambda_so": 1, "lambda_y": 1, "lambda_st": 1, "alpha": 2}),
    ],
)
def test_presets_are_the_papers(preset, expected):
    found = Objective.preset(preset)
    assert {name: getattr(found, name) for name in expected} == expected
    assert not found.joint


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lambda_y": -1.0}, "lambda_y must be a finite number >= 0, found -1.0"),
        ({"alpha": 0}, "alpha must be None or a positive integer"),
    ],
)
def test_meaningless_weights_raise(settings, words):
    with pytest.raises(ValueError, match=words):
        Objective(**settings)


def test_an_unknown_preset_raises_and_names_the_known_ones():
    with pytest.raises(ValueError, match=r"'best' is not known; choose one of \['co', 'joint'"):
        Objective.preset("best")


@pytest.mark.parametrize(
    ("y", "P"),
    [
        ([2, 5, 9, 5], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]),
        ([[0.2, 0.3, 0.5], [1, 0, 0]], [[0.2, 0.3, 0.5], [1, 0, 0]]),
        ([0.25, 0.5], [[0.75, 0.25], [0.5, 0.5]]),
        ([[0.25], [0.5]], [[0.75, 0.25], [0.5, 0.5]]),
    ],
    ids=["labels", "probabilities", "second of two classes", "the same as a column"],
)
def test_labels_and_probabilities_are_targets(y, P):
    assert as_probabilities(y).tolist() == P


@pytest.mark.parametrize(
    ("y", "words"),
    [([0.5, 7.25], "found 0.5 to 7.25"), ([[0.5, 0.6], [0.5, 0.5]], "rows that sum to 1")],
)
def test_other_targets_raise(y, words):
    with pytest.raises(ValueError, match=words):
        as_probabilities(y)
