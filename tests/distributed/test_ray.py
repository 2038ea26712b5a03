import pytest

from illume.distributed import WorkerError
from illume.distributed.plan import files_of, split
from tests.distributed.common import KINDS, KillsOnce, assert_same, poisoned
from tests.distributed.dying import Dies
from tests.distributed.files import Files

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def blocks(ray, rows):
    return ray.data.from_pandas([rows[start : start + 15] for start in range(0, len(rows), 15)])


@pytest.mark.parametrize("kind", KINDS)
def test_ray_answers_as_this_process_does(kind, ray, rows, expected, given):
    from illume.distributed.ray import explain

    explained = explain(blocks(ray, rows), kind=kind, batch_rows=15, **given)
    assert_same(explained.to_pandas(), expected(kind))


def test_ray_explains_a_dead_actors_rows_again_and_shows_progress(ray, files, loan_model, tmp_path):
    from illume.distributed import explain_partition
    from illume.distributed.ray import explain

    rows, mark = poisoned(60), tmp_path / "mark"
    given = {"explainer": files[0], "keep": ["key"]}
    model = KillsOnce(loan_model, mark)
    explained = explain(blocks(ray, rows), model=model, batch_rows=15, **given).materialize()
    assert mark.exists()
    assert "MapBatches(Explained)" in explained.stats()  # what its progress bars show
    assert_same(explained.to_pandas(), explain_partition(rows, model=loan_model, **given))


class TestFiles(Files):
    @pytest.fixture
    def engine(self, ray):
        return "ray"


def test_a_ray_task_that_always_dies_is_given_up(ray, source):
    from illume.distributed import RayTasks

    (part,) = split(files_of(source), 10, 1)[3:4]
    with pytest.raises(WorkerError, match=r"rows 30 to 39 of the source, in .*1\.parquet, died more often"):
        RayTasks(retries=1)(Dies("dies"), [part], lambda n: None)
