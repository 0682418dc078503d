"""The parts of tuning: which candidates there are, what is between them, how two compare."""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np
import pytest
from scipy.stats import t as student

import quickswap as qs
from quickswap.cli.output import print_page
from quickswap.display.tuning import tuning_page
from quickswap.sweeps import Failure, run_points
from quickswap.tuning.candidates import between, default_policies, distinct, key_of
from quickswap.tuning.checking import _rival, tuning_of
from quickswap.tuning.metrics import Exact, excess, gap, measured
from quickswap.tuning.race import Race
from quickswap.tuning.result import Standing, TuningRow
from quickswap.tuning.runs import Runs, simulated
from verification.known import FOUR

ONE = qs.load("one-or-all:k=8,rate=3.5")


@cache
def runs(policy: str, metric: str, seed: int = 1) -> Runs:
    run = partial(run_points, threads=1)
    (found,), _ = simulated(run, FOUR.with_load(0.7), [qs.parse(policy)], metric, 40_000, seed)
    assert isinstance(found, Runs)
    return found


class TestCandidates:
    @pytest.mark.parametrize(
        ("system", "one", "other"),
        [
            (ONE, "msf", "msfq:threshold=0"),
            (ONE, "adaptive-quickswap", "msfq:threshold=8"),
            (ONE, "msfq", "static-quickswap"),
            (ONE, "msfq:threshold=3", "static-quickswap:threshold=3"),
            (ONE, "msfq:drain=always", "static-quickswap:drain=exclusive"),
            (FOUR, "fcfs", "smash:window=1"),
            (FOUR, "msf", "smash:window=inf"),
            (FOUR, "static-quickswap", "static-quickswap:threshold=15"),
            (FOUR, "static-quickswap", "static-quickswap:order=2+1+0+3"),
            (FOUR, "msf", "msf"),
        ],
    )
    def test_those_that_decide_alike(self, system: qs.System, one: str, other: str) -> None:
        first, second = qs.parse(one), qs.parse(other)
        assert key_of(first, system) == key_of(second, system)
        (candidate,) = distinct([first, second], system).values()
        assert candidate.policy == first
        assert candidate.equals == (() if one == other else (second.label,))
        results = [qs.simulate(system, each, jobs=4000, engine="events") for each in (one, other)]
        if "order" not in other:  # which class is visited first matters at the start
            assert results[0].classes == results[1].classes

    @pytest.mark.parametrize(
        ("system", "one", "other"),
        [
            (ONE, "msfq:threshold=3", "msfq:threshold=4"),
            (ONE, "msfq", "msfq:drain=always"),
            (ONE, "msfq", "msfq:backfill=.1"),
            (ONE, "msfq", "msfq:overrun=.1"),
            (FOUR, "msf", "adaptive-quickswap"),
            (FOUR, "static-quickswap", "static-quickswap:order=0+1+2+3"),
            (FOUR, "static-quickswap", "static-quickswap:drain=exclusive"),
        ],
    )
    def test_those_that_do_not(self, system: qs.System, one: str, other: str) -> None:
        assert key_of(qs.parse(one), system) != key_of(qs.parse(other), system)

    def test_one_label_for_two_policies(self) -> None:
        found = distinct([qs.MSFQ(7), qs.MSFQ(7, backfill=1e-7)], ONE).values()
        assert len({each.label for each in found}) == 2
        same = [qs.Smash(3), qs.AdaptiveQuickswap(0.03000001), qs.AdaptiveQuickswap(0.03)]
        labels = [each.label for each in distinct(same, FOUR).values()]
        assert labels == [
            "Smash(3)",
            "adaptive-quickswap:backfill=0.03000001",
            "adaptive-quickswap:backfill=0.03",
        ]

    def test_defaults(self) -> None:
        found = distinct(default_policies(FOUR), FOUR)
        policies = [each.policy for each in found.values()]
        assert {type(each) for each in policies} == {
            *(qs.FirstFit, qs.MSF, qs.AdaptiveQuickswap, qs.StaticQuickswap, qs.Smash)
        }
        assert not any(each.preemptive or each.estimates for each in policies)
        assert sum("backfill" in each.spelling for each in found.values()) == 6
        assert sum("overrun" in each.spelling for each in found.values()) == 8
        other = distinct(default_policies(ONE, range(9)), ONE).values()
        assert not any("=0." in each.spelling for each in other)
        assert {qs.MSFQ(level) for level in range(1, 7)} <= {each.policy for each in other}
        slow = qs.System(
            8,
            [
                qs.JobClass(1, 1.0, qs.LogNormal(mean=1.0, scv=4.0)),
                qs.JobClass(8, 0.1, qs.Deterministic(1.0)),
            ],
        )
        third = [each.spelling for each in distinct(default_policies(slow), slow).values()]
        assert "adaptive-quickswap:backfill=0.3" in third  # no theorem says that it is MSFQ
        assert sum(each.startswith("msfq:") for each in third) == 6


