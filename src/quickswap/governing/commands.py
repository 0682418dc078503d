"""Slurm through its commands: squeue, sinfo, sprio, sdiag and scontrol.

The output is requested in columns with times as numbers, which every version from 22.05 on writes.
`squeue --json` has the same values, but of all partitions, in about thirty times as many bytes per
job, and in a form that depends on the version.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable

from quickswap.errors import QuickswapError
from quickswap.governing.controller import (
    UNLIMITED,
    Cluster,
    Controller,
    Diagnostics,
    Job,
    RejectedError,
    Snapshot,
    UnreachableError,
    answer_of,
    state_of,
)

__all__ = ["Commands"]

PROGRAMS = ("squeue", "sinfo", "sprio", "sdiag", "scontrol")
FIELDS = (
    *("JobArrayID", "JobID", "State", "NumNodes", "NumCPUs", "SubmitTime", "EligibleTime"),
    *("StartTime", "EndTime", "TimeLimit", "Reason", "PriorityLong", "UserName", "Account", "QOS"),
)
SEPARATOR = "|"
PATIENCE = 60.0
"""Seconds after which a command has failed."""
UP = frozenset({"allocated", "completing", "idle", "mixed", "planned"})
"""States of nodes that serve jobs."""
MARKS = "#$@^!%+-~"
"""Characters after the state of a node that serves jobs, such as one that is powered down."""
_LIMIT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
_ABSENT = re.compile("contact|connect|timed out|zero bytes", re.I)
"""In messages about a controller that does not answer."""
_SETTING = re.compile(r"^(\w+)\s*= (.*)$", re.M)


class Commands(Controller):
    """Slurm through its commands.

    Args:
        unit: what a server is, "node" or "cpu".

    Raises:
        QuickswapError: a command is not installed.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        for each in PROGRAMS:
            if shutil.which(each) is None:
                raise QuickswapError(
                    f"the command {each} of Slurm is not in PATH: run quickswap where Slurm is "
                    "installed, or use its REST interface.",
                )

    def cluster(self) -> Cluster:
        found = {
            key.lower(): text.strip()
            for key, text in _SETTING.findall(_run("scontrol", "show", "config"))
        }
        return Cluster(found.get("clustername", ""), found)

    def snapshot(self, partition: str) -> Snapshot:
        chosen = f"--partition={partition}"
        nodes = _run("sinfo", "--noheader", "--exact", chosen, "--format=%T|%D|%C")
        if not nodes.strip():
            raise QuickswapError(f"Slurm has no partition {partition!r}: sinfo lists them.")
        with answer_of("sinfo"):
            servers, free = self._servers(nodes)
        factors = self._factors()  # first, as it does not show jobs that start meanwhile
        format_ = ",".join(f"{each}:{SEPARATOR}" for each in FIELDS)
        text = _run(
            "squeue",
            "--noheader",
            "--all",
            "--array",
            "--states=all",
            chosen,
            f"--Format={format_}",
        )
        rows = [line.split(SEPARATOR) for line in text.splitlines() if line]
        with answer_of("squeue"):
            jobs = tuple(self._job(row, factors) for row in rows)
        return Snapshot(time.time(), servers, free, jobs)

    def _servers(self, text: str) -> tuple[int, int]:
        """Return the servers that are up, and those on which no job runs."""
        servers = free = 0
        for line in text.splitlines():
            state, nodes, cpus = line.split(SEPARATOR)
            state = state.rstrip(MARKS)
            if state not in UP:
                continue
            if self.unit == "node":
                servers += int(nodes)
                free += int(nodes) * (state in ("idle", "planned"))
            else:
                allocated, idle, *_ = map(int, cpus.split("/"))
                servers += allocated + idle
                free += idle
        return servers, free

    def _job(self, row: list[str], factors: dict[str, int]) -> Job:
        name, number, state, nodes, cpus, *times, limit, reason, priority = row[:12]
        submit, eligible, start, end = map(_moment, times)
        return Job(
            name,
            state_of(state),
            int(nodes if self.unit == "node" else cpus),
            submit,
            eligible,
            start,
            end,
            _seconds(limit),
            reason,
            int(priority),
            factors.get(number, 0),
            *("" if text == "(null)" else text for text in row[12:15]),
        )

    def diagnostics(self) -> Diagnostics:
        text = _run("sdiag")
        found = [
            re.search(rf"^{name}:\s*(\d+)", text, re.M)
            for name in ("Server thread count", "Agent queue size")
        ]
        threads, queue = (int(match[1]) if match else 0 for match in found)
        return Diagnostics(threads, queue)

    def write(self, job: str, factor: int) -> None:
        _run("scontrol", "update", f"JobId={job}", f"SiteFactor={factor}", error=RejectedError)

    def delay(self, job: str, seconds: float) -> None:
        start = f"StartTime=now+{seconds:.0f}" if seconds else "StartTime=now"
        _run("scontrol", "update", f"JobId={job}", start, error=RejectedError)

    def factors(self, jobs: Iterable[str]) -> dict[str, int]:
        # a list of jobs would be an error if one has ended; a task of an array has a number of its
        # own once it has been changed
        format_ = f"--Format=JobArrayID:{SEPARATOR},JobID:{SEPARATOR}"
        text = _run("squeue", "--noheader", "--all", "--array", "--states=pending", format_)
        with answer_of("squeue"):
            numbers = dict(line.split(SEPARATOR)[:2] for line in text.splitlines() if line)
        known = self._factors()
        return {each: known[numbers[each]] for each in jobs if numbers.get(each) in known}

    def _factors(self) -> dict[str, int]:
        """Return the factors of pending jobs by their numbers."""
        text = _run("sprio", "--noheader", f"--format=%i{SEPARATOR}%S")
        pairs = [line.split(SEPARATOR) for line in text.splitlines() if SEPARATOR in line]
        with answer_of("sprio"):
            return {number.strip(): int(factor) for number, factor in pairs}


def _run(*command: str, error: type[QuickswapError] = UnreachableError) -> str:
    environment = os.environ | {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise UnreachableError(f"{command[0]} has not answered for {PATIENCE:g} s.") from None
    except OSError as failure:
        raise UnreachableError(f"{command[0]} cannot be run: {failure.strerror}.") from None
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).split())
        kind = UnreachableError if _ABSENT.search(words) else error
        raise kind(f"{' '.join(command[:3])} failed: {words or f'exit code {done.returncode}'}.")
    return done.stdout


def _moment(text: str) -> float:
    """Return a time in seconds since 1970; nan if it is not known."""
    return float(text) if text.isdigit() else math.nan


def _seconds(text: str) -> float:
    """Return a time limit such as 1-12:00:00 in seconds."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        return UNLIMITED
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24.0 + hours) * 60 + minutes) * 60 + seconds
