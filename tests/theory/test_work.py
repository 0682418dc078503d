"""The identity for the mean work: its lower bound and the waste, against theory and simulation."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

import quickswap as qs
from quickswap import theory
from quickswap.theory.work import weighted_mean_size
from verification.agreement import near, problems
from verification.known import FOUR, one_or_all
from verification.systems import mixed, random_system, single

POLICIES = ("fcfs", "first-fit", "msf", "adaptive-quickswap", "static-quickswap")
PREEMPTIVE = ("server-filling", "max-weight")
DETERMINISTIC = qs.System(
    5,
    [
        qs.JobClass(need=1, arrival_rate=0.9, size=qs.Deterministic(mean=1.0)),
        qs.JobClass(need=2, arrival_rate=0.4, size=qs.Uniform(low=0.0, high=3.0)),
        qs.JobClass(need=5, arrival_rate=0.1, size=qs.LogNormal(mean=1.0, scv=2.0)),
    ],
)


def spent(result: qs.Result) -> float:
    """What idle servers cost the weighted mean response time, whatever the reason."""
    parts = (result.waste_no_job_waits, result.waste_none_fits, result.waste_held_back)
    return sum(each.value for each in parts)


class TestIdentity:
    """What is above the bound is the cost of idle servers, in every run."""

    @pytest.mark.parametrize(
        ("policy", "engine"),
        [
            *product(POLICIES, ("jumps", "events")),
            *product(PREEMPTIVE, ("events",)),  # they have a loop of their own
        ],
    )
    def test_of_exponential_sizes(self, policy: str, engine: str) -> None:
        system = mixed(6, [(1, 1.0, 1.0), (2, 0.5, 2.0), (5, 0.2, 0.5)], 0.6)
        result = qs.simulate(system, policy, jobs=300_000, engine=engine)
        squares = sum(
            each.arrival_rate * (each.need * each.size.mean) ** 2 for each in system.classes
        )
        bound = squares / (36 * system.load * (1 - system.load))
        estimate = result.weighted_mean_response_time
        assert problems([near("weighted mean", estimate, bound + spent(result))]) == []
        assert spent(result) == pytest.approx(estimate.value - bound, rel=0.05)

    @pytest.mark.parametrize("policy", POLICIES)
    def test_of_other_sizes(self, policy: str) -> None:
        result = qs.simulate(DETERMINISTIC, policy, jobs=400_000)
        wasted = result.weighted_mean_response_time.value - identity_bound(DETERMINISTIC)
        assert spent(result) == pytest.approx(wasted, rel=0.05)

    def test_preemptive_policies_with_other_sizes_have_no_waste(self) -> None:
        result = qs.simulate(DETERMINISTIC, "server-filling", jobs=20_000)
        assert spent(result) != spent(result)
        assert result.lower_bound == pytest.approx(weighted_mean_size(DETERMINISTIC))


class InOrder:
    """In order of arrival, with or without a view of the jobs."""

    def __init__(self, sees_jobs: bool) -> None:
        self.sees_jobs = sees_jobs

    def start(self, view: qs.View) -> int | None:
        return 0 if view.waiting[0] and view.free else None


def identity_bound(system: qs.System) -> float:
    """The bound of the identity, written out, also where the mean size is larger."""
    spare = system.servers * (1 - system.load)
    waiting = sum(
        each.arrival_rate * each.need * each.size.moment(2) * (each.need / spare - 1)
        for each in system.classes
    )
    used = system.servers * system.load
    return waiting / (2 * used) + weighted_mean_size(system)


class TestReasons:
    def test_a_single_server_wastes_nothing(self) -> None:
        result = qs.simulate(single(0.8), "fcfs", jobs=20_000)
        assert spent(result) == 0.0

    def test_first_fit_holds_nothing_back(self) -> None:
        result = qs.simulate(FOUR, "first-fit", jobs=100_000)
        assert result.waste_held_back.value == 0.0
        assert result.waste_none_fits.value > 0.0

    def test_one_job_at_a_time_is_idle_without_jobs_waiting(self) -> None:
        light = qs.System(4, [qs.JobClass(need=1, arrival_rate=0.01, size=qs.Exponential(mean=1))])
        result = qs.simulate(light, "fcfs", jobs=100_000)
        assert result.waste_none_fits.value == result.waste_held_back.value == 0.0
        assert result.waste_no_job_waits.value > 0.0

    def test_the_drain_of_quickswap_holds_jobs_back(self) -> None:
        result = qs.simulate("one-or-all:load=0.9", "msfq", jobs=400_000)
        assert result.waste_held_back.value > 0.5 * spent(result)


class TestLowerBound:
    def test_known_values(self) -> None:
        assert theory.lower_bound(FOUR.with_load(0.8)) == pytest.approx(2.111111111)
        assert (
            theory.lower_bound("one-or-all:load=0.9")
            < theory.msfq.exact(qs.load("one-or-all:load=0.9"), 31).weighted_mean_response_time
        )

    def test_of_one_server_it_is_the_mean_in_order_of_arrival(self) -> None:
        """Pollaczek and Khinchin: no policy that does not use sizes does better on average."""
        size = qs.LogNormal(mean=2.0, scv=3.0)
        system = qs.System(1, [qs.JobClass(need=1, arrival_rate=0.35, size=size)])
        mean = theory.classical.mg1(0.35, size).mean_response_time
        assert theory.lower_bound(system) == pytest.approx(mean)

    @pytest.mark.parametrize("seed", range(12))
    def test_no_policy_is_below_it(self, seed: int) -> None:
        system = random_system(seed)
        for policy in ("first-fit", "adaptive-quickswap", "static-quickswap"):
            result = qs.simulate(system, policy, jobs=40_000, allow_unstable=True)
            if result.stable:
                assert result.waste.high > 0
                assert result.waste.value == pytest.approx(
                    result.weighted_mean_response_time.value - theory.lower_bound(system, policy)
                )

    @pytest.mark.parametrize("solver", [theory.fcfs.exact, theory.server_filling.exact])
    def test_exact_means_are_above_it(self, solver: object) -> None:
        for load in (0.1, 0.5, 0.7):
            system = one_or_all(4, 3.0, 0.25).with_load(load)
            assert callable(solver)
            assert solver(system).weighted_mean_response_time > theory.lower_bound(system)

    def test_policies_that_use_sizes_have_the_weighted_mean_size(self) -> None:
        system = single(0.8)
        mean = weighted_mean_size(system)
        assert theory.lower_bound(system) == pytest.approx(mean / 0.2)
        assert theory.lower_bound(system, "server-filling:order=arrival") > mean
        assert theory.lower_bound(system, "server-filling:order=srpt") == pytest.approx(mean)

    def test_custom_policies_that_see_jobs_may_use_sizes(self) -> None:
        for sees, bound in ((False, 5.0), (True, 1.0)):
            system = qs.System(1, [qs.JobClass(1, 0.8, qs.Exponential(mean=1.0))])
            result = qs.simulate(system, InOrder(sees), jobs=20_000)
            assert result.lower_bound == pytest.approx(bound)
            assert (spent(result) == 0.0) != sees

    @pytest.mark.filterwarnings("ignore::quickswap.InfiniteVarianceWarning")
    def test_without_poisson_arrivals_or_a_finite_variance_it_is_the_weighted_mean_size(
        self,
    ) -> None:
        renewal = qs.Renewal(qs.Deterministic(mean=2.0))
        heavy = qs.Pareto(mean=1.0, shape=1.8)
        for change in ({"arrivals": renewal}, {"size": heavy}):
            system = qs.System(1, [replace(single(0.5).classes[0], **change)])
            assert theory.lower_bound(system) == pytest.approx(system.classes[0].size.mean)
