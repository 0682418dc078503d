"""Tuning: the winner is the best one, what is worse drops out, and nothing runs twice."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from quickswap import theory
from quickswap.tuning import Standing, TuningProgress
from verification.known import FOUR

SMALL = qs.System(
    4,
    [
        qs.JobClass(1, 1.3, qs.Exponential(mean=1.0), name="small"),
        qs.JobClass(3, 0.5, qs.Exponential(mean=1.0), name="large"),
    ],
)
"""Solved as a chain; not one of the systems that tuning has exact values for."""
POLICIES = ("msf", "static-quickswap:threshold=[0,1,4]", "adaptive-quickswap", "smash:window=2")
RACERS = ("msf", "first-fit", "adaptive-quickswap", "static-quickswap:threshold=[0,5,15]")


def row(found: qs.Tuning, policy: str) -> Any:
    return next(each for each in found.rows if each.policy == policy)


class TestExact:
    @pytest.mark.parametrize("metric", ["weighted", "mean", "max-class"])
    def test_the_best_threshold_of_theory_wins(self, metric: str) -> None:
        system = qs.load("one-or-all:k=8").with_load(0.75)
        best = theory.best_threshold(system, metric)
        found = qs.tune(system, metric=metric, jobs=1_000_000)
        assert found.winner is not None
        policy = qs.parse(found.winner)
        assert policy == qs.MSFQ(None if best.threshold == 7 else best.threshold)
        assert found.exact
        assert (found.value.value, found.value.half_width) == (best.value, 0)
        assert (found.default, found.default_label) == ("msfq", "MSFQ(k-1)")
        assert found.default_cost.value == pytest.approx(best.default - best.value)
        assert found.default_cost.half_width == 0
        assert found.default_excess.value == pytest.approx(best.loss)
        exact = {each.policy: each.value.value for each in found.rows if each.exact}
        assert len(exact) == 9  # one for each threshold; MSF and Adaptive Quickswap among them
        assert sorted(exact.values()) == sorted(best.values)
        for each in found.rows[1:]:
            if each.exact:
                near = each.value.value <= 1.01 * best.value
                assert each.standing is (Standing.ALIKE if near else Standing.WORSE)

    def test_without_anything_to_simulate(self) -> None:
        found = qs.tune(qs.load("one-or-all:k=8,rate=3.5"), "msfq:threshold=[0..8]")
        assert (found.jobs, found.rounds, found.simulations) == (0, 0, 0)
        assert found.checked

    def test_it_goes_on_between_the_thresholds_given(self) -> None:
        system = qs.load("one-or-all:k=32,rate=7")
        best = theory.best_threshold(system, "weighted")
        coarse = qs.tune(system, "msfq:threshold=[0,16,32]", refine=False)
        fine = qs.tune(system, "msfq:threshold=[0,16,32]")
        assert coarse.winner == "msfq:threshold=16"
        assert fine.winner == f"msfq:threshold={best.threshold}"
        assert fine.value.value == best.value < coarse.value.value

    def test_other_systems_of_the_same_kind(self) -> None:
        """Needs 2 and 7 on 8 servers: four lights at once, or one heavy."""
        light, heavy = (qs.Exponential(mean=mean) for mean in (1.0, 0.5))
        system = qs.System(8, [qs.JobClass(7, 0.7, heavy), qs.JobClass(2, 1.8, light)])
        best = theory.best_threshold(system, "mean")
        found = qs.tune(system, metric="mean", jobs=1_000_000)
        assert found.winner == f"static-quickswap:threshold={2 * best.threshold}"
        assert found.value.value == best.value

    def test_a_single_class(self) -> None:
        system = qs.System(6, [qs.JobClass(2, 2.0, qs.Exponential(mean=1.0))])
        found = qs.tune(system, ["msf", "fcfs", "first-fit", "adaptive-quickswap"])
        (only,) = found.rows
        assert only.value.value == theory.classical.mmk(3, 2.0, 1.0).mean_response_time
        assert set(only.equals) == {"FCFS", "First-Fit", "Adaptive Quickswap"}
        assert found.next is None
        assert math.isnan(found.margin.value)

    def test_fcfs(self) -> None:
        system = qs.load("one-or-all:k=4,rate=0.9")
        found = qs.tune(system, ["fcfs", "smash:window=1", "msf"], metric="mean")
        exact = theory.fcfs.exact(system).mean_response_time
        assert row(found, "fcfs").value == qs.Estimate(exact, 0.0)
        assert row(found, "fcfs").equals == ("Smash(1)",)

    def test_no_percentile_is_exact(self) -> None:
        found = qs.tune(
            qs.load("one-or-all:k=4,rate=1.5"), ["msfq:threshold=[1,3]"], metric="p99", jobs=200_000
        )
        assert not any(each.exact for each in found.rows)


@cache
def chains() -> dict[str, theory.Means]:
    levels = [f"static-quickswap:threshold={level}" for level in (0, 1, 4)]
    policies = ["msf", "adaptive-quickswap", "smash:window=2", *levels]
    return {each: theory.chain.exact(SMALL, each, tolerance=1e-4) for each in policies}


def exact_values(metric: str) -> dict[str, float]:
    return {policy: getattr(solution, metric) for policy, solution in chains().items()}


class TestRace:
    @pytest.mark.parametrize(
        ("metric", "attribute"),
        [
            ("weighted", "weighted_mean_response_time"),
            ("mean", "mean_response_time"),
            ("max-class", "largest_mean_response_time"),
        ],
    )
    def test_it_agrees_with_the_chain(self, metric: str, attribute: str) -> None:
        values = exact_values(attribute)
        best = min(values, key=values.__getitem__)
        found = qs.tune(SMALL, POLICIES, metric=metric, jobs=6_000_000, refine=False)
        assert found.winner is not None
        assert values[found.winner] <= 1.01 * values[best]
        assert found.value.half_width > 0
        assert abs(found.value.value - values[found.winner]) < 2 * found.value.half_width
        for each in found.rows:
            excess = values[each.policy] / values[found.winner] - 1
            if each.standing is Standing.ALIKE:
                assert excess <= 0.01
            elif each.standing is Standing.WORSE:
                assert excess > 0
            assert abs(each.value.value - values[each.policy]) < 3 * each.value.half_width
        worse = [each for each in found.rows if each.standing is Standing.WORSE]
        assert worse
        assert found.default == "adaptive-quickswap"
        cost = values["adaptive-quickswap"] - values[found.winner]
        assert abs(found.default_cost.value - cost) <= 2 * found.default_cost.half_width

    def test_the_best_one_is_not_eliminated(self) -> None:
        """At most one race in twenty may lose it; it takes luck that one of these does."""
        values = exact_values("weighted_mean_response_time")
        best = min(values, key=values.__getitem__)
        for seed in range(1, 31):
            found = qs.tune(SMALL, POLICIES, jobs=240_000, seed=seed, refine=False)
            assert row(found, best).standing is not Standing.WORSE

    def test_rounds_double_and_the_worse_are_eliminated(self) -> None:
        store = qs.Store()
        found = qs.tune(FOUR.with_load(0.8), RACERS, jobs=3_000_000, refine=False, store=store)
        jobs = sorted({point.inputs.jobs for point in store.points()})
        race = [each for each in jobs if each != 300_000]  # the fresh jobs
        assert all(b <= 2 * a for a, b in pairwise(race))
        assert {point.inputs.engine for point in store.points()} == {"events"}
        assert found.rounds >= 2
        by_standing = {each.standing: each.jobs for each in found.rows}
        assert by_standing[Standing.WORSE] < by_standing[Standing.BEST]
        assert found.jobs == sum(each.completed for each in store) <= found.budget

    def test_fresh_jobs_for_the_winner(self) -> None:
        store = qs.Store()
        found = qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000, seed=5, store=store)
        fresh = [each for each in store if each.inputs.seed == 6]
        assert {each.inputs.seed for each in store} == {5, 6}
        assert all(each.inputs.jobs == 50_000 for each in fresh)
        values = {each.inputs.spelling: each.weighted_mean_response_time for each in fresh}
        assert found.winner is not None
        assert found.value.value == values[found.winner].value
        assert found.value.half_width == pytest.approx(values[found.winner].half_width)
        others = {each.inputs.spelling: each for each in fresh}
        if found.default != found.winner:
            gap = qs.difference(
                others[found.default], others[found.winner], "weighted_mean_response_time"
            )
            assert found.default_cost == gap
            relative = found.default_excess.value
            assert relative == pytest.approx(gap.value / values[found.winner].value)

    def test_parameters_between_those_tried(self) -> None:
        found = qs.tune(FOUR.with_load(0.8), "static-quickswap:threshold=[0,15]", jobs=2_000_000)
        levels = {qs.parse(each.policy).threshold for each in found.rows}  # type: ignore[attr-defined]  # all are Static Quickswap
        assert levels > {0, 15}
        kept = qs.tune(
            FOUR.with_load(0.8), "static-quickswap:threshold=[0,15]", jobs=200_000, refine=False
        )
        assert len(kept.rows) == 2

    def test_who_decides_alike_runs_once(self) -> None:
        """All sizes have one distribution: without a drain long enough, a tiny risk lets no job
        start.
        """
        policies = ["adaptive-quickswap", "adaptive-quickswap:backfill=1e-09", "msf"]
        found = qs.tune(FOUR.with_load(0.7), policies, jobs=2_000_000, refine=False)
        one, other = row(found, policies[0]), row(found, policies[1])
        assert one.standing is Standing.BEST
        assert other.standing is Standing.ALIKE
        assert other.reason.startswith("took the decisions of Adaptive Quickswap on ")
        assert other.jobs <= one.jobs

    def test_the_default_need_not_be_a_candidate(self) -> None:
        found = qs.tune(FOUR.with_load(0.7), ["msf", "first-fit"], jobs=500_000)
        assert {each.policy for each in found.rows} == {"msf", "first-fit"}
        assert found.default == "adaptive-quickswap"
        assert found.default_cost.high < 0


class TestStability:
    def test_proven_unstable_ones_are_listed_and_not_run(self) -> None:
        found = qs.tune(FOUR.with_rate(4), ["fcfs", "adaptive-quickswap"], jobs=200_000)
        fcfs = row(found, "fcfs")
        assert (fcfs.standing, fcfs.jobs) == (Standing.UNSTABLE, 0)
        assert "saturated" in fcfs.reason
        assert math.isnan(fcfs.value.value)

    def test_unstable_candidates_are_eliminated(self) -> None:
        found = qs.tune(FOUR.with_rate(4.4), ["smash:window=2", "msf"], jobs=1_000_000)
        smash = row(found, "smash:window=2")
        assert smash.standing is Standing.UNSTABLE
        assert "grows" in smash.reason

    def test_no_candidate_is_stable(self) -> None:
        with pytest.raises(qs.UnstableError, match=r"none of the 1 candidate.* FCFS: "):
            qs.tune(FOUR.with_rate(4), "fcfs")
        with pytest.raises(qs.UnstableError, match="no policy is stable"):
            qs.tune(FOUR.with_load(1.0))

    def test_runs_that_are_too_short(self) -> None:
        found = qs.tune("borg-b", ["msf", "adaptive-quickswap"], jobs=60_000)
        assert found.winner is None
        assert set(found.inconclusive) == {"MSF", "Adaptive Quickswap"}
        assert math.isnan(found.value.value)
        assert "simulate more jobs" in found.rows[0].reason


class TestSameAgain:
    def test_any_number_of_threads(self) -> None:
        one, two = (
            qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000, threads=threads)
            for threads in (1, 2)
        )
        with ThreadPoolExecutor(2) as executor:
            other = qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000, executor=executor)
        assert one == two == other
        assert one.to_json() == two.to_json() == other.to_json()

    def test_the_budget_holds(self) -> None:
        for budget in (40_000, 123_457):
            found = qs.tune(SMALL, ["msf", "adaptive-quickswap"], jobs=budget, indifference=1e-6)
            assert 0.6 * budget < found.jobs <= budget

    def test_a_store_runs_nothing_twice(self, tmp_path: Path) -> None:
        whole = qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000)
        assert whole.ran == whole.simulations > 0

        def strike(stage: TuningProgress) -> None:
            if stage.round == 2:
                raise KeyboardInterrupt

        path = tmp_path / "t.db"
        with pytest.raises(qs.Interrupted) as caught:
            qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000, store=path, progress=strike)
        cut = caught.value.result
        assert isinstance(cut, qs.Tuning)
        assert (cut.rounds, cut.checked) == (1, False)
        assert len(cut.rows) == 6
        with qs.Store(path) as store:
            before = len(store)
        assert 0 < before < whole.simulations
        again = qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000, store=path)
        assert again == whole
        assert again.to_json() == whole.to_json()
        assert again.ran == whole.simulations - before
        assert qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000, store=path).ran == 0

    def test_ctrl_c_before_a_round_is_complete(self) -> None:
        def strike(stage: TuningProgress) -> None:
            raise KeyboardInterrupt

        with pytest.raises(qs.Interrupted) as caught:
            qs.tune(FOUR, RACERS, jobs=500_000, progress=strike)
        assert caught.value.result is None
        with pytest.raises(qs.Interrupted) as caught:  # what is exact is known already
            qs.tune(qs.load("one-or-all:k=4,rate=1.5"), jobs=500_000, progress=strike)
        assert isinstance(caught.value.result, qs.Tuning)
        assert caught.value.result.exact

    def test_progress(self) -> None:
        stages: list[TuningProgress] = []
        found = qs.tune(FOUR.with_load(0.7), RACERS, jobs=500_000, progress=stages.append)
        assert stages[0].round == 1
        shares = [each.share for each in stages]
        assert shares == sorted(shares)
        assert 0 < shares[-1] <= 1
        assert max(each.round for each in stages) == found.rounds + 1
        assert stages[-1].left < stages[-1].candidates

    def test_forms(self, tmp_path: Path) -> None:
        found = qs.tune(FOUR.with_load(0.7), RACERS, jobs=200_000)
        found.save(tmp_path / "t.json")
        data = json.loads((tmp_path / "t.json").read_text())
        assert data["winner"] == found.winner
        assert data["value"] == [found.value.value, found.value.half_width]
        assert qs.System.from_dict(data["system"]) == found.system
        frame = found.to_frame()
        assert frame["spelling"].to_list() == [each.policy for each in found.rows]
        assert frame["standing"][0] == "best"
        assert frame["jobs"].sum() <= found.jobs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "p95"}, r"unknown metric: 'p95' .*; known: weighted, mean, p99, max-class"),
        ({"metric": None}, "unknown metric: None"),
        ({"jobs": 0}, "jobs is 0; it must be a whole number from 1"),
        ({"jobs": 100_000}, "6 candidates require 20,000 each: give 120,000 or more"),
        ({"indifference": 0}, "indifference is 0; it must be above 0 and below 1"),
        ({"indifference": 1.5}, "indifference is 1.5"),
        ({"indifference": "x"}, "indifference is 'x'"),
        ({"seed": -1}, "seed is -1"),
        ({"refine": "no"}, "refine is 'no'"),
        ({"progress": 1}, "progress is 1"),
        ({"threads": 0}, "threads is 0"),
        ({"store": 5}, "5"),
        ({"policies": []}, "policies is empty"),
        ({"policies": 5}, "policies is 5; it must be a list"),
        ({"policies": "msfq"}, r"MSFQ.* cannot be a candidate: MSFQ serves systems of two classes"),
        ({"policies": "smash:window=[1..2000]"}, "policies has 2,000 candidates"),
        ({"policies": "msf:threshold=1"}, "no parameters"),
    ],
)
def test_mistakes(arguments: dict[str, Any], message: str) -> None:
    policies = arguments.pop("policies", RACERS)
    with pytest.raises(qs.QuickswapError, match=message):
        qs.tune(FOUR, policies, **arguments)
