"""`quickswap govern`: what it prints, writes and undoes, and what is rejected."""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from cli_helpers import run
from governing_helpers import NOW, Pretended, queue
from quickswap import logs
from quickswap.cli import govern
from quickswap.governing.audit import Audit, recovered
from quickswap.governing.controller import (
    Diagnostics,
    JobState,
    RejectedError,
    Snapshot,
    UnreachableError,
)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    slurm = queue(8)
    monkeypatch.setattr(govern, "_controller", lambda unit, rest: slurm)
    return slurm


class Ending(Pretended):
    """A Slurm under which the governor gets a signal after some snapshots."""

    left = 2
    seen: dict[str, int]

    def snapshot(self, partition: str) -> Snapshot:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            self.seen = self.set_factors()
        return super().snapshot(partition)


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Ending:
    slurm = Ending(8, *queue(8).jobs.values())
    monkeypatch.setattr(govern, "_controller", lambda unit, rest: slurm)
    return slurm


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_metrics_are_served_on_loopback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = f"http://127.0.0.1:{free_port()}/metrics"
    answers: list[str] = []

    class Asking(Ending):
        left = 3

        def diagnostics(self) -> Diagnostics:
            with urlopen(address) as answer:
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                answers.append(answer.read().decode())
            with pytest.raises(HTTPError, match="404"):
                urlopen(address.removesuffix("metrics"))
            return super().diagnostics()

    monkeypatch.setattr(
        govern, "_controller", lambda unit, rest: Asking(8, *queue(8).jobs.values())
    )
    file, port = tmp_path / "governor.prom", address.split(":")[2].removesuffix("/metrics")
    command = ("govern", "all", "--interval", "1", "--metrics", str(file), "--metrics-port", port)
    assert run(capsys, *command)[0] == 0
    assert answers[0] == ""  # before the first decision
    assert 'quickswap_govern_decisions_total{partition="all"} 1\n' in answers[1]
    assert 'quickswap_govern_decisions_total{partition="all"} 3\n' in file.read_text()
    with pytest.raises(URLError):
        urlopen(address)


