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
from tests.io.common import ARRAYS, change_arrays, forged, members_of, zipped


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
    refused(zipped({**members, ARRAYS: members[ARRAYS][:-1] + b"~"}.items(), comment), "arrays.* was changed")
    short = {**members, ARRAYS: members[ARRAYS][:-1]}
    refused(zipped(short.items(), comment), "arrays.* has .* bytes, expected")
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
    bomb = {**members, ARRAYS: bytes(50_000_000)}
    refused(zipped(bomb.items(), comment, zipfile.ZIP_DEFLATED), "compressed, which illume files never are")


def test_sizes_that_a_file_cannot_have_are_refused(small_file, refused):
    content = bytearray(small_file.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    for field in (20, 24):  # the sizes of the last member, compressed and not
        content[at + field : at + field + 4] = (2**31).to_bytes(4, "little")
    refused(bytes(content), "larger than the file|damaged")


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("latent.coef", lambda a: a.astype(np.int64), "holds int64, expected floating"),
        ("latent.coef", lambda a: a[:, :1].copy(), "coef has shape"),
        ("latent.coef", lambda a: a * np.nan, "NaN or infinity"),
        ("encoding.scale", lambda a: -a, "must be above 0"),
        ("rules.tree.children_left_", lambda a: a * 0, "two children or none"),
        ("rules.tree.children_left_", lambda a: np.where(a >= 0, 10**9, a), "must be the child"),
        ("rules.tree.feature_", lambda a: a + 10**6, "asks about a latent that is none"),
        ("rules.answers", lambda a: a[:-1], "has shape"),
        ("rules.spread", lambda a: a - 1, "spread must lie from 0"),
        ("rules.support", lambda a: a - 10**6, "support must lie from 0"),
        ("latent.encoder.weights.layers.0.weight", lambda a: np.zeros((4, 4), np.float32), "have the shapes"),
        ("latent.encoder.bins.column", lambda a: a + 10**6, "column must lie from 0 to below 3"),
        ("latent.encoder.bins.low", lambda a: a[:-1], "has shape"),
        ("latent.encoder.bins.steepness", lambda a: 0 * a, "must be above 0"),
        ("rows.training.P", lambda a: a * 3, "no answers of a model"),
        ("rows.training.numbers", lambda a: a[:-1], "has shape"),
        ("rows.position", lambda a: a - 10**6, "must lie from"),
        ("rules.polishing.P", lambda a: a - 2, "no answers of a model"),
        ("rows.pool.frame.values", lambda a: a.astype(np.int64), "holds int64"),
        ("rows.places.anchors", lambda a: a[:, :2].copy(), "anchors has shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_though_their_hashes_do(small_file, refused, name, change, said):
    refused(forged(small_file, change_member=change_arrays(name, change)), said)


def test_arrays_that_nobody_asked_for_are_refused(small_file, refused):
    def more(content):
        return save({**load(content), "more": np.zeros(3)})

    refused(forged(small_file, change_member=(ARRAYS, more)), "unexpected arrays .*more")


ENCODER = ["latent", "encoder", "encoder"]


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (ENCODER, {"os.system": {}}, "is of kind 'os.system', which is not known"),
        ([*ENCODER, "MetaEncoder", "n_latents"], 10**9, "n_latents"),
        ([*ENCODER, "MetaEncoder", "n_latents"], "many", "n_latents is 'many'"),
        ([*ENCODER, "MetaEncoder", "task"], "ranking", "task is 'ranking'"),
        ([*ENCODER, "MetaEncoder", "objective", "Objective", "width"], 10**12, "width"),
        (["latent", "encoder", "alpha"], 99, "alpha is 99"),
        (["latent", "coef"], None, "latent.coef is None, expected str"),
        (["latent", "coef"], "latent.intercept", "latent.intercept is missing"),
        (["latent"], None, "rules without a latent surrogate"),
        (["latent", "quality", "n_latents"], "many", "n_latents is 'many', expected int"),
        (["kind"], "shap", "kind is 'shap'"),
        (["twin"], {"Model": {}}, "twin is of kind 'Model', which is not known"),
        (["settings", "effort"], {"__reduce__": "x"}, "kind '__reduce__', which is not known"),
        (["settings", "effort"], {"Training": {}}, "settings.effort holds"),
        (["settings", "more"], 1, "no settings"),
        (["settings", "data_options"], 1, "settings.data_options is 1"),
        (["schema", "features", 0, "kind"], "complex", "expected one of"),
        (["schema", "features", 0, "name"], "x1", "every feature once"),
        (["outputs", "names"], ["one"], "1 classes"),
        (["outputs", "names"], "ab", "expected a list of texts"),
        (["outputs", "task"], "ranking", "task is 'ranking'"),
        (["columns"], ["x9"], "not those of the schema"),
        (["facts", "n_training"], "many", "facts.n_training is 'many', expected int"),
        (["facts", "n_training"], 5, "rows of 5"),
        (["facts", "report", "agreement"], None, "expected float"),
        (["encoding", "unknown"], "maybe", "unknown is 'maybe'"),
        (["reference", "n_rows"], -1, "n_rows or shares"),
        (["reference", "n_rows"], 2**70, "too large"),
        (["rows"], None, "neighbours without rows"),
        (["transposed"], [1], "expected str"),
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
    refused(forged(small_file, lambda manifest: manifest.pop("facts")), "manifest holds .* expected")


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
    assert set(manifest["members"]) == {ARRAYS}
    assert comment.startswith(f"illume {VERSION} sha256:".encode())
