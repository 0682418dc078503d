"""The lower bound on the mean response time: below every schedule, and attained in simple cases."""

from __future__ import annotations

import math
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quickswap as qs
from logs_helpers import KTH, NASA, XDMOD, XDMOD_FORMAT, real
from quickswap import logs
from quickswap.replays.bound import mean_response_bound
from quickswap.replays.schedule import Floats, Ints
from quickswap.report.text import UNITS
from replay_helpers import jobs, log_of, random_log

Jobs = tuple[int, Floats, Ints, Floats]
"""Servers, and the arrivals, needs and sizes of jobs."""

ROUNDING = 1e-9


def random_jobs(seed: int, count: int) -> Jobs:
    """Jobs whose times are integers: some arrive together, some do not wait."""
    draw = np.random.default_rng(seed)
    servers = int(draw.integers(1, 5))
    arrival = np.sort(draw.integers(0, draw.integers(1, 3 * count), count)).astype(float)
    need = draw.integers(1, servers + 1, count)
    return servers, arrival, need, draw.integers(1, 6, count).astype(float)


def nonpreemptive_optimum(servers: int, arrival: Floats, need: Ints, size: Floats) -> float:
    """The best of all orders, each job starting as early as those before it in the order allow.

    A best schedule is among these: take its jobs in the order of their starts.
    """
    best, count = math.inf, len(size)
    for order in permutations(range(count)):
        running: list[tuple[float, int]] = []
        time = total = 0.0
        for job in order:
            time = max(time, arrival[job])
            while sum(n for end, n in running if end > time) + need[job] > servers:
                time = min(end for end, _ in running if end > time)
            running.append((time + size[job], need[job]))
            total += time + size[job] - arrival[job]
        best = min(best, total)
    return best / count


def preemptive_optimum(servers: int, arrival: Floats, need: Ints, size: Floats) -> float:
    """The best schedule that decides at integer times, by recursion over what is left of each job.

    The best of all schedules may be better still.
    """
    count = len(size)
    subsets = [
        each
        for each in range(1 << count)
        if sum(int(need[j]) for j in range(count) if each >> j & 1) <= servers
    ]

    @cache
    def total(time: int, left: tuple[int, ...]) -> float:
        if not any(left):
            return 0.0
        present = [left[j] > 0 and arrival[j] <= time for j in range(count)]
        if not any(present):
            return total(int(min(arrival[j] for j in range(count) if left[j])), left)
        served = [s for s in subsets if all(present[j] for j in range(count) if s >> j & 1)]
        after = [tuple(left[j] - (s >> j & 1) for j in range(count)) for s in served if s]
        return float(sum(present) + min(total(time + 1, each) for each in after))

    return total(0, tuple(int(each) for each in size)) / count


@pytest.mark.parametrize("seed", range(150))
def test_no_schedule_is_below_the_bound(seed: int) -> None:
    given = random_jobs(seed, 2 + seed % 4)
    bound = mean_response_bound(*given)
    preemptive = preemptive_optimum(*given)
    assert preemptive <= nonpreemptive_optimum(*given) + ROUNDING
    assert given[3].mean() <= bound + ROUNDING
    assert bound <= preemptive + ROUNDING


def test_the_bound_is_often_close_to_the_optimum() -> None:
    gaps = []
    for seed in range(50):
        given = random_jobs(seed, 2 + seed % 4)
        gaps.append(mean_response_bound(*given) / preemptive_optimum(*given))
    assert np.mean(gaps) > 0.9
    assert np.min(gaps) > 0.6


@pytest.mark.parametrize("seed", range(20))
def test_one_server(seed: int) -> None:
    """The shortest remaining size first is optimal, and the bound a little below it."""
    draw = np.random.default_rng(seed)
    arrival, size = np.sort(draw.uniform(0, 300, 200)), draw.exponential(1.4, 200)
    time, ended, left = 0.0, np.zeros(200), size.copy()
    while (left > 0).any():
        present = np.flatnonzero((left > 0) & (arrival <= time))
        later = arrival[arrival > time].min(initial=math.inf)
        if not len(present):
            time = later
            continue
        job = present[np.argmin(left[present])]
        complete = time + left[job] <= later
        left[job], time = (0, time + left[job]) if complete else (left[job] - later + time, later)
        ended[job] = time
    optimum = (ended - arrival).mean()
    bound = mean_response_bound(1, arrival, np.ones(200, dtype=np.int64), size)
    assert bound <= optimum * (1 + ROUNDING)
    assert bound > 0.9 * optimum
    assert optimum > 1.3 * size.mean()


