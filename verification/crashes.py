"""Sweeps that are killed at random moments lose nothing and run nothing twice."""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import quickswap as qs
from quickswap.sweeps import run_points
from quickswap.sweeps.record import Record
from verification.known import FOUR

__all__ = ["Crashes", "crash"]

LONGEST = 0.5
"""Seconds after which a sweep is killed at the latest: it then stands at any of its points."""
COPIES = 2000
"""Rows of a store that is filled as fast as it can be so that most kills hit it writing."""


@dataclass
class Crashes:
    """What was seen.

    Attributes:
        kills: processes killed.
        in_commit: of them, those killed while they wrote, so a journal was left.
        sweeps: stores filled to the end.
        lost: rows that were in a store before a process was killed and not after it.
        twice: rows of points that were in the store already.
        different: rows whose bytes are not those of an uninterrupted sweep.
    """

    kills: int = 0
    in_commit: int = 0
    sweeps: int = 0
    lost: int = 0
    twice: int = 0
    different: int = 0


def points() -> list[qs.Point]:
    """Forty short points, one of them unstable."""
    chosen = [
        qs.Point.of(FOUR.with_load(load), policy, jobs=200, engine="events", seed=seed)
        for load in (0.4, 0.6)
        for policy in ("msf", "fcfs", "first-fit")
        for seed in range(6)
    ]
    return [*chosen, qs.Point.of(FOUR.with_load(1.1), "msf", jobs=200)]


def work(path: Path) -> None:
    """Run all points; this is what is killed."""
    with qs.Store(path) as store:
        run_points(points(), store, threads=2)


def copies() -> list[Record]:
    """Rows by the thousand, all of one result."""
    point = points()[0]
    one = Record.of(point, point.run())
    return [replace(one, key=number.to_bytes(32, "big")) for number in range(COPIES)]


def write(path: Path) -> None:
    """Fill a store row by row, from where it stands; this is what is killed."""
    with qs.Store(path) as store:
        for record in copies():
            if record.key.hex() not in store:
                store.add([record])


def crash(folder: Path, kills: int, *, writing: bool = False, seed: int = 1) -> Crashes:
    """Kill this many sweeps, each at a random moment, and check what they leave.

    Args:
        folder: for the stores.
        kills: processes that must have been killed.
        writing: whether they do nothing but write.
        seed: of the moments.
    """
    seen, draw = Crashes(), random.Random(seed)
    whole = qs.Store()
    if writing:
        whole.add(copies())
    else:
        run_points(points(), whole)
    expected = {each.key: _plain(each) for each in whole._records()}
    context = get_context("forkserver")
    context.set_forkserver_preload(["verification.crashes", "quickswap.simulation.simulate"])
    while seen.kills < kills:
        path = folder / f"{seen.sweeps}.db"
        before: list[bytes] = []
        complete = False
        while not complete:
            worker = context.Process(target=write if writing else work, args=(path,))
            worker.start()
            if seen.kills < kills:
                time.sleep(draw.uniform(0, LONGEST))
                worker.kill()
            worker.join()
            killed = worker.exitcode == -signal.SIGKILL
            seen.kills += killed
            seen.in_commit += killed and Path(f"{path}-journal").exists()
            after = _keys(path)
            seen.lost += after[: len(before)] != before
            seen.twice += len(after) - len(set(after))
            before, complete = after, len(after) == len(expected)
        with qs.Store(path) as store:
            found = {each.key: _plain(each) for each in store._records()}
        seen.different += sum(found.get(key) != value for key, value in expected.items())
        seen.sweeps += 1
        path.unlink()
    return seen


def _keys(path: Path) -> list[bytes]:
    """Return the keys of all rows in the order in which they were written."""
    with qs.Store(path) as store:
        return [key for _, key, _, _ in store._database.since(0)]


def _plain(record: Record) -> tuple[bytes, ...]:
    return record.inputs, record.result, record.totals, record.failure
