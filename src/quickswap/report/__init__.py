"""Reports of replays of a log: one HTML page for readers who did not run them.

`data` sorts the replays by load; `groups`, `summary` and `cautions` compute the results; `charts`
and `gantt` are the figures. `page` renders the template `assets/report.html`, which contains the
text.
"""

from __future__ import annotations

from quickswap.report.page import write_report

__all__ = ["write_report"]
