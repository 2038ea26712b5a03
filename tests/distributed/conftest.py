import joblib
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from illume.distributed import explain_partition
from tests.distributed.common import keyed, write_files


@pytest.fixture(scope="session")
def files(loan_explainer, loan_model, tmp_path_factory):
    """An explainer's file and its model's."""
    folder = tmp_path_factory.mktemp("distributed")
    loan_explainer.save(folder / "loans.illume", rules=True)
    joblib.dump(loan_model, folder / "loans.joblib")
    return folder / "loans.illume", folder / "loans.joblib"


@pytest.fixture(scope="session")
def given(files):
    """What every engine is given beside the rows and the kind."""
    path, model = files
    return {"explainer": path, "model": model, "trust_model": True, "keep": ["key"]}


@pytest.fixture(scope="session")
def rows():
    return keyed(60)


@pytest.fixture(scope="session")
def expected(rows, given):
    """Answers in this process, by kind."""

    def answer(kind, frame=rows, **options):
        return explain_partition(frame, kind=kind, **{**given, **options})

    return answer


@pytest.fixture
def source(rows, tmp_path):
    """A folder of two files of three row groups each, and one that is marked to be left out."""
    folder = write_files(tmp_path / "rows", rows)
    pq.write_table(pa.table({"nothing": [1]}), folder / "_aside.parquet")
    return folder
