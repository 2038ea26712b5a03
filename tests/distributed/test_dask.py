import pandas as pd
import pytest

from illume.distributed import DaskTasks, WorkerError
from illume.distributed.plan import files_of, split
from tests.distributed.common import KINDS, KillsOnce, assert_same, poisoned
from tests.distributed.dying import Dies
from tests.distributed.files import Files

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("kind", KINDS)
def test_dask_answers_as_this_process_does(kind, cluster, rows, expected, given):
    import dask.dataframe as dd

    from illume.distributed.dask import explain

    explained = explain(dd.from_pandas(rows, npartitions=4), kind=kind, **given)
    found = explained.compute()
    assert_same(found, expected(kind))
    assert explained.dtypes.equals(found.dtypes)
    pd.testing.assert_index_equal(found.index, expected(kind).index)


def test_dask_does_a_dead_workers_partition_again_and_shows_progress(cluster, files, loan_model, tmp_path):
    import dask.dataframe as dd

    from illume.distributed import explain_partition
    from illume.distributed.dask import explain

    rows, mark = poisoned(60), tmp_path / "mark"
    before = set(cluster.scheduler_info()["workers"])
    given = {"explainer": files[0], "keep": ["key"]}
    explained = explain(
        dd.from_pandas(rows, npartitions=4), model=KillsOnce(loan_model, mark), **given
    ).persist()
    names = {str(key[0] if isinstance(key, tuple) else key) for key in cluster.futures}
    assert any("explain" in name for name in names)  # what its progress bars show
    found = explained.compute()
    assert mark.exists()
    assert set(cluster.scheduler_info()["workers"]) != before
    assert_same(found, explain_partition(rows, model=loan_model, **given))


class TestFiles(Files):
    @pytest.fixture
    def engine(self, cluster):
        return DaskTasks(cluster)


def test_a_dask_task_that_always_dies_is_given_up(cluster, source):
    (part,) = split(files_of(source), 10, 1)[3:4]
    with pytest.raises(WorkerError, match=r"rows 30 to 39 .*1\.parquet, died more often .*allowed-failures"):
        DaskTasks()(Dies("dies"), [part], lambda n: None)