class TestBetween:
    def spelled(self, best: str, tried: list[str], system: qs.System = FOUR) -> list[str]:
        policies = [qs.parse(each) for each in tried]
        return [qs.spell(each) for each in between([qs.parse(best)], policies, system)]

    def test_whole_numbers(self) -> None:
        tried = [f"static-quickswap:threshold={level}" for level in (0, 4, 15)]
        assert self.spelled(tried[1], tried) == [
            "static-quickswap:threshold=2",
            "static-quickswap:threshold=10",
        ]
        assert self.spelled(tried[0], tried) == ["static-quickswap:threshold=2"]
        near = [f"static-quickswap:threshold={level}" for level in (3, 4, 5)]
        assert self.spelled(near[1], near) == []

    def test_the_threshold_by_default_has_a_place(self) -> None:
        tried = ["msfq:threshold=3", "msfq"]
        assert self.spelled("msfq", tried, ONE) == ["msfq:threshold=5"]

    @pytest.mark.parametrize("limit", ["backfill", "overrun"])
    def test_limits_go_beyond_the_last(self, limit: str) -> None:
        tried = [f"adaptive-quickswap:{limit}={value}" for value in (0.01, 0.1, 0.3)]
        assert self.spelled(tried[2], tried) == [
            f"adaptive-quickswap:{limit}=0.17",
            f"adaptive-quickswap:{limit}=0.55",
        ]

    def test_windows_go_beyond_the_last(self) -> None:
        close = [f"adaptive-quickswap:backfill={risk}" for risk in (0.1, 0.12)]
        assert self.spelled(close[0], close) == []
        windows = [f"smash:window={window}" for window in (2, 8)]
        assert self.spelled(windows[1], windows) == ["smash:window=4", "smash:window=16"]

    def test_a_single_value_stays(self) -> None:
        assert self.spelled("smash:window=8", ["smash:window=8", "msf"]) == []
        tried = ["adaptive-quickswap", "static-quickswap:backfill=.1"]
        assert self.spelled(tried[0], tried) == []


class TestMetrics:
    @pytest.mark.parametrize("metric", ["mean", "weighted"])
    def test_the_values_of_the_results(self, metric: str) -> None:
        name = "weighted_mean_response_time" if metric == "weighted" else "mean_response_time"
        one, other = runs("msf", metric), runs("adaptive-quickswap", metric)
        expected = getattr(one.only, name)
        found = measured(one, metric)
        assert (found.value, found.half_width) == pytest.approx(
            (expected.value, expected.half_width)
        )
        paired = gap(one, other, metric)
        assert paired == qs.difference(one.only, other.only, name)
        assert excess(one, other, metric).value == pytest.approx(
            paired.value / measured(other, metric).value,
            rel=0.02,  # each has its own controls
        )
        assert excess(one, one, metric) == qs.Estimate(0.0, 0.0)

    def test_the_largest_class_mean(self) -> None:
        one = runs("msf", "max-class")
        largest = max(one.only.classes, key=lambda each: each.mean_response_time.value)
        found = measured(one, "max-class")
        assert found.value == pytest.approx(largest.mean_response_time.value)
        assert found.half_width == pytest.approx(largest.mean_response_time.half_width)

    def test_percentiles_are_paired_by_seed(self) -> None:
        one, other = runs("msf", "p99"), runs("first-fit", "p99")
        assert [each.inputs.seed for each in one.results] == list(range(1, 9))
        assert {each.inputs.jobs for each in one.results} == {5000}
        a, b = (
            np.array([each.overall.response_time.p99.value for each in which.results])
            for which in (one, other)
        )
        found = gap(one, other, "p99", 0.99)
        assert found.value == pytest.approx((a - b).mean())
        error = (a - b).std(ddof=1) / math.sqrt(8)
        assert found.half_width == pytest.approx(student(7).ppf(0.995) * error)
        assert measured(one, "p99").value == pytest.approx(a.mean())
        assert excess(one, other, "p99").value == pytest.approx(a.mean() / b.mean() - 1)
        assert gap(one, one, "p99").half_width == 0

    def test_more_confidence_is_wider(self) -> None:
        one, other = runs("msf", "mean"), runs("adaptive-quickswap", "mean")
        widths = [gap(one, other, "mean", level).half_width for level in (0.8, 0.95, 0.9999)]
        assert widths == sorted(widths)
        assert widths[2] > 2 * widths[1]

    def test_exact_values_have_no_interval(self) -> None:
        one = runs("msf", "mean")
        own = measured(one, "mean")
        assert gap(one, 2.0, "mean").half_width == pytest.approx(own.half_width)
        assert gap(2.0, one, "mean").value == pytest.approx(2 - own.value)
        assert gap(3.0, 2.0, "mean") == qs.Estimate(1.0, 0.0)
        assert excess(3.0, 2.0, "mean") == qs.Estimate(0.5, 0.0)
        relative = excess(one, 2.0, "mean")
        assert relative.half_width == pytest.approx(own.half_width / 2)

    def test_other_jobs_count_as_independent(self) -> None:
        one = runs("msf", "mean")
        (other,), _ = simulated(run_points, FOUR.with_load(0.7), [qs.MSF()], "mean", 80_000, 1)
        assert isinstance(other, Runs)
        widths = [measured(each, "mean").half_width for each in (one, other)]
        assert gap(one, other, "mean").half_width == pytest.approx(math.hypot(*widths))


