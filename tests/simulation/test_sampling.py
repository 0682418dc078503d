"""The distributions and arrivals that the core draws from, against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import quickswap as qs
from quickswap.theory import classical
from verification.agreement import near, problems

pytestmark = pytest.mark.filterwarnings("error")

JOBS = 20_000
UNIT = qs.Exponential(mean=1.0)

SIZES = {
    "phase type": qs.PhaseType([0.2, 0.8, 0], [[-2, 1, 0.5], [0.5, -1, 0], [0, 3, -4]]),
    "Coxian": qs.PhaseType(rates=[4, 1, 0.5], continuation=[0.6, 0.3]),
    "mixture": qs.Mixture([0.3, 0.7], [qs.Uniform(1, 2), qs.PhaseType(rates=[2], continuation=[])]),
    "nested": qs.Mixture([0.5, 0.5], [qs.Mixture([1], [qs.Erlang(3, 2)]), qs.Weibull(2, 1)]),
    "table of SciPy": qs.Tabulated.of(stats.gamma(0.6, scale=2)),
    "table": qs.Tabulated([-9, -1, 2, 12], [0.1, 1.0, 1.2, 4.0]),
}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_sizes_have_their_distribution(size: qs.Distribution) -> None:
    """On many servers no job waits, so response times are sizes."""
    system = qs.System(10_000, [qs.JobClass(1, 1.0, size)])
    sizes = qs.simulate(system, "fcfs", jobs=JOBS, warmup=0.0).overall.response_time
    error = math.sqrt(size.var / JOBS)
    assert sizes.mean.value == pytest.approx(size.mean, abs=4 * error)
    for value, share in ((sizes.p50, 0.5), (sizes.p90, 0.1), (sizes.p99, 0.01)):
        spread = 4 * math.sqrt(share * (1 - share) / JOBS)
        # the buckets of the histogram have a relative width of about 1 %
        assert size.sf(value.value * 1.01) <= share + spread
        assert size.sf(value.value * 0.99) >= share - spread


@pytest.mark.parametrize("name", ["phase type", "mixture", "table of SciPy"])
def test_one_server_has_the_mean_of_pollaczek_and_khinchine(name: str) -> None:
    size = SIZES[name]
    system = qs.System(1, [qs.JobClass(1, 1.0, size)]).with_load(0.6)
    result = qs.simulate(system, "fcfs", jobs=200_000)
    exact = classical.mg1(system.arrival_rate, size).mean_response_time
    assert problems([near("response", result.mean_response_time, exact)]) == []


def single(arrivals: qs.Arrivals, size: qs.Distribution = UNIT) -> qs.System:
    return qs.System(1, [qs.JobClass(1, arrivals=arrivals, size=size)])


def map_mean_response(arrivals: qs.MarkovianArrivals, service: float) -> float:
    """E[T] of MAP/M/1 by Neuts's R, the minimal solution of D1 + R (D0 - m I) + m R^2 = 0."""
    d0, d1 = np.array(arrivals.d0), np.array(arrivals.d1)
    one, eye = np.ones(len(d0)), np.eye(len(d0))
    r = np.zeros_like(d0)
    for _ in range(5_000):
        r = (d1 + service * r @ r) @ np.linalg.inv(service * eye - d0)
    # level 0: pi_0 (D0 + m R) = 0 and pi_0 (I - R)^-1 1 = 1
    inverse = np.linalg.inv(eye - r)
    balance = np.vstack([(d0 + service * r).T, inverse @ one])
    empty = np.linalg.lstsq(balance, np.append(np.zeros(len(d0)), 1.0))[0]
    return float(empty @ r @ inverse @ inverse @ one) / arrivals.rate


@pytest.mark.parametrize(
    "arrivals",
    [
        qs.MarkovianArrivals([[0, 0.1], [0, 0]], [[0.2, 0], [0.3, 0.9]]),
        qs.MarkovianArrivals([[0, 2, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 0], [0, 0, 0], [1, 1, 0]]),
    ],
    ids=["bursts", "phases"],
)
def test_markovian_arrivals_at_one_server(arrivals: qs.MarkovianArrivals) -> None:
    result = qs.simulate(single(arrivals), "fcfs", jobs=300_000)
    exact = map_mean_response(arrivals, 1.0)
    assert problems([near("response", result.mean_response_time, exact)]) == []


