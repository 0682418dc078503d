"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

if TYPE_CHECKING:
    from quickswap.model.system import System

__all__ = ["Scale", "chosen"]


@Parameter(name="*")
@dataclass(frozen=True)
class Scale:
    """Changes to the model."""

    rate: float | None = None
    """Total arrivals per second; scales all classes by one factor. By default the model's rate."""
    load: float | None = None
    """Load, instead of a rate: the share of the servers that the jobs occupy."""
    servers: int | None = None
    """Number of servers, instead of the model's."""


def chosen(model: str, scale: Scale | None) -> System:
    """Return the system of a preset or a file, changed as the options say.

    Raises:
        ModelError: the model is unknown or not valid, or the options do not suit it.
    """
    from quickswap.errors import ModelError
    from quickswap.model.files import load
    from quickswap.model.system import System

    system = load(model)
    if scale is None:
        return system
    if scale.rate is not None and scale.load is not None:
        raise ModelError("--rate and --load are both given: give one of them.")
    if scale.servers is not None:
        try:
            system = System(scale.servers, system.classes)
        except ModelError as error:
            raise ModelError(_with_hint(str(error), model, scale.servers, system)) from None
    if scale.rate is not None:
        system = system.with_rate(scale.rate)
    if scale.load is not None:
        system = system.with_load(scale.load)
    return system


def _with_hint(message: str, model: str, servers: int, system: System) -> str:
    """Return the message about a number of servers, with advice if they are too few."""
    least = max(system.needs)
    if not 1 <= servers < least:
        return message
    if model.partition(":")[0].strip() == "one-or-all":
        return (
            f"--servers is {servers}, and the heavy jobs of the model need {least}: give "
            f"one-or-all:k={servers} instead, in which heavy jobs need {servers}."
        )
    return f"--servers is {servers}, and a class of the model needs {least}: give {least} or more."
