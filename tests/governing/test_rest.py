"""Slurm through slurmrestd, which is a small server here that answers as two versions do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from quickswap.errors import QuickswapError
from quickswap.governing.controller import JobState, RejectedError, UnreachableError
from quickswap.governing.rest import ZERO, Rest

OLD: dict[str, Any] = {
    "job_id": 7,
    "array_job_id": 0,
    "array_task_id": None,
    "job_state": "PENDING",
}
OLD |= {"array_task_string": "", "partition": "all", "node_count": 2, "cpus": 4, "priority": 50}
OLD |= {"submit_time": 1000, "eligible_time": 1001, "start_time": 0, "end_time": 0, "qos": "normal"}
OLD |= {"time_limit": 3, "state_reason": "Priority", "user_name": "ann", "account": ""}


def new(value: int | None) -> dict[str, Any]:
    """Return a number as newer versions do."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


NUMBERS = {"array_job_id", "array_task_id", "node_count", "cpus", "priority", "time_limit"}
NUMBERS |= {"submit_time", "eligible_time", "start_time", "end_time"}


class Server(HTTPServer):
    """A slurmrestd.

    Attributes:
        version: of its interface.
        jobs: its jobs, as the oldest version shows them.
        asked: method, path, body and user of the requests.
    """

    def __init__(self, version: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.version, self.loses = version, False
        array = {
            "job_id": 9,
            "array_job_id": 9,
            "array_task_string": "1-5:2,8%3",
            "user_name": "bob",
        }
        running = {"job_id": 1, "job_state": "RUNNING", "start_time": 1100, "time_limit": None}
        self.jobs = [OLD, OLD | array, OLD | running, OLD | {"job_id": 2, "partition": "other"}]
        self.asked: list[tuple[str, str, Any, str | None]] = []

    def answer(self, method: str, path: str, body: Any) -> dict[str, Any]:
        offered = (38, self.version)
        if path == "/openapi/v3":
            return {"paths": {f"/slurm/v0.0.{each}/jobs": {} for each in offered}}
        name = path.removeprefix(f"/slurm/v0.0.{self.version}/")
        modern = self.version > 38
        if name == "nodes":
            up: Any = ["IDLE"] if modern else "idle"
            nodes = [("all", up, 0), ("all,more", up, 2), ("other", up, 0), ("all", "DOWN", 0)]
            return {
                "nodes": [
                    {
                        "partitions": parts if modern else parts.split(","),
                        "state": state,
                        "cpus": 4,
                        "alloc_cpus": used,
                    }
                    for parts, state, used in nodes
                ]
            }
        if name == "diag":
            return {"statistics": {"server_thread_count": 3, "agent_queue_size": 7}}
        if name == "jobs":
            form = new if modern else lambda value: value
            return {
                "jobs": [
                    {
                        key: form(value)
                        if key in NUMBERS
                        else [value]
                        if modern and key == "job_state"
                        else value
                        for key, value in job.items()
                    }
                    for job in self.jobs
                ]
            }
        if name == "job/7":
            if not self.loses:
                self.jobs[0] = OLD | {"priority": 51 + body["site_factor"] - ZERO}
            return {"errors": []}
        return {"errors": [{"error": "Invalid job id specified"}]}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:  # the name is given
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Any) -> None:
        self.server.asked.append(
            (self.command, self.path, body, self.headers["X-SLURM-USER-TOKEN"])
        )
        text = json.dumps(self.server.answer(self.command, self.path, body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(params=[38, 42])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SLURM_JWT", "secret")
    with Server(request.param) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def rest(server: Server, unit: str = "node") -> Rest:
    return Rest(unit, f"http://127.0.0.1:{server.server_port}")


def test_jobs_and_servers_of_both_versions(server: Server) -> None:
    slurm = rest(server)
    snapshot = slurm.snapshot("all")
    assert slurm.version == server.version
    assert (snapshot.servers, snapshot.free) == (2, 1)
    assert [each.id for each in snapshot.jobs] == ["7", "9_1", "9_3", "9_5", "9_8", "1"]
    first, running = snapshot.jobs[0], snapshot.jobs[-1]
    assert (first.need, first.arrival, first.limit, first.priority) == (2, 1001.0, 180.0, 50)
    assert first.startable
    assert (running.state, running.start) == (JobState.RUNNING, 1100.0)
    assert running.limit > 1e7
    processors = rest(server, "cpu").snapshot("all")
    assert (processors.servers, processors.free, processors.jobs[0].need) == (8, 6, 4)
    usage = slurm.diagnostics()
    assert (usage.threads, usage.queue) == (3, 7)
    assert {token for *_, token in server.asked} == {"secret"}
    with pytest.raises(QuickswapError, match="none"):
        slurm.snapshot("none")


def test_factors_are_written_and_read_back_by_the_priority(server: Server) -> None:
    slurm = rest(server)
    slurm.snapshot("all")
    if server.version == 38:
        with pytest.raises(QuickswapError, match="SiteFactor"):
            slurm.write("7", 900)
        return
    slurm.write("7", 900)
    assert server.asked[-1][2] == {"site_factor": ZERO + 900}
    assert slurm.factors(["7", "9_1"]) == {"7": 900}
    assert slurm.snapshot("all").jobs[0].factor == 900
    server.loses = True
    slurm.write("7", 0)
    assert slurm.factors(["7"]) == {"7": 900}
    with pytest.raises(RejectedError, match="Invalid job id"):
        slurm.write("8", 900)


def test_addresses() -> None:
    for given in ("ftp://a", "unix:", "localhost:6820"):
        with pytest.raises(QuickswapError) as caught:
            Rest("node", given)
        assert caught.value.argument == "rest"
    for given in ("unix:/none/socket", "http://127.0.0.1:9"):
        with pytest.raises(UnreachableError):
            Rest("node", given)