def row(label: str, standing: Standing, above: float) -> tuple[TuningRow, str]:
    value, nothing = qs.Estimate(1 + above, 0.1), qs.Estimate(math.nan, math.nan)
    difference = nothing if standing is Standing.BEST else qs.Estimate(above, 0.1)
    return TuningRow(label, label, standing, False, value, difference, 1000, "", (), ""), label


@pytest.mark.parametrize("nearest", [Standing.WORSE, Standing.INCONCLUSIVE])
def test_the_next_one_is_the_nearest_conclusive_or_not(nearest: Standing) -> None:
    far = Standing.INCONCLUSIVE if nearest is Standing.WORSE else Standing.WORSE
    ends = [
        row("a", Standing.BEST, 0.0),
        row("b", Standing.ALIKE, 0.01),
        row("c", Standing.UNSTABLE, math.nan),
    ]
    rows = [*ends, row("far", far, 100.0), row("near", nearest, 0.1), row("?", far, math.nan)]
    assert _rival(rows) == "near"
    assert _rival(rows[::-1]) == "near"
    assert _rival(ends) is None


@pytest.mark.parametrize(
    ("indifference", "standing"), [(0.001, Standing.WORSE), (0.15, Standing.ALIKE)]
)
def test_fresh_jobs_decide_what_the_race_did_not(
    indifference: float, standing: Standing, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a risk of .1 jobs respond some 4 % later than with one of .2."""
    system, run = FOUR.with_rate(4), partial(run_points, threads=1)
    exact, first = Exact(system, "weighted"), qs.AdaptiveQuickswap(backfill=0.1)
    race = Race(
        system,
        "weighted",
        [first, qs.AdaptiveQuickswap(backfill=0.2)],
        budget=90_000,
        indifference=indifference,
        seed=1,
        refine=False,
        exact=exact,
    )
    race.run(run, lambda: None)
    before = tuning_of(race, first, 20_000)
    assert before.inconclusive == (before.next,)
    after = tuning_of(race, first, 20_000, run, 1_000_000)
    assert after.next == before.next
    assert [each.standing for each in after.rows] == [Standing.BEST, standing]
    assert after.rows[1].fresh
    assert after.rows[1].above == before.rows[1].above
    print_page(tuning_page(after, "four-class:rate=4"))
    out = capsys.readouterr().out
    assert f"\n{after.next} is {standing} on the fresh jobs" in out
    assert (", not significantly different\n" in out) == (standing is Standing.ALIKE)


def test_a_point_that_fails_is_handed_on() -> None:
    (found,), ran = simulated(run_points, FOUR.with_load(1.2), [qs.MSF()], "p99", 8000, 1)
    assert isinstance(found, Failure)
    assert found.unstable
    assert ran == 8


def test_what_looks_unstable_runs_to_the_end_before_it_counts() -> None:
    store = qs.Store()
    found = qs.tune(FOUR.with_rate(4.4), ["smash:window=2", "msf"], jobs=1_000_000, store=store)
    smash = [point for point in store.points() if "smash" in point.inputs.spelling]
    allowed = [point.inputs.allow_unstable for point in smash]
    assert allowed == [*[False] * (len(allowed) - 1), True]
    first, second = (store[point] for point in smash[-2:])
    assert first.verdict.status == second.verdict.status == "unstable"
    assert second.inputs.jobs == 2 * first.inputs.jobs
    assert second.stop is qs.Stop.COMPLETED
    assert next(each for each in found.rows if "smash" in each.policy).standing is Standing.UNSTABLE
