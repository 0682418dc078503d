"""Slurm through slurmrestd, version v0.0.38 of its interface or later.

The interface does not show SiteFactors: one is read back by the change of the job's priority.
Versions from v0.0.39 on (Slurm 23.02) can set it.
"""

from __future__ import annotations

import getpass
import json
import math
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from quickswap.errors import QuickswapError, invalid
from quickswap.governing.controller import (
    UNLIMITED,
    Cluster,
    Controller,
    Diagnostics,
    Job,
    JobState,
    RejectedError,
    Snapshot,
    UnreachableError,
    answer_of,
    state_of,
)
from quickswap.logs.formats.slurm_json import number_of, state_name

__all__ = ["Rest"]

PATIENCE = 60.0
"""Seconds until the daemon must answer."""
SETS_FACTORS = 39
"""First version that can set a SiteFactor."""
ZERO = 2**31
"""The SiteFactor 0 in the interface."""
UP = frozenset({"ALLOCATED", "IDLE", "MIXED"})
DOWN = frozenset(
    {"DOWN", "DRAIN", "FAIL", "INVALID", "MAINTENANCE", "NOT_RESPONDING", "RESERVED", "UNKNOWN"}
)
_VERSION = re.compile(r"/slurm/v0\.0\.(\d+)/jobs/?")


