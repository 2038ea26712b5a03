"""Outputs that README and the guides show are what their code prints with the pinned versions.

Run by `make test-outputs`: the code runs with the settings on the page, which takes minutes.
"""

import io
import re
from itertools import zip_longest

import pytest

from tests.blocks import ROOT, outputs, pages, prepared, run_printing

SHOWN = [page for page in pages() if outputs(page.read_text())]
NUMBER = re.compile(r"[-+−]?\d[\d,]*\.?\d*")
# A number may differ by this share, or by two units of its last digit: other processors round otherwise.
TOLERANCE, LAST_DIGITS = 0.02, 2


def numbers(line):
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(line)]


def words(line):
    """Return a line without its numbers, bars and spacing, and without the seconds that a fit took."""
    line = re.sub(r"; [\d.,]+ s$", "", line)
    return " ".join(NUMBER.sub("0", re.sub("[█▒]+", "", line)).split())


def last_digit(text):
    """Return what one unit of the last digit of a printed number is.

    >>> last_digit("1,250"), last_digit("0.25")
    (1.0, 0.01)
    """
    return 10.0 ** -len(text.partition(".")[2])


def alike(shown, printed):
    """Whether a line says the same as a printed one.

    >>> alike("age  70  +0.989 ± 0.176  ███", "age  70  +0.990 ± 0.175  ██")
    True
    >>> alike("age  70  +0.989", "age  70  +1.10"), alike("age  70", "income  70")
    (False, False)
    """
    if words(shown) != words(printed):
        return False
    units = [last_digit(found) for found in NUMBER.findall(shown)]
    seconds = bool(re.search(r"; [\d.,]+ s$", shown))
    pairs = list(zip(units, numbers(shown), numbers(printed), strict=True))[: -1 if seconds else None]
    return all(abs(a - b) <= max(LAST_DIGITS * unit, TOLERANCE * abs(a)) for unit, a, b in pairs)


def find(shown, printed):
    """Return the line after the first place where all shown lines stand in a row, None if there is none.

    >>> find(["b 1", "…", "d"], ["a", "b 1", "c", "d", "e"])
    4
    """
    for start in range(len(printed)):
        line = start
        for i, each in enumerate(shown):
            if each.strip() == "…":
                rest = find(shown[i + 1 :], printed[line:]) if shown[i + 1 :] else 0
                return None if rest is None else line + rest
            if line >= len(printed) or not alike(each, printed[line]):
                break
            line += 1
        else:
            return line
    return None


def describe(shown, printed):
    lines = (f"{a or '':60} | {b or ''}" for a, b in zip_longest(shown, printed))
    return "shown on the page | printed now\n" + "\n".join(lines)


@pytest.mark.outputs
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of other packages
@pytest.mark.parametrize("page", SHOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_its_code_prints(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plt = pytest.importorskip("matplotlib.pyplot")
    printed = []
    for text in run_printing(page, prepared()):
        if isinstance(text, io.StringIO):
            printed += text.getvalue().splitlines()
            continue
        end = find(text, printed)
        assert end is not None, describe(text, printed)
        printed = printed[end:]
    plt.close("all")
