"""Files that are damaged, cut off, foreign, newer, or made to harm: all are refused, with a reason."""

import json
import re
import warnings
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load, save

from benchmarks import mutated_files
from illume.data.archive import VERSION
from tests.io.common import change_arrays, forged, members_of, zipped


def test_mutated_files_are_refused_or_what_they_were():
    outcomes, events = mutated_files.load_mutated(300, seed=1, forgeries=200)
    assert not events
    for kind, outcome in outcomes.items():
        assert not outcome.wrong, kind
        assert not outcome.crashes, (kind, outcome.crashes)
        assert outcome.refused > 10


def test_files_of_other_kinds_are_named(refused):
    refused(b"", "expected an illume file")
    refused(b"\x80\x04\x95 pickle", "an illume file, which is a zip; found one that starts with")
    refused(zipped([("data.pkl", b"x")]), "a zip, but not an illume file")
    refused(zipped([("manifest.json", b'{"format": "other"}')]), "does not say so")
    refused(zipped([("manifest.json", b"[]")]), "does not say so")
    refused(zipped([("manifest.json", b"{")]), "not valid JSON")
    refused(zipped([("manifest.json", b"[" * 100_000)]), "not valid JSON")
    refused(zipped([("manifest.json", b'{"format": 1, "format": 2}')]), "appears twice")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (VERSION + 1, f"(format {VERSION + 1}; this version reads {VERSION}); update illume to read it"),
        (VERSION - 1, f"written by another version of illume (format {VERSION - 1}; "),
        (0, "fit and save the explainer again with this version"),
        ("1", "(format '1'; "),
        (True, "(format True; "),
    ],
)
def test_newer_and_impossible_versions_are_told(small_file, refused, version, said):
    refused(forged(small_file, lambda manifest: manifest.update(version=version)), re.escape(said))


def test_a_file_cut_off_anywhere_is_refused(small_file, refused):
    content = small_file.read_bytes()
    for share in (0.01, 0.3, 0.7, 0.999):
        refused(content[: int(share * len(content))], "damaged or cut off")


def test_a_changed_manifest_or_member_is_told_by_name(small_file, refused):
    content = small_file.read_bytes()
    members, comment = members_of(small_file)
    changed = {**members, "manifest.json": members["manifest.json"].replace(b'"exact"', b'"index"')}
    refused(zipped(changed.items(), comment), "manifest.json was changed")
    for name in ("model.safetensors", "rows.safetensors", "pool.json"):
        refused(zipped({**members, name: members[name][:-1] + b"~"}.items(), comment), f"{name} was changed")
        refused(
            zipped({**members, name: members[name][:-1]}.items(), comment), f"{name} has .* bytes, expected"
        )
    refused(zipped(members.items()), "hash of the manifest is missing")
    at = content.index(b"sha256:", len(content) - 200) + 10
    refused(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], "manifest.json was changed")


def test_members_that_do_not_belong_are_refused(small_file, refused):
    members, comment = members_of(small_file)
    items = list(members.items())
    refused(zipped([*items, ("../../evil", b"x")], comment), "no plain name")
    refused(zipped([*items, ("/etc/evil", b"x")], comment), "no plain name")
    refused(zipped([*items, ("more.txt", b"x")], comment), r"not those of the manifest: \['more.txt'\]")
    refused(zipped(items[:-1], comment), "not those of the manifest")
    refused(zipped([(f"m{i}", b"") for i in range(40)]), "40 members")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused(zipped([*items, items[-1]], comment), "same name")


def test_a_bomb_is_refused_before_it_unpacks(small_file, refused):
    members, comment = members_of(small_file)
    bomb = {**members, "rows.safetensors": bytes(50_000_000)}
    refused(zipped(bomb.items(), comment, zipfile.ZIP_DEFLATED), "compressed, which illume files never are")


