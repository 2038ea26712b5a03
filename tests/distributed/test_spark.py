import os
import sys
from pathlib import Path

import pytest

from illume import SchemaError
from illume.distributed import WorkerError
from illume.distributed.plan import files_of, split
from tests.distributed.common import KINDS, KillsOnce, assert_same, poisoned
from tests.distributed.dying import Dies
from tests.distributed.files import Files

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)
    root = Path(__file__).parents[2]
    patch.setenv("PYTHONPATH", os.pathsep.join([str(root / "src"), str(root)]))
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10",
    }
    builder = sql.SparkSession.builder.master("local[2,4]")  # two cores, four attempts
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    patch.undo()


@pytest.mark.parametrize("kind", KINDS)
def test_spark_answers_as_this_process_does(kind, spark, rows, expected, given):
    from illume.distributed.spark import explain

    explained = explain(spark.createDataFrame(rows).repartition(4), kind=kind, **given)
    assert_same(explained.toPandas(), expected(kind))


def test_spark_does_a_dead_processes_task_again_and_shows_progress(spark, files, loan_model, tmp_path):
    from illume.distributed import explain_partition
    from illume.distributed.spark import explain

    rows, mark = poisoned(60), tmp_path / "mark"
    given = {"explainer": files[0], "keep": ["key"]}
    spark.sparkContext.setJobGroup("illume", "explaining")
    found = explain(
        spark.createDataFrame(rows).repartition(4), model=KillsOnce(loan_model, mark), **given
    ).toPandas()
    assert mark.exists()
    tracker = spark.sparkContext.statusTracker()
    stages = [
        tracker.getStageInfo(stage)
        for job in tracker.getJobIdsForGroup("illume")
        for stage in tracker.getJobInfo(job).stageIds
    ]
    assert any(stage is not None and stage.numFailedTasks == 1 for stage in stages)  # what it shows
    assert_same(found, explain_partition(rows, model=loan_model, **given))


def test_an_empty_data_frame_has_the_same_columns(spark, rows, given):
    from illume.distributed.spark import explain

    df = spark.createDataFrame(rows)
    some, none = explain(df, **given), explain(df.limit(0), **given)
    assert some.schema == none.schema
    assert none.count() == 0


def test_a_column_that_is_missing_is_named_before_any_work(spark, rows, given):
    from illume.distributed.spark import explain

    with pytest.raises(SchemaError, match="no column 'income'"):
        explain(spark.createDataFrame(rows.drop(columns="income")), **given)


class TestFiles(Files):
    @pytest.fixture
    def engine(self, spark):
        return "spark"


def test_a_spark_task_that_always_dies_is_given_up(spark, source):
    from illume.distributed import SparkTasks

    (part,) = split(files_of(source), 10, 1)[3:4]
    with pytest.raises(WorkerError, match=r"rows 30 to 39 .*1\.parquet, died more often .*maxFailures"):
        SparkTasks(spark)(Dies("dies"), [part], lambda n: None)
