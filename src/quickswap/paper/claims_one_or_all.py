"""The claims on one-or-all systems, in the order of the paper."""

from __future__ import annotations

from collections import Counter

from quickswap.paper.comparing import Curve, contrasts, summary
from quickswap.paper.judging import (
    MEAN,
    WEIGHTED,
    Better,
    Claim,
    Figures,
    Judgement,
    Measured,
    Pair,
)
from quickswap.simulation.result import Result

__all__ = ["CLAIMS"]

MSFQ, ALWAYS = "MSFQ(31)", "MSFQ(31), always draining"
ACCURATE = 0.05
"""Relative error up to which an approximation is highly accurate."""
INSENSITIVE = 1.1
"""Ratio of the worst to the best mean up to which it is insensitive to the threshold."""


def _trajectories(figures: Figures) -> Measured:
    parts, peaks, seconds, short = [], [], 0.0, False
    for (series, _), result in figures["fig1"].results.items():
        if not isinstance(result, Result) or result.trajectory is None:
            return "no trajectory", Judgement.UNDECIDED
        seconds = result.trajectory.times[-1]
        short |= not result.stable
        light, heavy = map(max, zip(*result.trajectory.counts, strict=True))
        peaks.append((light, heavy))
        parts.append(f"{series.label}: at most {light:,} light and {heavy:,} heavy")
    gain = min(above / below for above, below in zip(*peaks, strict=True))
    measured = f"one path of {seconds:,.0f} s each: {'; '.join(parts)}"
    if gain > 2:
        return measured, Judgement.HOLDS
    return measured, Judgement.UNDECIDED if short else Judgement.FAILS


def _throughput_optimal(figures: Figures) -> Measured:
    rows = figures["fig3"]
    curves = {drain: rows.of(drain, MEAN) for drain in (MSFQ, ALWAYS)}
    capacity = rows.experiment.system.capacity
    counts = Counter(row.verdict for curve in curves.values() for row in curve.values())
    last = max(curves[MSFQ])
    values = ", ".join(f"{curve[last].estimate} s ({drain})" for drain, curve in curves.items())
    measured = (
        f"stable at {counts['stable']} of {counts.total()} points, up to rate {last:g}, "
        f"{last / capacity:.1%} of the capacity, where E[T] is {values}; the exact solution is "
        "finite at every rate below the capacity"
    )
    if counts["unstable"]:
        return measured, Judgement.FAILS
    return measured, Judgement.UNDECIDED if counts["too short"] else Judgement.HOLDS


def _insensitive(figures: Figures) -> Measured:
    means = figures["fig2"].exact("msfq:threshold={x}", MEAN)
    rest = [value for x, value in means.items() if x >= 4]
    parts = [
        f"rate 7.5, draining on demand: {means[0]:.4g} s at l = 0, {means[1]:.4g} at 1, "
        f"{means[4]:.4g} at 4, {min(rest):.4g} at the best, {means[31]:.4g} at 31"
    ]
    costs = []
    for metric in ("mean", "weighted"):
        quantity = f"cost_of_default_for_{metric}"
        cost = figures["thresholds"].of("MSFQ", quantity, method="best thresholds")
        top = max(cost.values(), key=lambda row: row.value)
        costs.append(top.value)
        parts.append(
            f"l = 31 costs at most {top.value - 1:.1%} ({metric}), at load {top.x:g}"
            f", and {cost[max(cost)].value - 1:.2%} at {max(cost):g}"
        )
    insensitive = max(max(rest) / min(rest), *costs) <= INSENSITIVE
    return "exact: " + "; ".join(parts), Judgement.HOLDS if insensitive else Judgement.CONDITION


def _two_orders(figures: Figures) -> Measured:
    rows = figures["fig3"]
    rates = sorted(rows.experiment.values)[-3:]
    parts, others, largest = [], [], []
    for quantity, name in ((MEAN, "mean"), (WEIGHTED, "weighted mean")):
        ours, msf = (rows.exact(policy, quantity) for policy in ("msfq:threshold=31", "msf"))
        ratios = [msf[x] / ours[x] for x in rates]
        largest.append(max(ratios))
        parts.append(
            f"{name}, MSF over MSFQ(31) at {', '.join(map('{:g}'.format, rates))}: "
            + ", ".join(f"{value:.1f}" for value in ratios)
        )
    for rival in ("nMSR", "First-Fit"):
        for quantity, name in ((MEAN, "mean"), (WEIGHTED, "weighted mean")):
            found = contrasts(rows, Curve(MSFQ, quantity), Curve(rival, quantity))
            others.append(f"{rival}, {name}: {summary(found)}")
    measured = "exact: " + "; ".join(parts) + ". Simulated, " + ". ".join(others)
    return measured, Judgement.HOLDS if min(largest) >= 100 else Judgement.FAILS


