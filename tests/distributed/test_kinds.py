"""The columns of attributions: which contributions they are and, if wanted, a standard error for each."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from illume import Explainer
from illume.distributed import explain_parquet, explain_partition, output_schema
from tests.common import FAST


@pytest.fixture(scope="module")
def explainer(three_class):
    model, X = three_class
    settings = {"n_latents": 2, "queries": 2_000, "effort": "quick", "training": FAST, "verbose": False}
    return Explainer(model, **settings).fit(X)


@pytest.mark.parametrize("classes", ["decided", "all"])
@pytest.mark.parametrize("float32", [False, True])
def test_standard_errors_stand_in_columns_of_their_own(explainer, three_class, classes, float32):
    X = three_class[1].head(20)
    options = {"classes": classes, "float32": float32, "standard_errors": True}
    found, result = explain_partition(X, explainer, **options), explainer(X)
    assert list(found.columns) == output_schema(explainer, **options).names
    assert set(found["kind"]) == {"shapley"}
    errors = result.standard_errors[:, 1]
    assert np.isfinite(errors).all()
    if classes == "all":
        columns = found[[f"b (standard error)[{name}]" for name in result.class_names]]
        np.testing.assert_allclose(columns, errors, rtol=1e-6)
    else:
        wanted = errors[np.arange(20), result.decisions]
        np.testing.assert_allclose(found["b (standard error)"], wanted, rtol=1e-6)
        total = found["base_value"] + found[list("abcd")].sum(axis=1)
        np.testing.assert_allclose(total, result.scores[np.arange(20), result.decisions], rtol=1e-4)


def test_without_being_asked_for_they_are_not_there(explainer, three_class):
    found = explain_partition(three_class[1].head(3), explainer)
    assert not [name for name in found.columns if "standard error" in name]


def test_values_are_refined_where_that_is_wanted(explainer, three_class):
    X = three_class[1].head(5)
    found = explain_partition(X, explainer, classes="all", refine=12)
    wanted = explainer(X, refine=12).values.reshape(5, -1)
    names = [f"{name}[{output}]" for name in "abcd" for output in explainer.class_names_]
    np.testing.assert_array_equal(found[names], wanted)


def test_files_have_them_too(explainer, three_class, tmp_path):
    three_class[1].to_parquet(tmp_path / "rows.parquet")
    explain_parquet(
        tmp_path / "rows.parquet",
        tmp_path / "out",
        explainer,
        standard_errors=True,
        workers=0,
        verbose=False,
    )
    found = pq.read_table(tmp_path / "out").to_pandas()
    assert found["a (standard error)"].gt(0).all()
    assert set(found["kind"].astype(str)) == {"shapley"}
