"""Several policies on the same jobs: differences, the best, and the comparison as a value."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from statistics import median
from typing import Any

import pytest

import quickswap as qs
from quickswap.simulation.comparison import DEFAULT_POLICIES
from verification.agreement import near, problems
from verification.known import FOUR, one_or_all

JOBS = 100_000
ONE_OR_ALL = one_or_all(4, 1.35, 0.15)
BUSY = FOUR.with_rate(3.0)
PAIR = ["msf", "adaptive-quickswap"]


def pair(engine: str, jobs: int = JOBS, **settings: Any) -> tuple[qs.Result, qs.Result]:
    msf, adaptive = qs.compare(BUSY, PAIR, jobs=jobs, engine=engine, **settings).results
    return msf, adaptive


def quadrature(one: qs.Estimate, other: qs.Estimate) -> float:
    return math.hypot(one.half_width, other.half_width)


class TestDifference:
    def test_common_jobs_make_its_interval_narrow(self) -> None:
        """The means of MSF and Adaptive Quickswap go together with a correlation of about .7."""
        ratios = []
        for seed in range(7):
            msf, adaptive = pair("events", seed=seed, plain_estimates=True)
            apart = quadrature(msf.mean_response_time, adaptive.mean_response_time)
            ratios.append(apart / qs.difference(msf, adaptive).half_width)
        assert median(ratios) > 1.4

    def test_control_variates_make_it_narrower(self) -> None:
        """Of two policies whose response times depend on the work present."""
        ratios = []
        for seed in range(7):
            widths = []
            for plain in (True, False):
                one, other = qs.compare(
                    ONE_OR_ALL,
                    [qs.MSFQ(1), qs.MSFQ(3)],
                    jobs=JOBS,
                    seed=seed,
                    plain_estimates=plain,
                ).results
                widths.append(qs.difference(one, other).half_width)
            ratios.append(widths[0] / widths[1])
        assert median(ratios) > 1.2

    def test_of_policies_that_are_nearly_the_same_it_is_very_narrow(self) -> None:
        policies = [qs.MSFQ(2), qs.MSFQ(3)]
        one, other = qs.compare(
            ONE_OR_ALL, policies, jobs=JOBS, engine="events", plain_estimates=True
        ).results
        apart = quadrature(one.mean_response_time, other.mean_response_time)
        gap = qs.difference(one, other)
        assert gap.half_width < apart / 4
        assert gap.high < 0  # from these few jobs it is plain which is better
        assert gap.value == one.mean_response_time.value - other.mean_response_time.value

    def test_it_holds_the_difference_of_independent_runs(self) -> None:
        gap = qs.difference(*pair("events", jobs=400_000))
        msf, adaptive = pair("jumps", jobs=1_000_000, seed=9)
        target = msf.mean_response_time.value - adaptive.mean_response_time.value
        width = quadrature(msf.mean_response_time, adaptive.mean_response_time)
        assert problems([near("difference", gap, target, width)]) == []

    def test_of_a_policy_to_itself_it_is_nothing(self) -> None:
        """MSFQ(k) is Adaptive Quickswap, so on the same jobs the two do the same."""
        one, other = qs.compare(
            ONE_OR_ALL, ["msfq:threshold=4", "adaptive-quickswap"], jobs=JOBS, engine="events"
        ).results
        assert qs.difference(one, other) == qs.Estimate(0.0, 0.0)

    @pytest.mark.parametrize(
        "quantity", ["mean_response_time", "weighted_mean_response_time", "jain_index"]
    )
    def test_every_quantity(self, quantity: str) -> None:
        one, other = pair("events", plain_estimates=True)
        gap = qs.difference(one, other, quantity)
        assert gap.value == getattr(one, quantity).value - getattr(other, quantity).value
        assert gap.half_width < quadrature(getattr(one, quantity), getattr(other, quantity))

    def test_of_one_class(self) -> None:
        one, other = pair("events", plain_estimates=True)
        gap = qs.difference(one, other, cls=FOUR.names[3])
        means = [each.classes[3].mean_response_time.value for each in (one, other)]
        assert gap.value == means[0] - means[1]

    def test_what_cannot_be_paired_is_refused(self) -> None:
        one, other = pair("events", jobs=2000)
        longer, _ = pair("events", jobs=4000)
        seeded, _ = pair("events", jobs=2000, seed=2)
        jumps, _ = pair("jumps", jobs=2000)
        for wrong in (longer, seeded, jumps):
            with pytest.raises(qs.QuickswapError, match="cannot be paired: they need the same"):
                qs.difference(one, wrong)
        with pytest.raises(qs.QuickswapError, match="read from a file"):
            qs.difference(one, qs.Result.from_json(other.to_json()))
        with pytest.raises(qs.QuickswapError, match="unknown quantity"):
            qs.difference(one, other, "median")
        with pytest.raises(qs.QuickswapError, match="unknown class"):
            qs.difference(one, other, cls="unknown")


def test_errors_carry_fields() -> None:
    result = qs.simulate(ONE_OR_ALL, "msf", jobs=400)
    for call, argument in (
        (lambda: qs.difference(result, result, "median"), "quantity"),
        (lambda: qs.difference(result, result, cls="unknown"), "cls"),
        (lambda: qs.Comparison((result,)).best(3), "point"),
        (lambda: qs.compare(FOUR, PAIR, rates=[1.0, 1.0]), "rates"),
        (lambda: qs.compare(FOUR, [], loads=[0.5]), "policies"),
        (lambda: qs.compare(FOUR, PAIR, loads=[1.1]), "arrival rate"),
    ):
        with pytest.raises(qs.QuickswapError) as caught:
            call()
        error = caught.value
        assert error.argument == argument
        assert error.given is not None
        assert error.allowed or error.advice
        assert error.advice.partition("{")[0] in str(error)


class TestBest:
    def test_it_is_the_least_and_those_tied(self) -> None:
        comparison = qs.compare(FOUR, ["msf", "adaptive-quickswap", "smash:window=inf"], jobs=JOBS)
        assert comparison.best(0)[0] == "Adaptive Quickswap"
        assert comparison.best(0) == ("Adaptive Quickswap",)
        tied = qs.compare(FOUR, ["msf", "smash:window=inf"], jobs=20_000, engine="events")
        assert set(tied.best(0)) == {"MSF", "Smash(inf)"}

    def test_the_quantity_matters(self) -> None:
        """First-Fit has the smallest mean and the greatest weighted mean of the two."""
        comparison = qs.compare(FOUR, ["first-fit", "adaptive-quickswap"], jobs=400_000)
        assert comparison.best(0, "weighted_mean_response_time") == ("Adaptive Quickswap",)
        assert comparison.best(0, "mean_response_time") == ("First-Fit",)
        with pytest.raises(qs.QuickswapError, match="unknown quantity"):
            comparison.best(0, "events")

    def test_the_unstable_do_not_count(self) -> None:
        comparison = qs.compare(FOUR.with_rate(4.0), ["fcfs", "msf"], jobs=JOBS)
        assert comparison.best(0) == ("MSF",)
        assert qs.compare(FOUR.with_rate(4.0), ["fcfs"], jobs=JOBS).best(0) == ()

    def test_results_read_from_a_file_are_compared_as_independent(self) -> None:
        comparison = qs.compare(FOUR, PAIR, jobs=JOBS)
        again = qs.Comparison.from_json(comparison.to_json())
        assert again.best(0)[0] == comparison.best(0)[0]


class TestPoints:
    def test_by_load_and_by_rate(self) -> None:
        by_load = qs.compare(FOUR, PAIR, loads=[0.6, 0.3], jobs=2000)
        assert [round(p[0].system.load, 9) for p in by_load.points] == [0.3, 0.6]
        by_rate = qs.compare(FOUR, PAIR, rates=[3.0, 1.0], jobs=2000)
        assert [p[0].system.arrival_rate for p in by_rate.points] == pytest.approx([1.0, 3.0])
        assert all(len(point) == 2 for point in by_load.points + by_rate.points)
        assert by_rate.policies == ("MSF", "Adaptive Quickswap")

    def test_the_default_policies(self) -> None:
        assert len(qs.compare(FOUR, jobs=400).results) == len(DEFAULT_POLICIES)

    def test_each_result_is_that_of_simulate(self) -> None:
        comparison = qs.compare(FOUR, PAIR, loads=[0.4], jobs=4000, seed=5)
        alone = qs.simulate(FOUR.with_load(0.4), "msf", jobs=4000, seed=5)
        assert comparison.results[0].to_json() == alone.to_json()

    def test_mistakes(self) -> None:
        with pytest.raises(qs.QuickswapError, match="rates or loads, not both"):
            qs.compare(FOUR, PAIR, rates=[1.0], loads=[0.5])
        with pytest.raises(qs.QuickswapError, match="no policy is given"):
            qs.compare(FOUR, [])
        with pytest.raises(qs.QuickswapError, match="no rate or load"):
            qs.compare(FOUR, PAIR, loads=[])
        with pytest.raises(
            qs.QuickswapError, match=r"load is .*; it must be a positive finite number"
        ):
            qs.compare(FOUR, PAIR, loads=[-0.5])
        with pytest.raises(qs.QuickswapError, match=r"loads is 0\.5; it must be .* numbers"):
            qs.compare(FOUR, PAIR, loads=0.5)  # type: ignore[arg-type]  # wrong on purpose
        with pytest.raises(qs.QuickswapError, match=r"rate is '1'; it must be .* finite number"):
            qs.compare(FOUR, PAIR, rates=["1"])  # type: ignore[list-item]  # wrong on purpose
        with pytest.raises(qs.PolicyError, match="policies is None; it must be a list of policies"):
            qs.compare(FOUR, None)  # type: ignore[arg-type]  # wrong on purpose
        with pytest.raises(qs.PolicyError, match="MSFQ serves"):
            qs.compare(FOUR, ["msf", "msfq"], jobs=10**12)  # rejected before anything runs

    def test_what_is_given_twice_is_refused(self) -> None:
        with pytest.raises(qs.QuickswapError, match=r"the load 0\.5 is given twice"):
            qs.compare(FOUR, PAIR, loads=[0.5, 0.7, 0.50])
        with pytest.raises(qs.QuickswapError, match="the arrival rate 1 is given twice"):
            qs.compare(FOUR, PAIR, rates=[1.0, 3.0, 1])
        with pytest.raises(qs.PolicyError, match=r"policy Smash\(inf\) is given twice"):
            qs.compare(FOUR, ["smash:window=inf", "msf", qs.Smash(None)])

    def test_one_policy_needs_no_list(self) -> None:
        assert qs.compare(FOUR, qs.MSF(), jobs=400) == qs.compare(FOUR, ["msf"], jobs=400)

    def test_progress_covers_all_simulations(self) -> None:
        seen: list[tuple[int, int]] = []

        def note(done: int, whole: int) -> None:
            seen.append((done, whole))

        qs.compare(FOUR, PAIR, loads=[0.3, 0.5], jobs=20_000, progress=note)
        assert {whole for _, whole in seen} == {80_000}
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert seen[-1][0] == 80_000


class TestValue:
    def test_json_comes_back_equal(self) -> None:
        comparison = qs.compare(FOUR, ["msf", "fcfs"], rates=[2.0, 4.0], jobs=40_000)
        again = qs.Comparison.from_json(comparison.to_json())
        assert again.to_json() == comparison.to_json()
        assert again == comparison
        assert again == replace(comparison, seconds=1.0)

    def test_the_frame_has_every_result(self) -> None:
        comparison = qs.compare(FOUR, PAIR, rates=[2.0, 3.0], jobs=2000)
        frame = comparison.to_frame()
        assert frame.height == sum(each.to_frame().height for each in comparison.results)
        assert sorted(frame["policy"].unique()) == ["Adaptive Quickswap", "MSF"]
        assert len(frame["arrival_rate"].unique()) == 2

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"quickswap_comparison": 2, "results": []}'])
    def test_what_is_no_comparison_is_refused(self, text: str) -> None:
        with pytest.raises(qs.QuickswapError, match="comparison"):
            qs.Comparison.from_json(text)


def test_results_pair_whatever_ends_in_one_instant() -> None:
    """With equal sizes several jobs end at once, and runs go beyond the requested jobs."""
    classes = [
        qs.JobClass(need, rate, qs.Deterministic(1.0)) for need, rate in ((1, 3.0), (8, 0.4))
    ]
    system = qs.System(8, classes)
    policies = ("msf", "fcfs", "first-fit", "adaptive-quickswap", "static-quickswap")
    completed = set()
    for seed in range(1, 4):
        results = [
            qs.simulate(system, policy, jobs=2_003, seed=seed, engine="events")
            for policy in policies
        ]
        completed |= {each.completed for each in results}
        for first, second in combinations(results, 2):
            for quantity in ("mean_response_time", "weighted_mean_response_time"):
                gap = qs.difference(first, second, quantity)
                assert gap.half_width >= 0
                values = getattr(first, quantity).value - getattr(second, quantity).value
                assert gap.value == pytest.approx(values, abs=1e-9)
    assert len(completed) > 1


def test_runs_of_other_lengths_do_not_pair() -> None:
    system = qs.load("one-or-all:k=4,load=.5")
    one, other = (qs.simulate(system, "msf", jobs=jobs, engine="events") for jobs in (900, 1000))
    with pytest.raises(qs.QuickswapError, match="paired"):
        qs.difference(one, other)
