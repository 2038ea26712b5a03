"""The explorer beside the model itself, and several of them on one page."""

import json

import pytest

from illume.report.assemble import STATIC, STYLES, bundle, modules
from tests.report.common import data_of
from tests.report.explorer_page import ExplorerPage, answers_of, share

pytestmark = pytest.mark.browser

PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Live</title><style>{style}</style>
<body class="explorer"><main id="explorer"></main>
<script id="data" type="application/json">{data}</script><script>{script}</script>"""

# A model of its own: it is asked about rows, counts that, and answers as `respond` says
MODEL = """
window.asked = []; window.waiting = [];
window.respond = (rows) => rows.map(() => [0.25, 0.75]);
window.live = { ask(rows) { window.asked.push(rows); return new Promise((done, fail) => {
  window.waiting.push(() => { try { done(window.respond(rows)); } catch (error) { fail(error); } });
  if (!window.slow) window.waiting.pop()();
}); } };
"""


@pytest.fixture
def build(page, folder, loan_explorer):
    """Return a function that opens the page of a script, which has `createExplorer` and `payload`."""

    def open_page(start):
        code = bundle(modules("explorer"))
        assert code.endswith("})();\n")
        code = code.removesuffix("})();\n") + "window.createExplorer = createExplorer; })();"
        style = "".join((STATIC / name).read_text("utf-8") for name in (*STYLES, "explorer.css"))
        data = json.dumps(data_of(loan_explorer)).replace("<", "\\u003c")
        head = f"{MODEL}{code}window.payload = JSON.parse(document.getElementById('data').textContent);"
        path = folder / "live.html"
        path.write_text(PAGE.format(style=style, data=data, script=f"{head}{start}"), "utf-8")
        return ExplorerPage(page.driver).open(path)

    return open_page


@pytest.fixture
def view(build):
    return build("createExplorer(document.getElementById('explorer'), payload, {live});")


def test_the_models_answer_leads_and_what_the_page_says_stands_beside_it(view, loan_explainer, loan_frame):
    assert "The model itself is connected" in view.find(".twin-note").text
    view.go(3)
    view.slide("age", 30)
    names, at = loan_explainer.fitted_.outputs.names, loan_explainer.fitted_.outputs.at
    view.until(lambda: view.find(".answer-cell strong").text == names[1] and "differs" in view.cells[-1][-1])
    changed = loan_frame.iloc[[3]].assign(age=30)
    own = answers_of(loan_explainer, changed)[0, at]
    theirs = [0.25, 0.75][at]
    assert view.cells[0][-1].startswith(f"{share(theirs)} for {names[at]}")
    text = view.cells[-1][-1]
    assert text.startswith(f"{share(own)} for {names[at]}; it differs by ")
    off = float(text.split("differs by ")[1].split(" ")[0].replace("−", "-"))
    assert off == pytest.approx(100 * (own - theirs), abs=0.06)


def test_rows_are_asked_once_the_hand_rests_and_only_once(view):
    view.until(lambda: view.run("window.asked.length") > 0)
    view.until(lambda: view.found)
    view.until(lambda: not view.texts(".found .unconfirmed"))
    before = view.run("window.asked.length")
    for age in range(30, 45):
        view.slide("age", age)
    view.until(lambda: view.run("window.asked.length") > before)
    rows = view.run(f"window.asked.slice({before}).flat().map((row) => JSON.stringify(row))")
    assert len(rows) == len(set(rows)) <= 6


def test_an_answer_that_comes_late_is_not_shown_for_another_row(view, loan_explainer):
    names = loan_explainer.fitted_.outputs.names
    view.until(lambda: view.found and view.run("window.asked.length") > 0)
    view.run("(() => { window.slow = true; window.respond = (rows) => rows.map(() => [0.99, 0.01]); })()")
    view.slide("age", 30)
    view.until(lambda: view.run("window.waiting.length") == 1)
    view.slide("age", 60)
    view.run(
        "(() => { window.waiting.shift()(); window.slow = false;"
        "window.respond = (rows) => rows.map(() => [0.01, 0.99]); })()"
    )
    view.until(lambda: view.run("window.waiting.length") == 0 and view.model_says[1] == names[1])
    view.slide("age", 30)
    view.until(lambda: view.model_says[1] == names[0])  # what was answered before is kept for its row


def test_a_failure_is_said_plainly_and_tried_again_after_the_next_change(view, loan_explainer):
    names = loan_explainer.fitted_.outputs.names
    view.until(lambda: view.model_says[1] == names[1])
    view.run("(() => { window.respond = () => { throw new Error('the service is down'); }; })()")
    view.slide("age", 31)
    view.until(lambda: "no answer" in view.cells[-1])
    assert "The model could not be asked: the service is down" in view.cells[-1]
    view.run("(() => { window.respond = (rows) => rows.map(() => [0.3]); })()")
    view.slide("age", 32)
    view.run("(() => { window.respond = (rows) => rows.map(() => [0.3, 0.7]); })()")
    view.slide("age", 33)
    view.until(lambda: view.model_says[1] == names[1])


@pytest.mark.parametrize("decided", [0, 1])
def test_the_model_confirms_a_flip_or_does_not(decided, view, loan_explainer):
    names = loan_explainer.fitted_.outputs.names
    view.until(lambda: view.found)
    share_of_last = 0.1 + 0.8 * decided
    view.run(f"(() => {{ respond = (rows) => rows.map(() => [1 - {share_of_last}, {share_of_last}]); }})()")
    view.slide("age", 40)
    follows = decided != names.index(view.find(".answer-cell strong").text)
    words = "Confirmed by the model" if follows else "The model does not follow"
    view.until(
        lambda: view.texts(".found > li > p") and all(t.startswith(words) for t in view.texts(".found p"))
    )


def test_two_explorers_on_one_page_leave_each_other_alone(build):
    view = build("""
        window.heard = [];
        const main = document.getElementById("explorer");
        const style = document.querySelector("style").textContent;
        window.roots = [0, 1].map(() => {
          const root = main.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
          root.appendChild(document.createElement("style")).textContent = style;
          return root;
        });
        const onRow = (i) => ({ row }) => window.heard.push([i, row]);
        const made = window.roots.map((root, i) => createExplorer(root, payload, { onRow: onRow(i) }));
        Promise.all(made).then((both) => {
          window.both = both;
          main.insertAdjacentHTML("beforeend", "<div class=what-if><h2>ready</h2></div>");
        });""")
    texts = "window.roots.map((root) => root.querySelector('.what-if h2').textContent)"
    first, second = view.run(texts)
    assert first == second
    view.run("window.both[1].state.load(5)")
    view.run("window.roots[0].querySelectorAll('[role=tab]')[1].click()")
    view.frame()
    assert view.run(texts) == [first, "Row 5"]
    hidden = view.run("window.roots.map((root) => root.querySelector('.rows-panel').hidden)")
    assert hidden == [False, True]
    assert view.run("window.roots[0].querySelectorAll('#table tbody tr').length") == 20
    assert view.run("window.heard.at(-1)") == [1, 5]
    card = "getComputedStyle(window.roots[0].querySelector('.answer')).backgroundColor"
    assert view.run(card) == "rgb(255, 255, 255)"
    assert view.errors == []
