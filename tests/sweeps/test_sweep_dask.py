"""A sweep on a real Dask scheduler with two worker processes, one of which is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap.sweeps import SweepProgress, run_points
from verification.known import FOUR

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(os.name == "nt", reason="there is no kill -9"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found


def grid() -> list[qs.Point]:
    return [
        qs.Point.of(FOUR.with_load(load), policy, jobs=150_000, engine="events")
        for load in (0.3, 0.4, 0.5, 0.6)
        for policy in ("msf", "fcfs", "first-fit", "static-quickswap")
    ]


def test_a_worker_is_killed_in_the_middle(cluster: Any) -> None:
    here = qs.Store()
    run_points(grid(), here)
    killed: list[int] = []
    with distributed.Client(cluster) as client:
        workers = client.run(os.getpid)

        def kill(advance: SweepProgress) -> None:
            if advance.done >= 3 and not killed:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)

        there = qs.Store()
        outcomes = run_points(grid(), there, executor=client.get_executor(), progress=kill)
    assert killed
    assert not outcomes.failures
    assert outcomes.ran == len(grid())
    records = [
        {each.key: (each.result, each.totals) for each in s._records()} for s in (here, there)
    ]
    assert records[0] == records[1]


def test_the_command_line(cluster: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "g.toml").write_text(
        'model = "four-class"\npolicies = ["msf", "fcfs"]\nload = 0.3\njobs = 2000\n',
        encoding="utf-8",
    )
    code, out, _ = run(
        capsys, "sweep", str(tmp_path / "g.toml"), "--dask", cluster.scheduler_address
    )
    assert code == 0
    assert "2 of 2 points run now" in out


def test_tuning_there_gives_what_it_gives_here(
    cluster: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("tune", "four-class:rate=3.5", "--policies", "msf adaptive-quickswap", "--jobs", "2e5")
    here = run(capsys, *words, "--json", "-")
    there = run(capsys, *words, "--json", "-", "--dask", cluster.scheduler_address)
    assert here[0] == there[0] == 0
    assert here[1] == there[1]


def test_nobody_answers(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = distributed.Client

    def impatient(address: str, **options: Any) -> Any:
        return client(address, **options | {"timeout": "1s"})

    monkeypatch.setattr(distributed, "Client", impatient)
    (tmp_path / "g.toml").write_text('model = "four-class"\npolicy = "msf"\n', encoding="utf-8")
    code, _, err = run(capsys, "sweep", str(tmp_path / "g.toml"), "--dask", "tcp://127.0.0.1:9")
    assert code == 2
    assert "--dask is tcp://127.0.0.1:9" in err