def test_sizes_that_a_file_cannot_have_are_refused(small_file, refused):
    content = bytearray(small_file.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    for field in (20, 24):  # the sizes of the last member, compressed and not
        content[at + field : at + field + 4] = (2**31).to_bytes(4, "little")
    refused(bytes(content), "larger than the file|damaged")


MODEL, ROWS = "model.safetensors", "rows.safetensors"


@pytest.mark.parametrize(
    ("member", "name", "change", "said"),
    [
        (MODEL, "surrogate.coef", lambda a: a.astype(np.float32), "holds float32, expected float64"),
        (MODEL, "surrogate.coef", lambda a: a[:, :1], "has shape"),
        (MODEL, "surrogate.coef", lambda a: a * np.nan, "NaN or infinity"),
        (MODEL, "encoding.scale", lambda a: -a, "must be positive"),
        (MODEL, "tree.children_left", lambda a: a * 0, "do not form a tree"),
        (MODEL, "tree.children_left", lambda a: np.where(a >= 0, 10**9, a), "do not form a tree"),
        (MODEL, "tree.feature", lambda a: a + 10**6, "do not form a tree"),
        (MODEL, "tree.answers", lambda a: a[:-1], "has shape"),
        (MODEL, "tree.spread", lambda a: a - 1, "negative spreads"),
        (MODEL, "tree.support", lambda a: a - 10**6, "negative spreads or numbers of rows"),
        (MODEL, "encoder.0.maps.layers.0.weight", lambda a: np.zeros((4, 4), np.float32), "has shape"),
        (MODEL, "encoder.0.bins.column", lambda a: a + 10**6, "must lie from 0 to"),
        (MODEL, "encoder.0.bins.low", lambda a: a[:-1], "has shape"),
        (MODEL, "encoder.0.bins.steepness", lambda a: 0 * a, "must be above 0"),
        (ROWS, "training.answers", lambda a: a * 3, "no answers of a model"),
        (ROWS, "training.numbers", lambda a: a[:-1], "shape|rows"),
        (ROWS, "training.position", lambda a: a - 10**6, "must lie from"),
        (ROWS, "polishing.answers", lambda a: a - 2, "no answers of a model"),
        (ROWS, "pool.values", lambda a: a.astype(np.int64), "holds int64"),
        (ROWS, "places.anchors", lambda a: a[:, :2].copy(), "shape|anchors"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_though_their_hashes_do(  # noqa: PLR0917
    small_file, refused, member, name, change, said
):
    refused(forged(small_file, change_member=change_arrays(member, name, change)), said)


def test_arrays_that_nobody_asked_for_are_refused(small_file, refused):
    def more(content):
        return save({**load(content), "more": np.zeros(3)})

    refused(forged(small_file, change_member=(MODEL, more)), "unexpected arrays .*more")


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (["encoders", 0, "kind"], "os.system", "is of kind 'os.system', which is not known"),
        (["encoders", 0, "settings", "n_latents"], 10**9, "n_latents"),
        (["encoders", 0, "settings", "objective", "Objective", "width"], 10**12, "width"),
        (["encoders", 0, "alpha"], 99, "alpha is 99"),
        (["encoders", 0, "bins"], 10**12, "has shape"),
        (["encoders", 0, "bins"], None, "bins is None, expected int"),
        (["encoders"], [], "encoders and latent do not go together"),
        (["latent"], None, "encoders and latent do not go together"),
        (["latent", "quality", "n_latents"], "many", "n_latents is 'many', expected int"),
        (["kind"], "shap", "kind is 'shap'"),
        (["twin", "kind"], "model", "twin is 'model'"),
        (["twin", "kind"], "trees", "twin is 'trees', with categories of 0 features"),
        (["twin", "kind"], "learned", "shapley.center is missing|there is no|missing"),
        (["twin", "least"], "much", "twin.least is 'much', expected float"),
        (["settings", "effort"], {"__reduce__": "x"}, "kind '__reduce__', which is not known"),
        (["settings", "effort"], {"Training": {}}, "settings.effort holds"),
        (["settings", "more"], 1, "no settings"),
        (["schema", "features", 0, "kind"], "complex", "expected one of"),
        (["schema", "features", 0, "name"], "x1", "every feature once"),
        (["outputs", "names"], ["one"], "1 classes"),
        (["outputs", "names"], "ab", "expected a list of texts"),
        (["outputs", "task"], "ranking", "task is 'ranking'"),
        (["columns"], ["x9"], "not those of the schema"),
        (["facts", "n_training"], "many", "facts.n_training is 'many', expected int"),
        (["facts", "report", "agreement"], None, "expected float"),
        (["missing"], [True], "1 entries"),
        (["rows", "held"], 5, "rows, expected 5"),
        (["unknown"], "maybe", "unknown is 'maybe'"),
        (["reference"], -1, "expected a number of rows"),
        (["reference"], 2**70, "too large"),
        (["rules", "encoder"], 7, "rules.encoder is 7"),
        (["transposed", MODEL], [1], "expected str"),
        (["backend"], "spark", "backend is 'spark'"),
    ],
)
def test_values_that_do_not_fit_are_refused_though_their_hash_does(small_file, refused, where, value, said):
    def change(manifest):
        *path, last = where
        for step in path:
            manifest = manifest[step]
        manifest[last] = value

    refused(forged(small_file, change), said)


def test_a_name_that_the_manifest_lacks_is_told(small_file, refused):
    refused(forged(small_file, lambda manifest: manifest.pop("facts")), "manifest holds")


def test_the_manifest_is_plain_json_with_versions_schema_settings_and_quality(small, small_file):
    members, comment = members_of(small_file)
    manifest = json.loads(members["manifest.json"])
    assert manifest["format"] == "illume"
    assert manifest["version"] == VERSION
    assert set(manifest["libraries"]) >= {"illume", "numpy", "torch", "scikit-learn"}
    assert [feature["name"] for feature in manifest["schema"]["features"]] == ["x0", "x1", "x2"]
    assert manifest["settings"]["queries"] == small.queries
    assert manifest["facts"]["n_training"] == small.quality_.n_training
    assert manifest["latent"]["quality"]["report"]["agreement"] == small.quality_.surrogate.agreement
    assert set(manifest["members"]) == {"model.safetensors", "pool.json", "rows.safetensors"}
    assert comment.startswith(f"illume {VERSION} sha256:".encode())
