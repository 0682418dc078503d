"""Systems as text and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quickswap._tables import Page, TextTable
from quickswap._words import counted, load_words

if TYPE_CHECKING:
    from quickswap.model.system import System

__all__ = ["extremes", "heading", "system_page", "where"]


def heading(model: str, system: System) -> str:
    """Return a model in words: its servers, classes, rate and load."""
    return (
        f"{model}: {counted(system.servers, 'server')}, {counted(len(system.classes), 'class')}, "
        f"{counted(system.arrival_rate, 'arrival', '.6g')} per second, "
        f"load {load_words(system.load)}"
    )


def where(system: System) -> list[str]:
    """Return the cells of the columns "load" and "rate"."""
    return [load_words(system.load), f"{system.arrival_rate:.4g}"]


def extremes(system: System) -> tuple[int, int]:
    """Return the positions of the classes with the smallest and the largest need."""
    needs = system.needs
    return needs.index(min(needs)), needs.index(max(needs))


def system_page(system: System, model: str = "system") -> Page:
    """Return the classes of a system, its load and its capacity."""
    shares = zip(system.classes, system.job_shares, system.load_shares, strict=True)
    rows = [
        [
            str(each.name),
            str(each.need),
            f"{each.arrival_rate:.6g}",
            each.size.kind,
            f"{each.size.mean:.6g}",
            f"{each.size.scv:.4g}",
            f"{100 * jobs:.4g}%",
            f"{100 * load:.4g}%",
        ]
        for each, jobs, load in shares
    ]
    rows.append(["all", "", f"{system.arrival_rate:.6g}", "", "", "", "100%", "100%"])
    columns = ["class", "need", "rate", "size", "mean size", "scv", "jobs", "load"]
    arrivals = [each.arrivals.process for each in system.classes]
    ratios = [each.estimate for each in system.classes]
    estimates = [f"{each.kind}, mean {each.mean:.6g}" if each else "exact" for each in ratios]
    for name, cells, usual in (
        ("arrivals", arrivals, "poisson"),
        ("estimate / size", estimates, "exact"),
    ):
        if set(cells) != {usual}:
            columns.append(name)
            rows = [[*row, cell] for row, cell in zip(rows, [*cells, ""], strict=True)]
    servers, classes = counted(system.servers, "server"), counted(len(system.classes), "class")
    load = load_words(system.load, 6)
    return [
        f"{model}: {servers}, {classes}",
        "",
        TextTable(columns, rows),
        "",
        f"load      {load}   share of the servers that the jobs occupy",
        f"capacity  {system.capacity:.6g}   arrivals per second; some policy is stable below it",
    ]