def test_a_port_in_use_is_one_sentence(
    capsys: pytest.CaptureFixture[str], slurm: Pretended
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, err = run(capsys, "govern", "all", "--once", "--metrics-port", port)
    assert (code, len(err.splitlines())) == (2, 1)
    assert f"port {port} of 127.0.0.1 cannot be used" in err
    assert "give another --metrics-port" in err


def test_by_default_nothing_changes(
    capsys: pytest.CaptureFixture[str], slurm: Pretended, tmp_path: Path
) -> None:
    metrics = tmp_path / "governor.prom"
    code, out, err = run(capsys, "govern", "all", "--once", "--metrics", str(metrics))
    assert (code, err, slurm.writes) == (0, "", [])
    assert "would set SiteFactor" in out
    text = metrics.read_text()
    assert 'quickswap_govern_decisions_total{partition="all"} 1\n' in text
    assert 'quickswap_govern_waiting_jobs{partition="all",need="2"} 4\n' in text
    assert 'quickswap_govern_longest_wait_seconds{partition="all",need="8"} 92\n' in text


def test_live_until_a_signal(
    capsys: pytest.CaptureFixture[str], ending: Ending, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with Audit(log) as audit:  # a governor has crashed before
        audit.add(NOW, "write", job="3", factor=77)
    ending.write("3", 77)
    before = signal.getsignal(signal.SIGTERM)
    code, out, err = run(capsys, "govern", "all", "--live", "--log", str(log), "--interval", "1")
    assert (code, err) == (0, "")
    assert out.startswith("undone: 1 SiteFactor of ")
    assert "sets SiteFactor" in out
    assert not ending.set_factors()
    assert not recovered(log).open
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_shadow_leaves_a_log_for_replays(
    capsys: pytest.CaptureFixture[str], slurm: Pretended, tmp_path: Path
) -> None:
    for name, need in (("a", 3), ("b", 2)):
        slurm.jobs[name] = replace(
            slurm.jobs["2"],
            id=name,
            need=need,
            state=JobState.ENDED,
            start=NOW - 60,
            end=NOW - 10,
            user="ann",
        )
    table = tmp_path / "jobs.csv"
    for _ in range(2):
        assert run(capsys, "govern", "all", "--once", "--outcomes", str(table))[0] == 0
    log = logs.read(table, servers=8)
    assert sorted(log.jobs["need"]) == [2, 3]
    assert set(log.jobs["size"]) == {50.0}
    assert set(log.jobs["wait"]) == {38.0}
    assert set(log.jobs["estimate"]) == {60.0}
    table.write_text("job,need\n")
    code, _, err = run(capsys, "govern", "all", "--once", "--outcomes", str(table))
    assert code == 2
    assert f"{table} is not a table" in err
    assert "give --outcomes a new file" in err


def test_why_a_job_waits(
    capsys: pytest.CaptureFixture[str], slurm: Pretended, tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "govern", "all", "--explain", "8")
    assert code == 0
    assert "Job 8 needs 8; 4 of 8 servers are free." in out
    log = tmp_path / "log"
    policy = "adaptive-quickswap:overrun=0.9"
    with Audit(log) as audit:  # the governor that runs drains
        audit.add(NOW, "decision", policy=policy, state=[1], starts=[], reserved=None)
        out = run(capsys, "govern", "all", "--explain", "8", "--log", str(log))[1]
    assert "servers free for it" in out


def test_undo(capsys: pytest.CaptureFixture[str], slurm: Pretended, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Audit(log) as audit:
        audit.add(NOW, "write", job="3", factor=77)
    slurm.write("3", 77)
    code, out, err = run(capsys, "govern", "all", "--once", "--log", str(log))
    assert (code, slurm.set_factors()) == (0, {"3": 77})
    assert f"--undo {log}" in err

    def fail(name: str, factor: int) -> bool:
        raise UnreachableError("slurmctld is down.")

    slurm.write_hook = fail
    code, _, err = run(capsys, "govern", "--undo", str(log))
    assert code == 2
    assert (
        f"1 SiteFactor may still be set (slurmctld is down): run quickswap govern --undo {log}"
        in err
    )
    slurm.write_hook = lambda name, factor: True
    code, out, _ = run(capsys, "govern", "--undo", str(log))
    assert (code, slurm.set_factors()) == (0, {})
    assert out.startswith("undone: 1 SiteFactor of ")


def test_live_without_rights(
    capsys: pytest.CaptureFixture[str], slurm: Pretended, tmp_path: Path
) -> None:
    def deny(name: str, factor: int) -> bool:
        raise RejectedError("Access/permission denied.")

    slurm.write_hook = deny
    code, _, err = run(capsys, "govern", "all", "--live", "--log", str(tmp_path / "log"))
    assert code == 2
    assert "denied" in err


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([], "partition"),
        (["all", "--live"], "--log"),
        (["all", "--live", "--once", "--log", "{folder}/log"], "--live"),
        (["all", "--policy", "msf"], "--policy msf"),
        (["all", "--interval", "0"], "--interval"),
        (["--undo", "{folder}/none"], "{folder}/none"),
        (["all", "--log", "{folder}/none/log"], "{folder}/none/log"),
        (["all", "--metrics", "{folder}/none/log"], "{folder}/none"),
        (["", "--once"], "no partition is given"),
        (["all", "--undo", "{folder}/log"], "--undo governs nothing"),
        (["--undo", "{folder}/log", "--once"], "--undo governs nothing"),
    ],
)
def test_mistakes(
    capsys: pytest.CaptureFixture[str],
    slurm: Pretended,
    tmp_path: Path,
    tokens: list[str],
    words: str,
) -> None:
    given = [each.format(folder=tmp_path) for each in tokens]
    code, out, err = run(capsys, "govern", *given)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words.format(folder=tmp_path) in err


def test_commands_that_are_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = run(capsys, "govern", "all", "--once")
    assert code == 2
    assert "squeue" in err
