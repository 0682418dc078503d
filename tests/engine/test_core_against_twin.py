"""The core agrees with the twin, job by job, for every policy on random small systems.

Times are multiples of 1/8, so floating-point sums are exact and ties are frequent: bursts in
one instant, arrivals together with completions, sizes of zero. `hypothesis_settings` says how to
look further.
"""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, reject
from hypothesis import strategies as st

from hypothesis_settings import FEW
from quickswap.policies import EASY
from twin import EndlessError, Predictions, Schedule, check, run

Jobs = list[tuple[float, int, float]]
Case = tuple[int, list[int], dict[str, Any], Jobs]
Replayed = tuple[list[float], list[float], list[int]]
Known = tuple[list[int | None], list[float | None]]
"""Users and requested times of the jobs."""

FAMILIES = [
    "fcfs",
    "first-fit",
    "msf",
    "lsf",
    "smash",
    "easy",
    "conservative",
    "slurm",
    "adaptive-quickswap",
    "server-filling/arrival",
    "server-filling/srpt",
    "server-filling/arrival/costs",
    "server-filling/srpt/costs",
    "server-filling/gittins",
    "server-filling/gittins/costs",
    "divisor-filling",
    "divisor-filling/costs",
    "max-weight",
    "max-weight/costs",
    "nmsr",
    "nmsr/backfill",
    "randomized-timers",
    "balanced-splitting",
    "msfq/on_demand",
    "msfq/always",
    "static-quickswap/overlap",
    "static-quickswap/exclusive",
    "adaptive-quickswap/distributions",
    "static-quickswap/overlap/distributions",
    "static-quickswap/exclusive/distributions",
    "msfq/on_demand/distributions",
    "msfq/always/distributions",
    "adaptive-quickswap/ages",
    "static-quickswap/overlap/ages",
    "static-quickswap/exclusive/ages",
    "msfq/on_demand/ages",
    "adaptive-quickswap/groups",
    "static-quickswap/overlap/groups",
    "static-quickswap/exclusive/groups",
]


def test_every_policy_has_a_twin() -> None:
    from quickswap.engine._core import POLICIES

    assert {each.partition("/")[0] for each in FAMILIES} == set(POLICIES)


EIGHTHS = [each / 8 for each in (1, 2, 3, 4, 7, 8, 12, 16, 40)]
WEIGHTS = st.sampled_from([0, 0, 1, 3, 8, 100])
SLURM: dict[str, st.SearchStrategy[Any]] = {
    "users": st.lists(st.integers(0, 2), min_size=1, max_size=5),
    "constants": st.lists(st.sampled_from([0, 0.5, 1, 3]), min_size=1, max_size=3),
    "default_queue_depth": st.sampled_from([1, 2, 3, 100]),
    "bf_interval": st.none() | st.sampled_from(EIGHTHS),
    "bf_window": st.sampled_from([*EIGHTHS, 100, 100]),
    "bf_resolution": st.sampled_from(EIGHTHS),
    "bf_max_job_test": st.sampled_from([1, 2, 3, 500, 500]),
    "bf_max_job_user": st.sampled_from([0, 0, 1, 2]),
    "bf_job_part_count_reserve": st.sampled_from([0, 0, 1, 2]),
    "bf_min_age_reserve": st.sampled_from([0, 0, *EIGHTHS]),
    "bf_min_prio_reserve": st.sampled_from([0, 0, 2, 5]),
    "priority_weight_age": WEIGHTS,
    "priority_weight_fairshare": WEIGHTS,
    "priority_weight_job_size": WEIGHTS,
    "priority_max_age": st.sampled_from(EIGHTHS),
    "priority_decay_half_life": st.sampled_from([0, *EIGHTHS]),
    "priority_calc_period": st.sampled_from(EIGHTHS),
    "priority_favor_small": st.booleans(),
}
"""Settings of Slurm; times in seconds."""


