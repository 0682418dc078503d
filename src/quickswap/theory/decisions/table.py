"""A table of decisions as a custom policy, in native code if Numba is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quickswap.engine.compiled import compiled
from quickswap.errors import PolicyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quickswap.engine.custom import View
    from quickswap.model.system import System

__all__ = ["TablePolicy"]


@compiled
class TablePolicy:
    """A policy that looks its decisions up by the numbers of jobs in service and waiting.

    More waiting jobs of a class than the table has count as the most it has.

    Args:
        name: for tables and messages.
        system: whose servers and needs the decisions are for.
        services: the sets of jobs in service, one per row.
        limits: most waiting jobs of each class in the table.
        table: the class that starts, or -1, by set and by numbers waiting in the order of C.
    """

    remembers_order = False

    def __init__(
        self,
        name: str,
        system: System,
        services: NDArray[np.int64],
        limits: NDArray[np.int64],
        table: NDArray[np.int8],
    ) -> None:
        self.name = name
        self.servers, self.needs = system.servers, system.needs
        self.limits = limits
        self.table = table.ravel()
        box = limits + 1
        self.strides = np.array([np.prod(box[i + 1 :], dtype=np.int64) for i in range(len(box))])
        most = services.max(axis=0) + 1
        self.radix = np.array([np.prod(most[i + 1 :], dtype=np.int64) for i in range(len(most))])
        self.rows = np.zeros(np.prod(most), dtype=np.int64)
        self.rows[services @ self.radix] = np.arange(len(services)) * np.prod(box)

    def check(self, system: System) -> None:
        """Raise an error if the system has other servers or needs."""
        if (system.servers, system.needs) != (self.servers, self.needs):
            raise PolicyError(
                f"{self.name} is for {self.servers} servers and needs "
                f"{', '.join(map(str, self.needs))}, not for {system.servers} servers and needs "
                f"{', '.join(map(str, system.needs))}",
                argument="policy",
                given=self.name,
                advice="compute the optimum of this system",
            )

    def start(self, view: View) -> int | None:
        served = 0
        for cls in range(len(self.radix)):
            served += view.running[cls] * self.radix[cls]
        place = self.rows[served]
        for cls in range(len(self.limits)):
            place += min(view.waiting[cls], self.limits[cls]) * self.strides[cls]
        answer = self.table[place]
        if answer < 0:
            return None
        return int(answer)

    def save(self) -> list[int]:
        """Return the state of the policy: it has none."""
        return []

    def restore(self, state: list[int]) -> None:
        """Restore the state of the policy: it has none."""