def test_a_modulated_process_is_the_same_as_a_map() -> None:
    rates, switching = [0.2, 0.9], [[0, 0.1], [0.3, 0]]
    modulated = single(qs.MarkovModulatedPoisson(rates, switching))
    same = single(qs.MarkovianArrivals(switching, [[0.2, 0], [0, 0.9]]))
    one, other = (qs.simulate(each, "fcfs", jobs=JOBS) for each in (modulated, same))
    assert one.mean_response_time.value == pytest.approx(other.mean_response_time.value, rel=1e-9)


def test_batches_at_one_server() -> None:
    """M^X/M/1: E[N] = rho (E[X] + E[X^2]) / (2 E[X] (1 - rho))."""
    jobs = qs.Empirical([1, 4], [0.75, 0.25])
    result = qs.simulate(single(qs.BatchArrivals(qs.Poisson(0.3), jobs)), "fcfs", jobs=200_000)
    load = 0.3 * jobs.mean
    present = load * (jobs.mean + jobs.second_moment) / (2 * jobs.mean * (1 - load))
    checks = [near("response", result.mean_response_time, present / load)]
    assert problems(checks) == []
    assert result.inputs.engine == "events"


@pytest.mark.parametrize("policy", ["first-fit", "server-filling"])
def test_every_check_holds_with_these_arrivals(policy: str) -> None:
    processes: list[qs.Arrivals] = [
        qs.MarkovianArrivals([[0, 0.1], [0, 0]], [[0.2, 0], [0.3, 0.9]]),
        qs.BatchArrivals(qs.PiecewisePoisson([1, 0, 2], [3, 5, 2]), qs.Empirical([1, 5])),
        qs.BatchArrivals(qs.Renewal(qs.Erlang(2, 1.0)), qs.Deterministic(3)),
        qs.GivenArrivals([0, 0, 1.5], period=4),
    ]
    classes = [
        qs.JobClass(2**i, arrivals=arrivals, size=UNIT) for i, arrivals in enumerate(processes)
    ]
    system = qs.System(8, classes).with_load(0.5)
    result = qs.simulate(system, policy, jobs=6_000, debug=True)
    for each, spec in zip(result.classes, system.classes, strict=True):
        error = math.sqrt((spec.arrivals.dispersion + 0.1) / each.jobs)
        assert each.throughput.value == pytest.approx(spec.arrival_rate, rel=4 * error)


def test_rates_by_time_are_followed() -> None:
    """In service on many servers: none in the off phase, and Poisson numbers in the on phase."""
    arrivals = qs.PiecewisePoisson([0.0, 40.0, 10.0], [50.0, 30.0, 20.0])
    system = qs.System(10_000, [qs.JobClass(1, arrivals=arrivals, size=qs.Uniform(0, 1))])
    result = qs.simulate(system, "fcfs", jobs=30_000, trajectory=4_000, replications=1)
    assert result.trajectory is not None
    time = np.array(result.trajectory.times) % 100
    present = np.array(result.trajectory.counts)[:, 0]
    for low, high, rate in ((2, 49, 0), (52, 79, 40), (82, 99, 10)):
        inside = present[(time > low) & (time < high)]
        assert len(inside) > 100
        error = math.sqrt(rate / 2 / len(inside))
        assert inside.mean() == pytest.approx(rate / 2, abs=6 * error)


@pytest.mark.parametrize("needs", [(1,), (1, 2)])
def test_a_backlog_that_grows_within_a_cycle_is_no_evidence(needs: tuple[int, ...]) -> None:
    """At load 0.6 the first half of a cycle is overloaded; the backlog shrinks in the second."""
    arrivals = qs.PiecewisePoisson([1.1, 0.1], [500.0, 500.0])
    classes = [qs.JobClass(need, arrivals=arrivals, size=UNIT) for need in needs]
    system = qs.System(sum(needs), classes).with_load(0.6)
    cycle = 1000 * system.arrival_rate
    results = [
        qs.simulate(system, "first-fit", jobs=int(cycles * cycle), replications=1)
        for cycles in (0.4, 2.4, 100)
    ]
    assert [each.verdict.status for each in results] == ["too short", "too short", "stable"]
    assert all("cycles of the arrivals" in each.verdict.reason for each in results[:2])


def test_given_arrivals_repeat() -> None:
    """Times 0, 0, 1, 5 on one server, each for 1 s: of every four jobs two wait for 1 s."""
    arrivals = qs.GivenArrivals([0, 0, 1, 5], period=10)
    result = qs.simulate(single(arrivals, qs.Deterministic(1.0)), "fcfs", jobs=4_000, warmup=0.0)
    assert result.overall.waiting_time.mean.value == pytest.approx(0.5)
    assert result.utilisation.value == pytest.approx(0.4, rel=1e-2)
    assert any("repeat every 10 s" in note for note in result.notes)
