"""Frames that are hard to show, and reading a report back."""

import base64
import html
import json
import re
import zlib

import numpy as np

from tests.common import loans

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
LONG = "a name that goes on and on " * 8
CLASSES = ["<b>no</b>", "yes & amen"]
DATE = "2026-01-31"


def odd_frame(n=120):
    """Names, categories and labels that look like HTML, are very long, or of other alphabets."""
    frame = loans(n).rename(columns={"education": SCRIPT})
    frame[SCRIPT] = frame[SCRIPT].replace({"high": IMAGE})
    frame[LONG] = np.arange(n) * 1e7 + 0.5
    frame["größe 身長"] = np.random.default_rng(0).normal(size=n)
    frame.index = [f"customer {i:03d} </script><!--" for i in range(n)]
    return frame


def odd_model(frame):
    score = frame["income"].fillna(30).to_numpy() + 10 * (frame[SCRIPT] == IMAGE).to_numpy()
    p = 1 / (1 + np.exp(-(score - 0.3 * frame["age"].to_numpy() - 20) / 5))
    return np.column_stack([1 - p, p])


def data_of(path):
    """Return what the page's script reads."""
    return data_in(path.read_text("utf-8"))


def data_in(page):
    """Return what the script of a page reads."""
    kind, text = re.search(r'<script type="([^"]*)" id="data">(.*?)</script>', page, re.S).groups()
    if kind == "text/plain":
        text = zlib.decompress(base64.b85decode(text.encode().translate(bytes.maketrans(b",.:", b"&<>"))))
    return json.loads(text)


def numbers(packed):
    """Read packed numbers as the page's script does."""
    return np.frombuffer(base64.b64decode(packed["text"]), np.dtype("<" + packed["type"])) * packed["unit"]


def text_of(path):
    """Return the text that the file itself holds, as a reader sees it."""
    page = path.read_text("utf-8")
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))
