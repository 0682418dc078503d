"""All experiments by name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from quickswap.errors import QuickswapError, shown, unknown
from quickswap.reproduction import beyond, draining, paper
from quickswap.reproduction.experiment import Effort, Experiment

__all__ = ["EXPERIMENTS", "Chosen", "chosen"]

EXPERIMENTS = {each.name: each for each in (*paper.FIGURES, *beyond.FIGURES, *draining.FIGURES)}
"""The paper's figures in its order, then those beyond it."""


REMEMBERED = ("effort", "version")
"""What a file of an experiment holds beside the record."""
Chosen = dict[str, tuple[Experiment, Effort | None]]
"""Experiments by name, each with the effort that its file asks for."""


def chosen(names: Iterable[str]) -> Chosen:
    """Return experiments; "all" is all, a file with JSON that `reproduce` wrote is its own.

    Raises:
        QuickswapError: an unknown name, or a file that is something else.
    """
    found: Chosen = {}
    for name in names:
        if name == "all":
            found |= {each: (record, None) for each, record in EXPERIMENTS.items()}
        elif name.endswith(".json"):
            try:
                text = Path(name).read_text(encoding="utf-8")
            except OSError as error:
                raise QuickswapError(f"{name} cannot be read ({error.strerror}).") from None
            except UnicodeDecodeError:
                raise QuickswapError(f"{name} cannot be read: it is not UTF-8 text.") from None
            record, more = Experiment.from_json(text)
            for key in more:
                if key not in REMEMBERED:
                    unknown(f"key in {name}", key, REMEMBERED, QuickswapError)
            found[record.name] = record, _effort(name, more)
        elif name in EXPERIMENTS:
            found[name] = EXPERIMENTS[name], None
        else:
            unknown("figure", name, ("all", *EXPERIMENTS), QuickswapError)
    return found


def _effort(name: str, more: dict[str, Any]) -> Effort | None:
    if "effort" not in more:
        return None
    try:
        return Effort(**more["effort"])
    except TypeError:
        raise QuickswapError(
            f"the effort in {name} is {shown(more['effort'])}; it must have jobs and precision."
        ) from None
