"""The numbers that the core counts in a row, read by the names that the core gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap.engine._core import CLASS_COLUMNS, METRICS, PHASE_COLUMNS, SYSTEM_COLUMNS

__all__ = ["METRICS", "Columns"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of counters: the columns of each class, then of the system, then of the phases.

    Attributes:
        rows: (rows, numbers of a row).
        classes: number of classes.
    """

    rows: Floats
    classes: int

    def of_classes(self, *names: str) -> Floats:
        """Return columns of each class: (rows, classes, names), without the last axis for one."""
        width = len(CLASS_COLUMNS)
        table = self.rows[:, : self.classes * width].reshape(len(self.rows), self.classes, width)
        places = [CLASS_COLUMNS.index(name) for name in names]
        found: Floats = table[..., places[0]] if len(places) == 1 else table[..., places]
        return found

    def with_all(self) -> Columns:
        """Return columns with one more class, last: all of them together."""
        width = self.classes * len(CLASS_COLUMNS)
        table = self.rows[:, :width].reshape(len(self.rows), self.classes, -1)
        rows = [self.rows[:, :width], table.sum(axis=1), self.rows[:, width:]]
        return Columns(np.concatenate(rows, axis=1), self.classes + 1)

    def of_system(self, name: str) -> Floats:
        """Return a column of the system: (rows)."""
        return self.rows[:, self.classes * len(CLASS_COLUMNS) + SYSTEM_COLUMNS.index(name)]

    def of_phases(self) -> Floats:
        """Return count, sum and sum of squares of each phase: (rows, phases, PHASE_COLUMNS)."""
        rest = self.rows[:, self.classes * len(CLASS_COLUMNS) + len(SYSTEM_COLUMNS) :]
        return rest.reshape(len(rest), -1, len(PHASE_COLUMNS))
