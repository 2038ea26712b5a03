"""The code on README and on the pages of the documentation runs, from top to bottom of each."""

import ast
import inspect
import re
from dataclasses import fields

import pytest

import illume
from illume import metrics
from tests.blocks import QUICK, ROOT, blocks, pages, prepared, run
from tests.common import FAST, grouped

WITH_CODE = [page for page in pages() if blocks(page.read_text())]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NAMES = {page: str(page.relative_to(ROOT)) for page in pages()}


def with_little_work(code):
    """Return the code with few queries and small models."""
    code = re.sub(r"(queries(?:=|\": ))[\d_]+", r"\g<1>300", code)
    code = re.sub(r"(RandomForest\w+\()(?!\d|.*n_estimators)", r"\1n_estimators=10, ", code)
    return re.sub(r"(HistGradientBoosting\w+\()(?!.*max_iter)", r"\1max_iter=10, ", code)


@pytest.fixture(scope="module")
def names():
    return prepared()


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Make settings that a page does not choose small ones, and write files to a folder that goes away."""
    monkeypatch.chdir(tmp_path)
    short = {"n_latents": 2, "training": FAST}
    defaults = [short.get(field.name, field.default) for field in fields(illume.SurrogateOptions)]
    monkeypatch.setattr(illume.SurrogateOptions.__init__, "__defaults__", tuple(defaults))
    start = inspect.unwrap(illume.Explainer.__init__)
    monkeypatch.setattr(start, "__kwdefaults__", start.__kwdefaults__ | grouped(**QUICK))


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::PendingDeprecationWarning",
    "ignore::FutureWarning",
    "ignore:.*(Any type hint is inferred|An input example was not provided):UserWarning",
)  # of other packages
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("page", WITH_CODE, ids=NAMES.get)
def test_every_block_of_a_page_runs(page, names, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    assert run(page, dict(names), with_little_work)
    plt.close("all")
    if page.name == "README.md":
        assert "held-out rows" in capsys.readouterr().out


def test_few_blocks_are_left_out():
    left_out = [block for page in pages() for block in blocks(page.read_text()) if block.skip]
    assert len(left_out) <= 3


@pytest.mark.parametrize("page", pages(), ids=NAMES.get)
def test_pictures_and_pages_that_a_page_names_are_there(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    linked = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    made = [path for path in linked if path.startswith(("gallery/", "../gallery/"))]
    assert [path for path in linked if path not in made and not (page.parent / path).is_file()] == []
    examples = ROOT / "examples"
    for path in made:
        name = path.rpartition("/")[2].removesuffix(".md")
        assert name == "index" or (examples / f"{name}.py").is_file()


def anchors(page):
    """Return what the headings of a page are called in links."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", pages(), ids=NAMES.get)
def test_headings_that_a_page_links_to_are_there(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    linked = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text)
    files = [((page.parent / path) if path else page, anchor) for path, anchor in linked]
    kept = [each for each in files if each[0].parent.name not in ("gallery", "reference")]  # made by tools
    assert [anchor for path, anchor in kept if anchor not in anchors(path)] == []


def test_every_option_of_a_command_that_a_guide_names_is_one():
    typer = pytest.importorskip("typer")
    from illume.cli.app import app

    commands = typer.main.get_command(app).commands.items()
    known = {
        name: {word for one in each.params for word in one.opts + one.secondary_opts}
        for name, each in commands
    }
    every = set().union(*known.values(), {"--help", "--install-completion"})
    for page in [ROOT / "README.md", *(ROOT / "docs" / "guides").glob("*.md")]:
        text = page.read_text().replace("\\\n", " ")
        assert set(re.findall(r"`(--[a-z][a-z-]*)", text)) <= every
        for name, line in re.findall(r"\billume ([a-z]+)\b([^`\n#|]*)", text):
            given = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line))
            assert name not in known or given <= known[name], (page.name, line)


def test_every_public_name_is_in_the_reference():
    text = "\n".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"^::: illume\.(\S+)", text, flags=re.MULTILINE))
    names = {name for name in illume.__all__ if name not in ("distributed", "errors", "plots")}
    names |= {f"distributed.{name}" for name in illume.distributed.__all__}
    names |= {f"metrics.{name}" for name in metrics.__all__}
    names |= {f"plots.{name}" for name in illume.plots.__all__}
    assert names - shown == set()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_prints_or_draws_something(example):
    source = example.read_text()
    title, _, intro = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    assert title.endswith(".")
    assert intro.strip()
    assert "print(" in source
    assert "# %%" in source


@pytest.mark.slow  # `make docs` runs them, too
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of other packages
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_with_the_library_alone(example, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    if "import shap" in example.read_text():
        pytest.importorskip("shap")
    source = with_little_work(example.read_text())
    assert not re.search(r"^(from|import) (tests|benchmarks|tools)\b", source, flags=re.MULTILINE)
    exec(compile(source, example.name, "exec"), {"__name__": "__main__"})
    plt.close("all")
    assert capsys.readouterr().out
