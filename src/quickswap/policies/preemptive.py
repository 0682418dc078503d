"""Policies that interrupt jobs: they choose anew, after every event, which jobs run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from quickswap.policies.base import Policy
from quickswap.system import System


@final
@dataclass(frozen=True, slots=True)
class ServerFilling(Policy):
    """Run the largest of the oldest jobs that fill the servers.

    After each event take the shortest prefix in arrival order of all unfinished jobs, running or
    not, whose needs add up to at least k (all of them if they do not); serve it by descending need,
    older first, as long as each fits. An interrupted job resumes where it was, at no cost.

    Source: Grosof, Harchol-Balter, Scheller-Wolf, "WCFS: a new framework for analyzing multiserver
    systems", Queueing Systems 102 (2022).
    """

    name: ClassVar[str] = "server-filling"
    title: ClassVar[str] = "ServerFilling"
    preemptive: ClassVar[bool] = True

    def _parameters(self, system: System) -> dict[str, object]:
        return {}
