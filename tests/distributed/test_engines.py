"""Ray, Spark and Dask answer as this process does, and repeat the work of a process that dies."""

import os
import sys
from pathlib import Path

import pandas as pd
import pytest

from illume.distributed import explain_partition
from illume.errors import MissingExtraError, SchemaError
from tests.distributed.common import KINDS, Kills, assert_same, poisoned

MODULES = {"ray": ["ray", "ray.data"], "spark": ["pyspark", "pyspark.sql.pandas.types"], "dask": ["dask"]}
engines = pytest.mark.engines
pytestmark = pytest.mark.filterwarnings("ignore")


def explain(engine, rows, **options):
    module = __import__(f"illume.distributed.{engine}", fromlist=["explain"])
    return module.explain(rows, **options)


class Ray:
    name = "ray"

    def __init__(self):
        self.ray = pytest.importorskip("ray")
        self.ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    def rows(self, rows):
        return self.ray.data.from_pandas([rows[start : start + 15] for start in range(0, len(rows), 15)])

    def answer(self, rows, **options):
        return explain("ray", self.rows(rows), batch_rows=15, **options).to_pandas()

    def stop(self):
        self.ray.shutdown()


class Spark:
    name = "spark"

    def __init__(self):
        sql = pytest.importorskip("pyspark.sql")
        self.patch = pytest.MonkeyPatch()
        self.patch.setenv("PYSPARK_PYTHON", sys.executable)
        root = Path(__file__).parents[2]
        self.patch.setenv("PYTHONPATH", os.pathsep.join([str(root / "src"), str(root)]))
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "10",
        }
        builder = sql.SparkSession.builder.master("local[2,4]")  # two cores, four attempts
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()

    def rows(self, rows):
        return self.session.createDataFrame(rows).repartition(4)

    def answer(self, rows, **options):
        return explain("spark", self.rows(rows), **options).toPandas()

    def stop(self):
        self.session.stop()
        self.patch.undo()


class Dask:
    name = "dask"

    def __init__(self):
        distributed = pytest.importorskip("distributed")
        self.cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        self.client = distributed.Client(self.cluster)

    def rows(self, rows):
        import dask.dataframe as dd

        return dd.from_pandas(rows, npartitions=4)

    def answer(self, rows, **options):
        explained = explain("dask", self.rows(rows), **options)
        found = explained.compute()
        assert explained.dtypes.equals(found.dtypes)
        return found

    def stop(self):
        self.client.close()
        self.cluster.close()


@pytest.fixture(scope="module", params=[Ray, Spark, Dask], ids=lambda kind: kind.name)
def engine(request):
    engine = request.param()
    yield engine
    engine.stop()


@engines
@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_answers_as_this_process_does(kind, engine, rows, expected, given):
    found = engine.answer(rows, kind=kind, **given)
    assert_same(found, expected(kind))
    if engine.name == "dask":
        pd.testing.assert_index_equal(found.index, expected(kind).index)


@engines
def test_an_engine_repeats_the_work_of_a_process_that_dies(engine, files, loan_model, tmp_path):
    rows, mark = poisoned(60), tmp_path / "mark"
    given = {"explainer": files[0], "keep": ["key"]}
    found = engine.answer(rows, model=Kills(loan_model, mark), **given)
    assert mark.exists()
    assert_same(found, explain_partition(rows, model=loan_model, **given))


@engines
def test_an_explainer_itself_can_be_given_and_options_reach_it(engine, rows, loan_explainer):
    options = {"keep": ["key"], "float32": True, "standard_errors": True}
    found = engine.answer(rows, explainer=loan_explainer, **options)
    assert_same(found, explain_partition(rows, loan_explainer, **options))


@engines
def test_an_empty_spark_frame_has_the_same_columns(engine, rows, given):
    if engine.name != "spark":
        pytest.skip("partitions without rows are tested with explain_partition")
    df = engine.rows(rows)
    some, none = explain("spark", df, **given), explain("spark", df.limit(0), **given)
    assert some.schema == none.schema
    assert none.count() == 0


@engines
def test_a_missing_column_is_named(engine, rows, given):
    if engine.name == "ray":
        pytest.skip("rows are looked at when they are explained")
    with pytest.raises(SchemaError, match="column 'income' is missing"):
        explain(engine.name, engine.rows(rows.drop(columns="income")), **given)


@pytest.mark.parametrize("name", MODULES)
def test_an_engine_that_is_not_installed_names_its_extra(name, given, monkeypatch):
    for package in MODULES[name]:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"illume\[{name}\]"):
        explain(name, None, **given)