def _accurate(figures: Figures) -> Measured:
    rows = figures["fig3"]
    exact = rows.exact("msfq:threshold=31,drain=always", MEAN)
    on_demand = rows.exact("msfq:threshold=31", MEAN)
    parts, accurate = [], True
    for series, method in (
        ("analysis as printed", "printed"),
        ("analysis, corrected", "corrected"),
    ):
        curve = rows.of(series, MEAN, method=method)
        errors = {x: row.value / exact[x] - 1 for x, row in curve.items()}
        least, most = min(errors), max(errors)
        large = [x for x, error in errors.items() if abs(error) > ACCURATE]
        accurate &= not large and least <= min(exact)
        parts.append(
            f"{series}: from rate {least:g} on (below, it does not apply); error "
            f"{errors[least]:+.1%} there, {errors[most]:+.1%} at {most:g}"
            + (f", above {ACCURATE:.0%} up to {max(large):g}" if large else "")
        )
    gap = {x: exact[x] / on_demand[x] - 1 for x in exact}
    parts.append(
        f"draining always, which it describes, against on demand: {gap[5.0]:+.1%} at 5, "
        f"{gap[max(gap)]:+.1%} at {max(gap):g}"
    )
    return "exact: " + "; ".join(parts), Judgement.HOLDS if accurate else Judgement.CONDITION


PHASES = Better(
    "fig4",
    tuple(
        Pair(f"phase {phase}", Curve(MSFQ, quantity), Curve("MSF", quantity))
        for phase in "123"
        for quantity in [f"mean_duration_of_phase_{phase}"]
    ),
    word="shorter",
    present=True,
)


def _phases(figures: Figures) -> Measured:
    measured, found = PHASES(figures)
    drain = figures["fig4"].of(MSFQ, "mean_duration_of_phase_4")
    last = max(drain)
    return (
        f"{measured}. phase 4, which MSF does not have: {drain[last].estimate} s at {last:g}",
        found,
    )


CLAIMS = (
    Claim(
        "MSFQ keeps far fewer jobs in the system than MSF",
        "Figure 1",
        ("fig1",),
        _trajectories,
        "Swapping early keeps the two queues from feeding each other. One path, no interval.",
    ),
    Claim(
        "MSFQ is throughput-optimal",
        "Theorem on stability; its appendix",
        ("fig3",),
        _throughput_optimal,
        "The theorem stands; its proof needs the other sign in the drift of phase 3, and l + 1 in "
        "place of l - 1.",
    ),
    Claim(
        "The mean response time hardly depends on the threshold unless it is close to 0, and "
        "l = k - 1 is a good choice",
        "Figure 2; section on one-or-all",
        ("fig2", "thresholds"),
        _insensitive,
        "Near the capacity l = k - 1 loses next to nothing; at moderate loads the best l is far "
        "below it.",
    ),
    Claim(
        "MSFQ has the best mean and weighted mean response time in all cases",
        "Figure 3",
        ("fig3",),
        Better(
            "fig3",
            tuple(
                Pair(f"against {rival}, {name}", Curve(MSFQ, quantity), Curve(rival, quantity))
                for rival in ("MSF", "First-Fit", "nMSR")
                for quantity, name in ((MEAN, "mean"), (WEIGHTED, "weighted"))
            ),
        ),
        "At low rates an early swap drains servers for nothing: with l = 31 a heavy job stops all "
        "light ones; from the middle rates on it wins, and by more the higher the rate.",
    ),
    Claim(
        "MSFQ improves the response times of both classes",
        "Figure 3, panels of the classes",
        ("fig3",),
        Better(
            "fig3",
            tuple(
                Pair(f"{cls} jobs", Curve(MSFQ, cls=cls), Curve("MSF", cls=cls))
                for cls in ("light", "heavy")
            ),
            intro="against MSF, ",
        ),
        "Light jobs pay for the swap at low rates, where hardly any job waits under MSF.",
    ),
    Claim(
        "MSFQ is better than MSF, nMSR and First-Fit by two orders of magnitude at high rates",
        "Figure 3, caption and text",
        ("fig3",),
        _two_orders,
        "Against MSF it is one order of magnitude: in heavy traffic the ratio of the means tends "
        "to 20.5, and that of the weighted means is hardly larger; against nMSR and First-Fit it "
        "is more, but below 100 at every rate simulated.",
    ),
    Claim(
        "The analysis is highly accurate at a wide range of rates",
        "Figure 3; section on its approximations",
        ("fig3",),
        _accurate,
        "It assumes that k light jobs are present when their visit begins, which is true at high "
        "rates; and it describes the drain that begins whether or not a heavy job waits.",
    ),
    Claim(
        "MSFQ has shorter phases than MSF",
        "Figure 4",
        ("fig4",),
        _phases,
        "A drain of about four seconds takes the place of a phase 3 that lasts minutes, and the "
        "visits to both classes shrink with it.",
    ),
)
