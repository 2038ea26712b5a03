"""Memory does not grow with the rows that are read."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

FILE_ROWS = 50_000
CODE = """
import itertools, json, resource, sys
import numpy as np
from illume import DataOptions, Explainer, SurrogateOptions

def model(rows):
    return 1 / (1 + np.exp(-(rows["x0"] * rows["x1"]).to_numpy()))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

few, many = sys.argv[1:]
settings = dict(
    surrogate_options=SurrogateOptions(encoder="identity"),
    data_options=DataOptions(row_budget=2_000),
    queries=1_000,
    verbose=False,
)
small = Explainer(model, **settings).fit(few)
for _ in itertools.islice(small.stream(few, chunk_rows=20_000), 2):
    pass
before = peak()
large = Explainer(model, **settings).fit(many)
fitted = peak()
pieces = itertools.islice(large.stream(many, chunk_rows=20_000), 8)
n_rows = sum(len(piece) for piece in pieces)
print(json.dumps([fitted - before, peak() - fitted, large.quality_.sampling.n_rows, n_rows]))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """100,000 and 1,500,000 rows of 10 columns, which would take 8 and 120 MB."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(FILE_ROWS, 10)), columns=[f"x{j}" for j in range(10)])
    paths = []
    for n in (2, 30):
        paths.append(tmp_path_factory.mktemp(f"files-{n}"))
        rows.to_parquet(paths[-1] / "0.parquet", row_group_size=25_000)
        for i in range(1, n):
            shutil.copy(paths[-1] / "0.parquet", paths[-1] / f"{i}.parquet")
    return paths


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the most memory that was used")
@pytest.mark.slow
def test_reading_fifteen_times_the_rows_takes_no_more_memory(folders):
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, folders)], capture_output=True, text=True, check=True
    )
    fitting, explaining, n_rows, n_explained = json.loads(done.stdout)
    assert (n_rows, n_explained) == (30 * FILE_ROWS, 160_000)
    assert fitting < 30  # megabytes
    assert explaining < 30
