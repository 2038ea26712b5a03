from dataclasses import replace

import pytest
import torch
from illume.encoders.sparsity import normalised

from illume import Objective
from illume.encoders import distances, losses
from illume.encoders.networks import ConstantMap, MetaNetwork, head
from illume.encoders.objective import Batch, loss_terms, slopes, total
from illume.encoders.training import Model

ALL = Objective(lambda_so=1, lambda_g=1, lambda_e=1, lambda_n=1, lambda_py=1, lambda_pn=1)
DENSE = distances.Columns(torch.zeros(4, dtype=torch.bool), 0)


def batch(n_classes, n=20):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, 4, generator=generator)
    P = torch.randn(n, n_classes, generator=generator).softmax(1)
    return Batch(X, P, torch.randn(n, 4, generator=generator))


def model(n_classes=2, constant=False):
    generator = torch.Generator().manual_seed(1)
    maps = ConstantMap(4, 3, generator) if constant else MetaNetwork(4, 3, generator)
    return Model(maps, head(3, n_classes, generator), constant)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_term_equals_its_own_function_on_the_batch(n_classes):
    data, net = batch(n_classes), model(n_classes)
    terms = loss_terms(ALL, net, data, DENSE, 4)
    W, _ = normalised(net.maps(data.X))
    Z = torch.einsum("nkm,nm->nk", W, data.X)
    B = net.head.weight
    B = B - B.mean(0) if n_classes > 2 else B
    psi = torch.einsum("ck,nkm->ncm", B, W)
    phi = psi * data.X[:, None, :]
    log = {
        name: losses.log_neighbours(D)
        for name, D in {
            "x": distances.cosine(data.X),
            "y": distances.cosine(data.P),
            "z": distances.cosine(Z),
            "w": distances.maps(W),
            "psi": distances.cosine(psi.flatten(1)),
            "phi": distances.cosine(phi.flatten(1)),
        }.items()
    }
    near = losses.nearest(distances.cosine(data.X), data.P.argmax(1))
    expected = {
        "x": losses.divergence(log["x"], log["z"]),
        "w": losses.divergence(log["z"], log["w"]),
        "y": losses.divergence(log["y"], log["z"]),
        "so": losses.orthogonality(W),
        "co": losses.collinearity(Z),
        "g": losses.mimicry(net.head(Z), data.P),
        "e": losses.divergence(log["y"], log["psi"]),
        "n": losses.neighbour_spread(psi.flatten(1), near),
        "py": losses.divergence(log["y"], log["phi"]),
        "pn": losses.neighbour_spread(phi.flatten(1), near),
    }
    assert terms.keys() == expected.keys() | {"st"}
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value, rtol=1e-4, atol=1e-6, msg=name)
    torch.testing.assert_close(total(ALL, terms), torch.stack(list(terms.values())).sum())


def test_terms_of_weight_zero_are_left_out():
    nothing = dict.fromkeys(("lambda_x", "lambda_w", "lambda_y", "lambda_st", "lambda_co"), 0.0)
    terms = loss_terms(Objective(**nothing, lambda_g=1), model(), batch(2), DENSE, 4)
    assert terms.keys() == {"g"}


def test_one_map_for_all_rows_has_neither_map_structure_nor_instability():
    terms = loss_terms(ALL, model(constant=True), batch(2), DENSE, 4)
    assert not {"w", "st"} & terms.keys()


def test_maps_are_the_same_whether_all_rows_or_some_have_a_direction():
    data, net = batch(2), model()
    few = replace(data, v=data.v[:5])
    a, b = (loss_terms(ALL, net, d, DENSE, 4) for d in (data, few))
    for name in a.keys() - {"st"}:
        torch.testing.assert_close(a[name], b[name])


def test_what_all_classes_share_does_not_count_as_a_slope():
    W, B = torch.randn(2, 3, 4), torch.randn(3, 3)
    torch.testing.assert_close(slopes(W, B), slopes(W, B + 7.0), rtol=1e-3, atol=1e-4)


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


def test_ablations_are_plain_parameters():
    terms = loss_terms(Objective(lambda_y=0, lambda_st=0), model(), batch(2), DENSE, 4)
    assert not {"y", "st"} & terms.keys()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lambda_y": -1.0}, "lambda_y must be a finite number >= 0, found -1.0"),
        ({"alpha": 0}, "alpha must be at least 1"),
        ({"lambda_e": 1.0}, "need lambda_g > 0"),
    ],
)
def test_weights_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Objective(**settings)


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'best' is not known; choose one of \['aligned', 'co'"):
        Objective.preset("best")
