"""Objects that show themselves in notebooks.

The display is built on everything else, and an object imports it when it is shown: this is the only
import against the order of the layers.
"""

from __future__ import annotations

__all__ = ["Shown"]


class Shown:
    """An object that a notebook shows with the tables of the command line."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from quickswap.display.notebook import html, page_of

        return html(page_of(self))
