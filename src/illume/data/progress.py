"""Progress bars: widgets in notebooks that can show them; plain text elsewhere, without a warning."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("ipywidgets") is None:  # tqdm.auto would warn in a notebook
    from tqdm import tqdm
else:
    from tqdm.auto import tqdm

__all__ = ["tqdm"]