class _LocalConnection(HTTPConnection):
    """A connection to a socket in the file system."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._path)


class Rest(Controller):
    """Slurm through slurmrestd.

    Args:
        unit: what a server is, "node" or "cpu".
        address: "unix:PATH", "http://HOST:PORT" or "https://HOST:PORT".

    Raises:
        QuickswapError: the address is not valid, or the daemon offers no known version.
    """

    def __init__(self, unit: str, address: str) -> None:
        self.unit, self.address = unit, address
        parts = urlsplit(address)
        local, remote = parts.scheme == "unix" and parts.path, parts.scheme in ("http", "https")
        if not local and not (remote and parts.hostname):
            allowed = "unix:PATH, http://HOST:PORT or https://HOST:PORT"
            raise invalid("rest", address, allowed, QuickswapError)
        self._parts = parts
        offered = self._request("GET", "/openapi/v3").get("paths", {})
        versions = [int(match[1]) for match in map(_VERSION.fullmatch, offered) if match]
        if not versions:
            raise QuickswapError(f"{address} offers no /slurm interface: start slurmrestd with it.")
        self.version = max(versions)
        self._present: dict[str, int] = {}
        self._changes: dict[str, tuple[float, int, int]] = {}
        self._priorities: dict[str, int] = {}

    def cluster(self) -> Cluster:
        return Cluster(self.address, {})

    def snapshot(self, partition: str) -> Snapshot:
        with answer_of("slurmrestd"):
            return self._snapshot(partition)

    def _snapshot(self, partition: str) -> Snapshot:
        servers = free = 0
        known = False
        for node in self._get("nodes")["nodes"]:
            listed = node["partitions"]
            if partition not in (listed.split(",") if isinstance(listed, str) else listed):
                continue
            known = True
            states = {*_words(node["state"]), *_words(node.get("state_flags", []))}
            if not states & UP or states & DOWN:
                continue
            cpus, used = _whole(node["cpus"]), _whole(node["alloc_cpus"])
            servers += 1 if self.unit == "node" else cpus
            free += used == 0 if self.unit == "node" else cpus - used
        if not known:
            raise QuickswapError(f"Slurm has no partition {partition!r} with nodes.")
        jobs = tuple(self._jobs(partition))
        return Snapshot(time.time(), servers, free, jobs)

    def _jobs(self, partition: str | None) -> Iterator[Job]:
        self._priorities = {}
        for job in self._get("jobs")["jobs"]:
            # a pending job may have several partitions
            if partition is not None and partition not in job["partition"].split(","):
                continue
            state = state_of(state_name(job["job_state"]) or "")
            submit, eligible, start, end = (
                float(_whole(job[f"{each}_time"])) or math.nan
                for each in ("submit", "eligible", "start", "end")
            )
            for name in _names(job, state):
                self._priorities[name] = _whole(job["priority"])
                yield Job(
                    name,
                    state,
                    _whole(job["node_count" if self.unit == "node" else "cpus"]),
                    submit,
                    eligible,
                    start,
                    end,
                    60.0 * _whole(job["time_limit"]) or UNLIMITED,
                    job["state_reason"] or "",
                    self._priorities[name],
                    self._present.get(name, 0) if state is JobState.PENDING else 0,
                    *(str(job.get(each) or "") for each in ("user_name", "account", "qos")),
                )

    def diagnostics(self) -> Diagnostics:
        with answer_of("slurmrestd"):
            found = self._get("diag")["statistics"]
            threads, queue = found["server_thread_count"], found["agent_queue_size"]
            return Diagnostics(_whole(threads), _whole(queue))

    def write(self, job: str, factor: int) -> None:
        if self.version < SETS_FACTORS:
            raise QuickswapError(
                f"{self.address} offers at most v0.0.{self.version}, which cannot set a "
                f"SiteFactor; v0.0.{SETS_FACTORS} can (Slurm 23.02): use commands instead."
            )
        present = self._present.get(job, 0)
        path = f"job/{quote(job)}"
        answer = self._request("POST", self._path(path), {"site_factor": ZERO + factor})
        if answer.get("errors"):
            words = "; ".join(str(each.get("error") or each) for each in answer["errors"])
            raise RejectedError(f"slurmrestd does not accept a SiteFactor of job {job}: {words}.")
        if job in self._priorities:
            self._changes[job] = (self._priorities[job] - present, present, factor)

    def delay(self, job: str, seconds: float) -> None:
        raise QuickswapError(
            "slurmrestd cannot hold jobs here",
            argument="hold",
            given=seconds,
            advice="omit {rest} or {hold}",
        )

    def factors(self, jobs: Iterable[str]) -> dict[str, int]:
        with answer_of("slurmrestd"):
            pending = {job.id for job in self._jobs(None) if job.state is JobState.PENDING}
        for job, (base, *both) in self._changes.items():
            if job in pending:
                moved = self._priorities[job] - base
                self._present[job] = min(both, key=lambda factor: abs(factor - moved))
        self._changes = {}
        return {job: self._present[job] for job in jobs if job in pending & self._present.keys()}

    def _path(self, name: str) -> str:
        return f"/slurm/v0.0.{self.version}/{name}"

    def _get(self, name: str) -> dict[str, Any]:
        answer = self._request("GET", self._path(name))
        if answer.get("errors"):
            raise UnreachableError(f"slurmrestd fails to answer: {answer['errors'][0]}.")
        return answer

    def _request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        host, parts = self._parts.netloc, self._parts
        kinds = {"http": HTTPConnection, "https": HTTPSConnection}
        if parts.scheme == "unix":
            connection: HTTPConnection = _LocalConnection(parts.path)
        else:
            connection = kinds[parts.scheme](host, timeout=PATIENCE)
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if token := os.environ.get("SLURM_JWT"):
            headers |= {"X-SLURM-USER-NAME": getpass.getuser(), "X-SLURM-USER-TOKEN": token}
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, HTTPException) as error:
            raise UnreachableError(f"{self.address} does not answer: {error}.") from None
        finally:
            connection.close()
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UnreachableError(f"{self.address} answers with HTTP status {response.status}.")
        return found


def _names(job: dict[str, Any], state: JobState) -> Iterator[str]:
    """Yield the name of a job, or of each pending task of an array."""
    number, array = _whole(job["job_id"]), _whole(job["array_job_id"])
    task = number_of(job["array_task_id"])
    if not array:
        yield str(number)
    elif task is not None:
        yield f"{array}_{task}"
    elif state is JobState.PENDING:
        for part in (job["array_task_string"] or "").partition("%")[0].split(","):
            match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
            if match:  # the last part of a long list is truncated
                first = int(match[1])
                for each in range(first, int(match[2] or first) + 1, int(match[3] or 1)):
                    yield f"{array}_{each}"


def _whole(value: object) -> int:
    """Return a number in the form of any version; 0 if it is unset or infinite."""
    return int(number_of(value) or 0)


def _words(value: str | list[str]) -> list[str]:
    """Return the states of a node, which older versions write as text in lower case."""
    return [each.upper() for each in (value.split("+") if isinstance(value, str) else value)]
