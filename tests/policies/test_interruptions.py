"""Interruptions that cost time: small schedules by hand, and what a simulation says about them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import quickswap as qs
from quickswap.engine._core import replay
from verification.known import FOUR

POLICIES = ["server-filling", "server-filling:order=srpt", "max-weight"]
UNIT = qs.Exponential(mean=1.0)


@pytest.mark.parametrize(
    ("parameters", "light", "heavy"),
    [
        ("overhead=0", 5.0, 2.0),
        ("overhead=0.5", 5.5, 2.0),
        ("restart=true", 6.0, 2.0),
        ("overhead=0.5,restart=true", 6.5, 2.0),
        ("minimum=2", 5.0, 3.0),
        ("minimum=2,overhead=0.5", 5.5, 3.0),
        ("minimum=4", 4.0, 5.0),
    ],
)
def test_a_light_job_is_interrupted_once(parameters: str, light: float, heavy: float) -> None:
    """It arrives at 0 and needs 4 seconds; a heavy job of 1 second arrives at 1."""
    system = qs.System(2, [qs.JobClass(1, 1, UNIT), qs.JobClass(2, 1, UNIT)])
    policy = qs.parse(f"server-filling:{parameters}").resolve(system)
    spec = json.dumps({"system": system.to_dict(), "policy": policy})
    jobs = np.array([0.0, 1.0]), np.array([0, 1], dtype=np.uint32), np.array([4.0, 1.0])
    _, end, _, _ = replay(spec, *jobs, debug=True)
    assert end.tolist() == [light, heavy]


@pytest.mark.parametrize("policy", POLICIES)
def test_free_interruptions_are_the_default(policy: str) -> None:
    sign = "," if ":" in policy else ":"
    free = qs.parse(f"{policy}{sign}overhead=0,minimum=0,restart=false")
    assert free == qs.parse(policy)
    assert free.resolve(FOUR) == qs.parse(policy).resolve(FOUR)


def test_nothing_is_proven_about_costs() -> None:
    for policy in ("server-filling", "divisor-filling", "max-weight"):
        system = qs.load("one-or-all:load=0.5")
        assert qs.stability(system, policy).verdict == "stable"
        for cost in ("overhead=1", "minimum=1", "restart=true"):
            assert qs.stability(system, f"{policy}:{cost}").limit is None


def test_more_servers_than_the_load_are_in_use() -> None:
    result = qs.simulate(FOUR.with_rate(3), "server-filling:overhead=0.3", jobs=100_000)
    used = result.utilisation
    assert result.verdict.status == "stable"
    assert not result.verdict.proven
    assert used.value - used.half_width > result.system.load
    assert result.lower_bound == 1.0  # the mean size
    assert not result.gains


def test_a_run_near_the_limit_is_too_short() -> None:
    """At load 0.8 the overheads need nearly all other servers."""
    costs = "server-filling:overhead=1"
    result = qs.simulate(FOUR.with_rate(4), costs, jobs=100_000, allow_unstable=True)
    assert result.verdict.status != "stable"


def test_a_flag_of_numpy_is_a_flag() -> None:
    policy = qs.ServerFilling(restart=np.bool_(True))  # type: ignore[arg-type]  # as in a frame
    result = qs.simulate(FOUR.with_load(0.2), policy, jobs=500)
    assert qs.Result.from_json(result.to_json()).policy == qs.ServerFilling(restart=True)


def test_no_run_is_recommended_that_never_ends() -> None:
    """Lost work fills all servers, so no number of jobs would suffice."""
    system = qs.load("one-or-all:k=4,load=0.5")
    policy = "server-filling:order=srpt,restart=true"
    verdict = qs.simulate(system, policy, jobs=50_000, seed=1).verdict
    assert verdict.status == "too short"
    assert verdict.reason.endswith("no feasible run is long enough to judge it.")
