"""The readable twin: a plain-Python reference engine, written from the definitions of the policies
alone.

It shares no code with the core, holds no clever data structure, and looks at the whole state from
scratch whenever it decides, so a reader can check it by eye. It is slow, and it is the judge
of the core.

>>> from twin import check, run
>>> schedule = run(2, [1, 2], {"name": "fcfs"}, [(0.0, 0, 3.0), (0.0, 1, 1.0), (1.0, 0, 1.0)])
>>> schedule.start, schedule.end, schedule.order
([0.0, 3.0, 4.0], [3.0, 4.0, 5.0], [0, 1, 2])
>>> check(schedule)
"""

from twin.checks import check
from twin.engine import EndlessError, Schedule, Snapshot, run
from twin.predictions import Predictions

__all__ = ["EndlessError", "Predictions", "Schedule", "Snapshot", "check", "run"]
