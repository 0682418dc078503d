"""Points: descriptions of simulations, with a key."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import quickswap as qs
from quickswap.engine.settings import SETTINGS
from verification.known import FOUR

CHANGES: dict[str, Any] = {
    "jobs": 3000,
    "precision": 0.5,
    "precision_of": "weighted",
    "seed": 2,
    "engine": "events",
    "replications": 2,
    "warmup": "mser5",
    "slowdown_bound": 1.0,
    "plain_estimates": True,
    "confidence": 0.9,
    "percentiles": "95",
    "trajectory": 5,
    "max_in_system": 500,
    "allow_unstable": True,
}


def test_a_point_runs_as_simulate_does() -> None:
    settings: dict[str, Any] = {"jobs": 2000, "seed": 3, "warmup": "mser5", "trajectory": 10}
    point = qs.Point.of(FOUR, "msf", **settings)
    assert point.run() == qs.simulate(FOUR, "msf", **settings)
    assert point.run(threads=2) == point.run()
    assert (point.system, point.policy) == (FOUR, qs.MSF())
    assert point.settings == settings | {
        k: v for k, v in point.settings.items() if k not in settings
    }
    assert qs.Point(point.run().inputs) == point


def test_every_input_changes_the_key() -> None:
    assert set(CHANGES) == set(SETTINGS)
    points = [qs.Point.of(FOUR, "msf", jobs=2000)]
    for name, value in CHANGES.items():
        needed = {"precision": 0.3} if name == "precision_of" else {}
        points.append(qs.Point.of(FOUR, "msf", **{"jobs": 2000} | needed | {name: value}))
    points += [qs.Point.of(FOUR, "fcfs", jobs=2000), qs.Point.of("borg-b", "msf", jobs=2000)]
    assert len(set(points)) == len({each.key for each in points}) == len(points)


def test_equal_points_have_one_key_however_they_are_given() -> None:
    one = qs.Point.of(FOUR, qs.MSFQ(0) if FOUR.one_or_all else qs.MSF(), jobs=2000, seed=1)
    other = qs.Point.of(qs.System.from_dict(FOUR.to_dict()), "MSF", jobs=2000)
    assert one == other
    assert one.key == other.key
    assert hash(one) == hash(other)
    assert qs.Point.from_json(one.to_json()) == one
    assert one != "msf"


def test_a_point_travels_as_text() -> None:
    point = qs.Point.of(FOUR, "msfq:threshold=3" if FOUR.one_or_all else "msf", jobs=2000)
    sent = pickle.dumps(point)
    assert point.to_json().encode() in sent
    assert pickle.loads(sent) == point


def test_inputs_hold_the_system_and_the_policy_as_objects() -> None:
    policy = qs.AdaptiveQuickswap()
    result = qs.Point.of(FOUR, policy, jobs=2000).run()
    assert result.system is result.inputs.system is FOUR
    assert result.policy is policy
    again = qs.Result.from_json(result.to_json())
    assert (again.system, again.policy, again.inputs) == (FOUR, policy, result.inputs)


def test_the_key_knows_the_version() -> None:
    point = qs.Point.of(FOUR, "msf")
    data = json.loads(point.to_json())
    assert qs.Point.from_json(json.dumps(data | {"version": "0.0"})).key != point.key


@pytest.mark.parametrize(
    ("arguments", "settings", "kind", "part"),
    [
        ((FOUR, "mfs"), {}, qs.PolicyError, "did you mean 'msf'"),
        ((FOUR, "msf"), {"threads": 3}, qs.QuickswapError, "unknown setting of a point"),
        ((FOUR, "msf"), {"jobs": 0}, qs.QuickswapError, "jobs is 0"),
        ((FOUR, "server-filling"), {"engine": "jumps"}, qs.QuickswapError, "preemptive"),
        (("nowhere", "msf"), {}, qs.ModelError, "nowhere"),
    ],
)
def test_mistakes(
    arguments: tuple[Any, ...], settings: dict[str, Any], kind: type[Exception], part: str
) -> None:
    with pytest.raises(kind, match=part):
        qs.Point.of(*arguments, **settings)


def test_what_is_no_point_is_refused() -> None:
    with pytest.raises(qs.QuickswapError, match="use Point"):
        qs.Point("msf")  # type: ignore[arg-type] # no system: what is wrong on purpose
    with pytest.raises(qs.QuickswapError, match="not a quickswap point"):
        qs.Point.from_json("{}")