@st.composite
def policies(draw: st.DrawFn, family: str, servers: int, needs: list[int]) -> dict[str, Any]:
    """A policy of the family with random parameters that suit the system, in canonical form."""
    name, *variants = family.split("/")
    policy: dict[str, Any] = {"name": name}
    if name == "easy" and draw(st.integers(0, 3)) > 0:
        policy["patience"] = {
            "order": draw(st.sampled_from(EASY.orders)),
            "reservation": draw(st.sampled_from(["oldest", "oldest", "first"])),
            "least": draw(st.none() | st.integers(0, 60).map(lambda each: each / 8)),
            "factor": draw(st.sampled_from([0, 0.5, 1, 3, 8])),
        }
    if name == "server-filling":
        policy["order"] = variants[0]
    if "gittins" in variants:
        ages = st.sets(st.integers(1, 24).map(lambda each: each / 8), max_size=5)
        tables = [[0.0, *sorted(draw(ages))] for _ in needs]
        heights = [draw(st.lists(st.integers(0, 9), min_size=6, max_size=6)) for _ in needs]
        policy["ranks"] = [
            {"ages": table, "ranks": list(map(float, height[: len(table)]))}
            for table, height in zip(tables, heights, strict=True)
        ]
    if "costs" in variants:
        costs = st.sampled_from([0, 0, 0.125, 0.5, 1.25])
        policy["interruptions"] = {
            "overhead": draw(costs),
            "minimum": draw(costs),
            "restart": draw(st.booleans()),
        }
    if name == "nmsr":
        found = draw(st.lists(schedules(servers, needs), max_size=3))
        for i, need in enumerate(needs):  # a class without a schedule would never start
            if not any(jobs[i] for jobs in found):
                found.append([servers // need if j == i else 0 for j in range(len(needs))])
        policy |= {"schedules": found, "backfill": "backfill" in variants}
        policy["times"] = [draw(st.sampled_from([0.5, 1, 4])) for _ in found]
    if name == "randomized-timers":
        policy["rate"] = draw(st.sampled_from([0.25, 1, 2]))
        policy["means"] = [draw(st.sampled_from([0.5, 1, 4])) for _ in needs]
    if name == "balanced-splitting":
        shared = draw(st.sampled_from([0, max(needs)]))
        slots = draw(schedules(servers - shared, needs))
        for i in range(len(needs)):
            helpers = servers - sum(n * need for n, need in zip(slots, needs, strict=True))
            if any(n == 0 and need > helpers for n, need in zip(slots, needs, strict=True)):
                slots[i] = 0  # until a job of each class can start
        policy["slots"] = slots
    if name in ("nmsr", "randomized-timers"):
        quarters = draw(st.lists(st.integers(1, 12), min_size=1, max_size=30))
        policy["script"] = [each / 4 for each in quarters]
    if name == "slurm":
        policy |= {key: draw(values) for key, values in SLURM.items()}
    if name == "smash":
        policy["window"] = draw(st.none() | st.integers(1, 6))
    if "distributions" in variants or "ages" in variants:
        eighths = st.integers(0, 24).map(lambda each: each / 8)
        horizons = [draw(eighths) for _ in needs]
        residuals = [draw(st.none() | eighths) for _ in needs]
        policy["backfilling"] = {
            "by": "distributions",
            "horizons": horizons,
            "residuals": residuals,
        }
    if "ages" in variants:
        table = st.lists(eighths, min_size=1, max_size=5).map(sorted)
        sizes = [draw(st.none() | table) for _ in needs]
        step = draw(st.sampled_from([0.25, 1.0]))
        policy["backfilling"] |= {"by": "ages", "sizes": sizes, "step": step}
    if "estimates" in variants:
        policy["backfilling"] = {"by": "estimates"}
    if name == "msfq":
        most = servers if "on_demand" in variants else servers - 1
        policy |= {"threshold": draw(st.integers(0, most)), "drain": variants[0]}
    if "groups" in variants:
        first = draw(st.sets(st.integers(1, len(needs) - 1))) if len(needs) > 1 else set()
        policy["groups"] = [0, *sorted(first)]
        needs = [needs[end - 1] for end in [*sorted(first), len(needs)]]  # the largest of each
    if name == "static-quickswap":
        policy["drain"] = variants[0]
        policy["order"] = draw(st.permutations(range(len(needs))))
        policy["thresholds"] = [draw(st.integers(0, servers // need - 1)) for need in needs]
    return policy


@st.composite
def schedules(draw: st.DrawFn, servers: int, needs: list[int]) -> list[int]:
    """Jobs of each class that fit together."""
    jobs, free = [0] * len(needs), servers
    for i in draw(st.permutations(range(len(needs)))):
        jobs[i] = draw(st.integers(0, free // needs[i]))
        free -= jobs[i] * needs[i]
    return jobs


@st.composite
def traces(draw: st.DrawFn, classes: int) -> Jobs:
    """Up to 40 jobs. The pace is drawn first so that idle and crowded systems are both usual."""
    longest_gap, longest_size = draw(st.integers(0, 12)), draw(st.integers(0, 40))
    gap, size = st.integers(0, longest_gap), st.integers(0, longest_size)
    step, length = st.tuples(gap, st.integers(0, classes - 1), size), draw(st.integers(0, 40))
    steps = draw(st.lists(step, min_size=length, max_size=length))
    now, jobs = 0, []
    for since_last, cls, eighths in steps:
        now += since_last
        jobs.append((now / 8, cls, eighths / 8))
    return jobs


@st.composite
def cases(draw: st.DrawFn, family: str) -> Case:
    """A system, a policy and a trace. Needs may be shared and need not divide k."""
    if family.startswith("msfq"):
        servers = draw(st.integers(2, 12))
        needs = draw(st.permutations([1, servers]))
    else:
        servers = draw(st.integers(1, 12))
        allowed = st.integers(1, servers)
        if family.startswith("divisor-filling"):
            allowed = st.sampled_from([n for n in range(1, servers + 1) if servers % n == 0])
        if family == "balanced-splitting":  # with both slots and helpers
            allowed = st.integers(1, max(servers // 3, 1))
        needs = draw(st.lists(allowed, min_size=1, max_size=4))
        needs = sorted(needs) if "groups" in family else needs
    policy = draw(policies(family, servers, needs))
    jobs = draw(traces(len(needs)))
    if family == "slurm":  # one for each job, and users without a gap
        users = np.resize(policy["users"], len(jobs))
        policy["users"] = np.unique(users, return_inverse=True)[1].tolist()
        policy["constants"] = np.resize(policy["constants"], len(jobs)).tolist()
    return servers, needs, policy, jobs


def replayed(
    case: Case, estimates: list[float] | None = None, known: Known | None = None, **gate: Any
) -> Replayed:
    """Start, end and order of starting, by the core."""
    from quickswap.engine._core import (
        replay,  # here so that the module can be read before it is built
    )

    servers, needs, policy, jobs = case
    distribution = {
        "distribution": "exponential",
        "mean": 1.0,
    }  # replay ignores the distributions of the system
    poisson = {"process": "poisson", "rate": 1.0}
    classes = [
        {"name": f"class {i}", "need": need, "size": distribution, "arrivals": poisson}
        for i, need in enumerate(needs)
    ]
    spec = {"system": {"servers": servers, "classes": classes}, "policy": policy}
    arrival = np.array([job[0] for job in jobs], dtype=np.float64)
    cls = np.array([job[1] for job in jobs], dtype=np.uint32)
    size = np.array([job[2] for job in jobs], dtype=np.float64)
    estimate = None if estimates is None else np.array(estimates, dtype=np.float64)
    predict = None
    if known is not None:
        users = np.array([2**32 - 1 if u is None else u for u in known[0]], dtype=np.uint32)
        requested = np.array([np.inf if r is None else r for r in known[1]], dtype=np.float64)
        predict = users, requested
    trace = (arrival, cls, size)
    attributes: dict[str, Any] = {}
    if policy["name"] == "slurm":
        attributes["user"] = np.array(policy["users"], dtype=np.uint32)
        attributes["priority"] = np.array(policy["constants"], dtype=np.float64)
    start, end, order, _ = replay(
        json.dumps(spec),
        *trace,
        estimate=estimate,
        predict=predict,
        debug=True,
        **(attributes | gate),
    )
    return start.tolist(), end.tolist(), order.tolist()


def by_twin(
    case: Case, estimates: list[float] | None = None, known: Known | None = None
) -> Schedule:
    try:
        predictions = None if known is None else Predictions(*known)
        schedule = run(*case, estimates=estimates, predictions=predictions)
    except EndlessError:
        reject()
    check(schedule)
    return schedule


def assert_agreement(
    case: Case, estimates: list[float] | None = None, known: Known | None = None
) -> None:
    twin = by_twin(case, estimates, known)
    start, end, order = replayed(case, estimates, known)
    note(f"core: start {start}, end {end}, order {order}")
    note(f"twin: start {twin.start}, end {twin.end}, order {twin.order}")
    assert start == twin.start
    assert end == twin.end
    assert twin.preemptive or order == twin.order


@pytest.mark.parametrize("family", FAMILIES)
def test_core_agrees_with_twin(family: str) -> None:
    @given(cases(family))
    def agrees(case: Case) -> None:
        assert_agreement(case)

    agrees()


GATED = ["fcfs", "easy", "conservative", "server-filling/arrival", "slurm"]


@pytest.mark.parametrize("family", GATED)
def test_core_agrees_with_twin_on_limits(family: str) -> None:
    """Each job is in a group of the first two, such as users, and in one of the last two."""

    @FEW
    @given(cases(family), st.data())
    def agrees(case: Case, data: st.DataObject) -> None:
        count = len(case[3])
        pairs = st.tuples(st.integers(0, 1), st.integers(2, 3))
        groups = data.draw(st.lists(pairs, min_size=count, max_size=count))
        limits = data.draw(st.lists(st.integers(1, 3), min_size=4, max_size=4))
        twin = run(*case, groups=groups, limits=limits)
        array = np.array(groups, dtype=np.uint32).reshape(count, 2)
        start, end, order = replayed(case, groups=array, limits=limits)
        assert start == twin.start
        assert end == twin.end
        assert twin.preemptive or order == twin.order

    agrees()


KINDS = {
    "over": st.integers(0, 24),
    "under": st.integers(-24, 0),
    "any": st.integers(-16, 16),
    "often exact": st.sampled_from([0, 0, 0, -3, 5]),
}
"""By how many eighths of a second the estimates are off."""


BY_ESTIMATES = [
    "easy",
    "conservative",
    "slurm",
    "adaptive-quickswap/estimates",
    "static-quickswap/overlap/estimates",
    "static-quickswap/exclusive/estimates",
    "msfq/on_demand/estimates",
    "msfq/always/estimates",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", BY_ESTIMATES)
def test_core_agrees_with_twin_on_estimates(family: str, kind: str) -> None:
    @FEW
    @given(cases(family), st.data())
    def agrees(case: Case, data: st.DataObject) -> None:
        jobs = case[3]
        errors = data.draw(st.lists(KINDS[kind], min_size=len(jobs), max_size=len(jobs)))
        pairs = zip(jobs, errors, strict=True)
        assert_agreement(case, [max(0.0, size + off / 8) for (_, _, size), off in pairs])

    agrees()


SLOW = 1024
"""Factor of all times, with which estimates are raised several times."""


PREDICTED = ["easy", "conservative", "slurm", "adaptive-quickswap/estimates"]


@pytest.mark.parametrize("family", PREDICTED)
def test_core_agrees_with_twin_on_predictions(family: str) -> None:
    @FEW
    @given(cases(family), st.data())
    def agrees(case: Case, data: st.DataObject) -> None:
        servers, needs, policy, jobs = case
        slow = [(SLOW * at, cls, SLOW * size) for at, cls, size in jobs]
        each = st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(0, 48))
        drawn = data.draw(st.lists(each, min_size=len(jobs), max_size=len(jobs)))
        requested = [None if eighths is None else SLOW * eighths / 8 for _, eighths in drawn]
        rows = zip(slow, requested, strict=True)
        estimates = [size if asked is None else float(asked) for (_, _, size), asked in rows]
        known = [user for user, _ in drawn], requested
        assert_agreement((servers, needs, policy, slow), estimates, known)

    agrees()
