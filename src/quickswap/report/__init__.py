"""Tells people what replays of a log have found: one HTML page, its figures and its words.

`page` puts the parts together; each part is a module that takes what is `Told` and returns markup.
"""

from __future__ import annotations

from quickswap.report.page import write_report

__all__ = ["write_report"]
