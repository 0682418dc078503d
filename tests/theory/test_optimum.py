"""The best policy of small systems: its value, its bound, its decisions and its policy."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import quickswap as qs
from quickswap import theory


def system_of(servers: int, *needs: int, load: float) -> qs.System:
    rates = (1.0, 0.4, 0.2)
    classes = [
        qs.JobClass(need, rate, qs.Exponential(mean=1.0), f"need {need}")
        for need, rate in zip(needs, rates, strict=False)
    ]
    return qs.System(servers, classes).with_load(load)


def decided(found: theory.Optimum, waiting: list[int], running: list[int]) -> int | None:
    view = SimpleNamespace(waiting=waiting, running=running)
    return found.policy.start(view)  # type: ignore[arg-type]  # a view of counts alone


@pytest.fixture(scope="module")
def best() -> theory.Optimum:
    return theory.optimum("one-or-all:k=3,load=0.6", tolerance=1e-5)


def test_one_class_is_a_plain_queue() -> None:
    system = system_of(4, 1, load=0.7)
    found = theory.optimum(system, tolerance=1e-7)
    exact = theory.classical.mmk(4, system.arrival_rate, 1.0).mean_response_time
    assert found.value == pytest.approx(exact, rel=1e-6)
    assert found.bound <= exact


def test_one_server_serves_by_the_c_mu_rule() -> None:
    """Two classes on one server: cost per second times rate of completion decides."""
    classes = [
        qs.JobClass(1, 0.2, qs.Exponential(mean=1.0), "slow"),
        qs.JobClass(1, 0.4, qs.Exponential(mean=0.5), "fast"),
    ]
    system = qs.System(1, classes)
    for costs, first in (({"slow": 1.0, "fast": 1.0}, 1), ({"slow": 3.0, "fast": 1.0}, 0)):
        found = theory.optimum(system, costs, tolerance=1e-4)
        assert decided(found, waiting=[2, 2], running=[0, 0]) == first
        assert decided(found, waiting=[0, 0], running=[0, 0]) is None
        # Cobham's formula for nonpreemptive priorities; residual work of the job in service
        residual, loads = 0.2 * 1.0 + 0.4 * 0.25, (0.2, 0.2)
        waits = [0.0, 0.0]
        waits[first] = residual / (1 - loads[first])
        waits[1 - first] = residual / ((1 - loads[first]) * (1 - sum(loads)))
        number = [0.2 * (waits[0] + 1.0), 0.4 * (waits[1] + 0.5)]
        value = sum(cost * each for cost, each in zip(costs.values(), number, strict=True))
        assert found.value == pytest.approx(value, rel=2e-4)
        assert found.bound <= value


def test_no_policy_is_better(best: theory.Optimum) -> None:
    assert best.bound <= best.value + best.error
    assert best.value + best.error - best.bound <= 1e-5 * best.value
    assert best.mean_response_time == pytest.approx(best.value)
    least = min(
        theory.best_threshold(best.system, drain=each).value for each in ("on_demand", "always")
    )
    assert best.value < 0.98 * least


def test_the_policy_has_the_value(best: theory.Optimum) -> None:
    chain = theory.chain.exact(best.system, best.policy, tolerance=1e-6)
    assert chain.mean_response_time == pytest.approx(best.value, abs=best.error + chain.error)
    assert chain.mean_response_time + chain.error >= best.bound
    result = qs.simulate(best.system, best.policy, jobs=20_000, seed=1)
    gap = result.mean_response_time - best.value
    assert abs(gap.value) < 2 * gap.half_width
    assert result.policy_label == "optimum (mean)"


def test_the_decisions(best: theory.Optimum) -> None:
    """Light jobs go before heavy ones if many wait; the more heavy ones wait, the more it takes."""
    table = best.thresholds
    first = [int((row < 0).argmax()) for row in table.T[1:4]]
    assert first == sorted(first)
    assert 0 < first[0] < first[-1]
    for served in (0, 1, 2):
        opens = int((table[:, 2] < served).argmax())
        closed = 1 if served == 0 else None
        assert decided(best, waiting=[opens, 2], running=[served, 0]) == 0
        assert decided(best, waiting=[opens - 1, 2], running=[served, 0]) == closed
    # more jobs than the table has count as the most it has
    assert decided(best, waiting=[5000, 1], running=[0, 0]) == 0
    assert decided(best, waiting=[1, 5000], running=[0, 0]) == 1


def test_the_weighted_mean_and_its_bound() -> None:
    system = qs.load("one-or-all:k=3,load=0.5")
    found = theory.optimum(system, "weighted", tolerance=1e-3)
    assert theory.lower_bound(system) < found.bound <= found.value + found.error
    assert found.weighted_mean_response_time == pytest.approx(found.value)
    assert found.value < theory.best_threshold(system, "weighted").value


def test_three_classes() -> None:
    system = system_of(3, 1, 2, 3, load=0.3)
    found = theory.optimum(system, tolerance=5e-2)
    others = [
        theory.chain.exact(system, each, tolerance=1e-2).mean_response_time
        for each in ("msf", "adaptive-quickswap")
    ]
    assert found.bound < found.value < min(others)
    with pytest.raises(qs.ModelError, match="thresholds of the optimum"):
        _ = found.thresholds


@pytest.mark.parametrize("model", ["one-or-all:k=8,load=0.5", "four-class"])
def test_the_policy_is_for_its_system(best: theory.Optimum, model: str) -> None:
    with pytest.raises(qs.PolicyError, match="is for 3 servers and needs 1, 3"):
        qs.simulate(model, best.policy, jobs=1000)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("one-or-all:load=1.1", {}, "no mean response time"),
        ("one-or-all:k=4", {"cost": "median"}, "cost"),
        ("one-or-all:k=4", {"cost": {"light": 1.0, "dark": 1.0}}, "unknown class: 'dark'"),
        ("one-or-all:k=4", {"cost": {"light": 1.0, "heavy": 0.0}}, "cost of heavy"),
        ("one-or-all:k=4", {"cost": {"light": 1.0}}, "cost of heavy"),
        ("one-or-all:k=4", {"cost": {"light": 1e-300, "heavy": 1e300}}, "factor"),
        ("one-or-all:k=4", {"tolerance": 0.0}, "tolerance"),
        ("one-or-all:k=4", {"max_states": 100}, "max_states"),
        ("kth-sp2", {}, "exponential"),
    ],
)
def test_mistakes(model: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(qs.QuickswapError, match=message):
        theory.optimum(model, **options)  # type: ignore[arg-type]  # wrong on purpose
