"""Ten thousand rows of learned and exact explainers, in Node and Chromium, against Python and the model."""

import base64
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from illume import Explainer
from illume.report.explorer import ExplorerRequest, write_explorer
from tests.report import exact_models
from tests.report.browser import start_chromium
from tests.report.engine import (
    assert_equal,
    assert_rules_equal,
    assert_the_models_own,
    modules_in,
    needs_node,
    read_figures,
    run_script,
    write_payload,
)
from tests.report.explorer_fits import KINDS, fit, rows

pytestmark = [pytest.mark.explorer, needs_node]

N_ROWS = 10_000
AT_ONCE = 500
LOAD = """
const done = arguments[arguments.length - 1];
(async () => {
  const { loadEngine } = await import("/engine.js");
  window.figures = (await import("/everything.js")).figures;
  window.engine = await loadEngine(await (await fetch("/payload.json")).json());
})().then(() => done(null), (error) => done(String(error)));
"""
READ = """
const bytes = new Uint8Array(figures(engine, arguments[0], arguments[1]).buffer);
let text = "";
for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
return btoa(text);
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", params=[*KINDS, *(f"exact {kind}" for kind in exact_models.KINDS)])
def explored(request, tmp_path_factory):
    """An explainer, rows that it has not seen, and a folder with modules and payload."""
    if request.param.startswith("exact "):
        kind = request.param.removeprefix("exact ")
        model, X = exact_models.fit_model(kind, 2_000, trees=100, leaves=31)
        fitted = Explainer(model, verbose=False).fit(X).fitted_
        frame = fitted.as_frame(exact_models.edited(exact_models.rows(kind, N_ROWS, seed=2), N_ROWS))
    else:
        fitted = fit(request.param, 1_000, brief=False).fitted_.with_unknown("ignore")
        frame = fitted.as_frame(rows(request.param, N_ROWS, seed=1, m=30))
    folder = modules_in(tmp_path_factory.mktemp("explorer"))
    write_payload(fitted, frame, folder)
    return request.param, fitted, frame, folder


def _check(explored, numbers, where):
    kind, fitted, frame, _ = explored
    said = read_figures(numbers, fitted)
    errors = assert_equal(said, fitted, frame)
    assert_rules_equal(said, fitted, frame, step=1 if where == "Node" else 10)
    if fitted.twin.exact:
        errors["model"] = assert_the_models_own(said, fitted, frame)
    print(kind, where, {name: f"{error:.1e}" for name, error in errors.items()})  # noqa: T201


def test_node_equals_python(explored):
    folder = explored[3]
    run_script("run_engine.mjs", folder, folder / "payload.json", folder / "figures")
    _check(explored, np.fromfile(folder / "figures"), "Node")


def test_chromium_equals_python(explored):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(explored[3]))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        driver = start_chromium()
        try:
            driver.delete_network_conditions()  # the modules are served from this machine
            driver.set_script_timeout(120)
            driver.get(f"http://127.0.0.1:{server.server_port}/package.json")
            assert driver.execute_async_script(LOAD) is None
            parts = [driver.execute_script(READ, i, i + AT_ONCE) for i in range(0, N_ROWS, AT_ONCE)]
        finally:
            driver.quit()
            server.shutdown()
    _check(explored, np.frombuffer(b"".join(map(base64.b64decode, parts))), "Chromium")


def test_a_page_of_thirty_features_is_small(explored, tmp_path):
    """At most a megabyte beside the rows: a page of one row."""
    kind, fitted, frame, _ = explored
    settings = {"model": None, "verbose": False}
    page = tmp_path / "explorer.html"
    size = write_explorer(fitted, settings, frame.take(np.array([0])), ExplorerRequest(), page).stat().st_size
    print(kind, size)  # noqa: T201
    assert size < 1_000_000 or fitted.encoding.n_inputs > 30
