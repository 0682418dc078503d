"""Claims are judged by the rows of figures, and charts show these rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

import quickswap as qs
from quickswap.paper.claims import CLAIMS
from quickswap.paper.experiment import Effort, Experiment, Series, computed
from quickswap.paper.figures import FOUR_CLASSES, ONE_OR_ALL
from quickswap.paper.judging import (
    Better,
    Claim,
    Curve,
    Judgement,
    Measured,
    Pair,
    Stable,
    Times,
    contrasts,
    judgement,
    summary,
)
from quickswap.paper.rows import Row, Rows, chart_of_rows, rows_of
from quickswap.statistics.paired import Outcome
from quickswap.sweeps import Failure

A, B = Curve("A"), Curve("B")


def row(series: str, x: float, value: float, half: float, status: str, method: str) -> Row:
    return Row(
        series=series,
        policy=series.lower(),
        method=method,
        x=x,
        rate=x,
        load=0.1 * x,
        cls="all",
        quantity="mean_response_time",
        value=value,
        half_width=half,
        verdict=status,
        reached=True,
        jobs=1000,
    )


def figure(*given: tuple[str, float, float, float, str]) -> Rows:
    """Return rows of simulations: series, x, value, half-width, verdict."""
    rows = tuple(row(*each, method="simulated") for each in given)
    return Rows(ONE_OR_ALL, rows, {})


def pair(
    x: float, a: float, b: float, status: str = "stable"
) -> Sequence[tuple[str, float, float, float, str]]:
    """Return what A and B have at one value of the axis, with half-widths of 1."""
    return (("A", x, a, 1.0, "stable"), ("B", x, b, 1.0, status))


@pytest.mark.parametrize(
    ("good", "bad", "unsure", "expected"),
    [
        (10, 0, 0, Judgement.HOLDS),
        (10, 0, 1, Judgement.HOLDS),
        (10, 0, 2, Judgement.CONDITION),
        (2, 0, 3, Judgement.UNDECIDED),
        (5, 1, 0, Judgement.CONDITION),
        (0, 3, 2, Judgement.FAILS),
        (0, 1, 5, Judgement.UNDECIDED),
        (1, 1, 3, Judgement.UNDECIDED),
        (0, 0, 0, Judgement.UNDECIDED),
    ],
)
def test_the_verdict_on_points(good: int, bad: int, unsure: int, expected: Judgement) -> None:
    assert judgement(good, bad, unsure) == expected


def test_a_contrast_is_decided_by_intervals_and_stability() -> None:
    rows = figure(
        *pair(1, 10, 20),
        *pair(2, 20, 10),
        *pair(3, 10, 11),
        *pair(4, 10, math.nan, "unstable"),
        *pair(5, 10, 20, "too short"),
        *pair(6, 0, 20),
        ("A", 7, 1, 1, "stable"),
    )
    found = {each.x: each for each in contrasts(rows, A, B)}
    assert {x: each.outcome for x, each in found.items()} == {
        1: Outcome.BETTER,
        2: Outcome.WORSE,
        3: Outcome.ALIKE,
        4: Outcome.BETTER,
        5: Outcome.INCONCLUSIVE,
        6: Outcome.INCONCLUSIVE,
    }
    assert found[1].ratio.value == 2.0
    assert found[4].ratio.value == math.inf
    words = summary(list(found.values()))
    for part in ("better at 2 of 6 rates", "worse at 2", "undecided at 3, 5, 6", "unstable at 4"):
        assert part in words


def test_exact_values_replace_simulated_ones() -> None:
    rows = figure(*pair(1, 10, 10.5))
    more = (row("A", 1, 10.0, 0.0, "", "exact"), row("B", 1, 10.5, 0.0, "", "exact"))
    (before,), (after,) = (
        contrasts(Rows(ONE_OR_ALL, rows.rows + extra, {}), A, B) for extra in ((), more)
    )
    assert (before.outcome, after.outcome) == (Outcome.ALIKE, Outcome.BETTER)
    assert after.ratio == qs.Estimate(1.05, 0.0)


def test_pairs_of_curves_give_a_verdict() -> None:
    rows = figure(*pair(1, 10, 20), *pair(2, 20, 10), *pair(3, 0, 0))
    forward, backward = Pair("forward", A, B), Pair("backward", B, A)
    assert Better((forward,))(rows).judgement == Judgement.CONDITION
    assert Better((forward,), up_to=1)(rows).judgement == Judgement.HOLDS
    assert Better((backward,), up_to=1)(rows).judgement == Judgement.FAILS
    measured, _, _ = Better((forward, backward), intro="first: ", word="shorter")(rows)
    assert measured.startswith("first: forward: shorter at 1 of 3 rates")
    assert "better" not in measured
    only_against = Better((Pair("forward", A, B, counts=False),), up_to=1)
    assert only_against(rows).judgement == Judgement.UNDECIDED
    assert "of 2 rates" in Better((forward,), present=True)(rows).text


def test_a_factor_is_reached_at_high_rates() -> None:
    rows = figure(*pair(1, 10, 90), *pair(2, 10, 50), *pair(3, 100, 200))
    forward = (Pair("forward", A, B),)
    for factor, high, expected in (
        (4, 2, Judgement.HOLDS),
        (4, 1, Judgement.FAILS),
        (8, 2, Judgement.FAILS),
        (8, 3, Judgement.HOLDS),
    ):
        assert Times(forward, factor, high)(rows).judgement == expected
    both = (*forward, Pair("backward", B, A))
    assert Times(both, 4)(rows).judgement == Judgement.FAILS
    undecided = figure(*pair(1, 10, 90), *pair(2, 10, 50, "too short"))
    assert Times(forward, 4, 1)(undecided).judgement == Judgement.UNDECIDED
    assert Times(forward, 8, 2)(undecided).judgement == Judgement.HOLDS
    assert (
        Times(forward, 20, 2)(undecided).judgement == Judgement.UNDECIDED
    )  # it may be reached at 2
    # a pair that is decided and does not reach it suffices
    third = ("C", 2, 50, 1.0, "too short")
    against = (*forward, Pair("against C", A, Curve("C")))
    assert Times(against, 9, 1)(figure(*pair(2, 10, 50), third)).judgement == Judgement.FAILS


def test_a_verdict_hangs_on_undecided_points_that_can_change_it() -> None:
    forward = (Pair("forward", A, B),)
    unsure, lost = pair(3, 10, 20, "too short"), pair(1, 20, 10)
    held = figure(*pair(2, 10, 20), *unsure)
    at_3 = (("A", 3), ("B", 3))
    assert Better(forward)(held).open == at_3
    assert Better(forward, up_to=2)(held).open == ()
    assert Better(forward)(figure(*lost, *unsure)).open == at_3
    assert Better(forward)(figure(*lost, *pair(2, 10, 20), *unsure)).open == ()
    assert Times(forward, 2)(held).open == ()
    assert Times(forward, 4)(held).open == at_3
    third = ("C", 3, 15, 0.1, "stable")
    against = (*forward, Pair("against C", A, Curve("C")))
    assert Times(against, 4)(figure(*pair(3, 10, 20, "too short"), third)).open == ()
    exact = dataclasses.replace(row("A", 3, 10, 0.0, "", "exact"), policy="a")
    known = Rows(ONE_OR_ALL, (*held.rows, exact), {})
    assert Better(forward)(known).open == (("B", 3),)  # an exact value needs no longer run
    claim = Claim(claim="", where="", figures=("fig3",), check=Better(forward), why="")
    assert claim.judge({"fig3": held}).open == tuple(("fig3", *place) for place in at_3)


def test_stable_counts_the_verdicts() -> None:
    def counted(*verdicts: str) -> Measured:
        rows = [
            dataclasses.replace(
                row("MSF", x, 1.0, 0.1, verdict, "simulated"),
                quantity="weighted_mean_response_time",
            )
            for x, verdict in enumerate(verdicts)
        ]
        return Stable(("MSF",))(Rows(ONE_OR_ALL, tuple(rows), {}))

    assert counted("stable", "stable").judgement == Judgement.HOLDS
    assert counted("stable", "too short")[1:] == (Judgement.UNDECIDED, (("MSF", 1),))
    measured, *found = counted("stable", "too short", "unstable")
    assert found == [Judgement.FAILS, ()]
    for part in ("MSF: stable at 1 of 3 rates", "unstable at 2", "too short at 1", "proven below"):
        assert part in measured


def test_all_claims_can_be_judged(papers: dict[str, Rows]) -> None:
    for claim in CLAIMS:
        finding = claim.judge(papers)
        assert finding.verdict in set(Judgement)
        assert finding.measured
        assert (finding.claim, finding.where, finding.why) == (claim.claim, claim.where, claim.why)


@pytest.fixture(scope="module")
def papers() -> dict[str, Rows]:
    """The figures that claims need, simulated for a moment."""
    from quickswap.paper.run import EXPERIMENTS
    from quickswap.sweeps import run_points

    figures = {}
    for name in {name for claim in CLAIMS for name in claim.figures}:
        record = EXPERIMENTS[name]
        if name in ("fig3", "fig4", "fig5", "odd-needs"):
            few = (3.0, 5.0, 6.0, 7.0, 4.75)
            values = tuple(x for x in record.values if x in few)
            series = (
                replace(each, values=tuple(x for x in each.values if x in few))
                for each in record.series
            )
            record = replace(record, values=values, series=tuple(series))
        if name in ("fig6", "fig7", "fig8", "thresholds"):
            record = replace(record, values=record.values[:2])
        points = record.points(Effort(4_000))
        outcomes = run_points(points.values())
        figures[name] = rows_of(record, dict(zip(points, outcomes, strict=True)))
    return figures


def test_the_chart_shows_the_rows() -> None:
    record = small()
    points = record.points(Effort(4_000))
    results = {
        place: Failure(point, "UnstableError", "") if place[1] == 5.0 else point.run()
        for place, point in points.items()
    }
    rows = rows_of(record, results)
    chart = chart_of_rows(rows)
    assert [(line.label, line.look) for line in chart.lines] == [
        ("MSF", "marks"),
        ("Static", "marks"),
        ("approximation", "dotted"),
    ]
    assert chart.limit == record.system.capacity
    for series, line in zip(record.series, chart.lines, strict=True):
        for mark in line.marks:
            for panel, estimate in zip(record.panels, mark.estimates, strict=True):
                found = rows.of(series.label, panel.quantity, panel.cls, series.method)
                expected = found[mark.x].estimate if mark.x in found else None
                assert expected in (estimate, None)
    assert [mark.verdict for mark in chart.lines[0].marks][1] == "unstable"
    assert [mark.verdict for mark in chart.lines[2].marks] == ["", ""]
    assert all(math.isnan(mark.estimates[0].half_width) for mark in chart.lines[2].marks)


def small() -> Experiment:
    return replace(
        FOUR_CLASSES,
        name="small",
        values=(1.0, 5.0),
        series=(
            Series("MSF", "msf"),
            Series("Static", "static-quickswap"),
            Series(
                "approximation", "static-quickswap:drain=exclusive", "approximation", (1.0, 2.0)
            ),
        ),
    )


def test_a_method_refuses_policies_that_it_does_not_cover() -> None:
    system = qs.load("one-or-all:k=4,rate=1")
    assert computed("exact", system, qs.parse("msf"))["all", "mean_response_time"].half_width == 0
    for method, policy in (("exact", "first-fit"), ("printed", "msfq"), ("approximation", "msf")):
        with pytest.raises(qs.PolicyError):
            computed(method, system, qs.parse(policy))  # type: ignore[arg-type]  # from a tuple
    assert computed("exact", system.with_load(1.2), qs.parse("msf")) == {}