def test_jobs_that_arrive_together_on_one_server() -> None:
    """The smallest size first is optimal, and the bound nearly attains it."""
    size = np.random.default_rng(1).exponential(1.0, 300)
    optimum = np.cumsum(np.sort(size)).mean()
    bound = mean_response_bound(1, np.zeros(300), np.ones(300, dtype=np.int64), size)
    assert 0.98 * optimum < bound <= optimum * (1 + ROUNDING)


def test_jobs_that_need_not_wait() -> None:
    one = mean_response_bound(4, np.array([5.0]), np.array([3]), np.array([7.0]))
    assert one == pytest.approx(7, rel=ROUNDING)
    apart = np.array([10.0 * each for each in range(50)])
    need, size = np.tile([1, 4], 25), np.array([each / 5 for each in range(50)])
    assert mean_response_bound(4, apart, need, size) == pytest.approx(size.mean(), rel=ROUNDING)
    assert mean_response_bound(4, apart, need, np.zeros(50)) == 0
    assert math.isnan(mean_response_bound(4, apart[:0], need[:0], size[:0]))


def test_jobs_that_must_wait() -> None:
    """The second of two jobs that need all servers cannot start before the first has ended."""
    bound = mean_response_bound(8, np.zeros(2), np.array([8, 8]), np.array([1.0, 3.0]))
    assert bound == pytest.approx((1 + 4) / 2, rel=0.05)
    assert bound <= 2.5 * (1 + ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_scale_of_time_and_of_servers(seed: int) -> None:
    servers, arrival, need, size = random_jobs(seed, 30)
    bound = mean_response_bound(servers, arrival, need, size)
    longer = mean_response_bound(servers, 1024 * arrival, need, 1024 * size)
    assert longer == pytest.approx(1024 * bound, rel=ROUNDING)
    wider = mean_response_bound(8 * servers, arrival, 8 * need, size)
    assert wider == pytest.approx(bound, rel=ROUNDING)


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    columns = [draw.integers(0, 99, 60), draw.integers(1, 5, 60), draw.integers(1, 40, 60)]
    rows = jobs(*zip(*columns, strict=True))
    shuffled = [rows[i] for i in draw.permutation(60)]
    bounds = [
        qs.replay(log_of(tmp_path, each, 4), "easy", warmup=0, cooldown=0).lower_bound
        for each in (rows, shuffled)
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=ROUNDING)


def test_the_bound_is_that_of_the_jobs_measured(tmp_path: Path) -> None:
    log = random_log(tmp_path)
    results = qs.replay_all(log, ["easy", "msf", "server-filling"], load_factors=(1.0, 1.3)).points
    for _, *policies in results[:1]:  # without the logged waits, which no machine attains
        assert len({each.lower_bound for each in policies}) == 1
        for each in policies:
            jobs = each.outcomes().filter("measured")
            mean_size, mean = (float(jobs[name].to_numpy().mean()) for name in ("size", "response"))
            assert mean_size <= each.lower_bound <= mean
    assert results[1][0].lower_bound > results[0][1].lower_bound
    few = qs.replay(log, "easy", servers=7)
    kept = few.outcomes().filter("measured")
    columns = [kept[name].to_numpy() for name in ("submit", "need", "size")]
    assert few.lower_bound == mean_response_bound(7, *columns)
    assert few.lower_bound <= few.mean_response_time.value


REAL: dict[str, dict[str, Any]] = {
    KTH: {},
    NASA: {},
    XDMOD: {"sacct_format": XDMOD_FORMAT, "servers": 1159},
}


@pytest.mark.parametrize("name", REAL)
def test_real_logs(name: str) -> None:
    log = logs.read(real(name), **REAL[name])
    for policy, factor in (
        ("easy", 1.0),
        ("first-fit", 1.0),
        ("msf", 1.2),
        ("server-filling", 1.2),
    ):
        result = qs.replay(log, policy, load_factor=factor)
        sizes = result.schedule.size[result.measured]
        assert sizes.mean() * (1 - ROUNDING) <= result.lower_bound
        assert result.lower_bound <= result.mean_response_time.value
    assert result.lower_bound > 1.015 * sizes.mean()


def test_a_bound_is_rounded_down() -> None:
    seconds, minutes = UNITS[:2]
    assert seconds.plain(12.39, down=True) == "12.3"
    assert seconds.plain(1239.9, down=True) == "1,239"
    assert minutes.plain(0.0, down=True) == "0"
    assert minutes.plain(119.9, down=True) == "1.99"
