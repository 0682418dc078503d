"""Objects that show themselves in notebooks.

The display and the figures are built on everything else, and an object imports them when it is
shown: these are the only imports against the order of the layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

__all__ = ["Plotted", "Shown", "plotted"]


class Shown:
    """An object that a notebook shows with the tables of the command line."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from quickswap.display.notebook import html, page_of

        return html(page_of(self))


def plotted(
    found: object,
    ax: Axes | None,
    metric: str = "weighted",
    x: str | None = None,
    model: Any = None,
) -> Axes:
    """Draw an object on axes, by default new ones, and return them."""
    from quickswap.plotting.objects import draw_object

    return draw_object(found, ax, metric, x, model)


class Plotted:
    """Results of many points, with a line for each policy."""

    __slots__ = ()

    def plot(
        self,
        ax: Axes | None = None,
        *,
        metric: str = "weighted",
        x: str | None = None,
        model: Any = None,
    ) -> Axes:
        """Draw a metric of each policy on Matplotlib axes, by default new ones; return them.

        `plotting.plot_store` describes `metric`, `x` and `model`, and draws several panels.

        Raises:
            QuickswapError: a name is unknown, there are several models, or nothing to draw.
        """
        return plotted(self, ax, metric, x, model)
