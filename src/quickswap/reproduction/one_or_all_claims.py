"""The claims on one-or-all systems."""

from __future__ import annotations

import math
from collections import Counter

from quickswap.reproduction.judging import (
    CONDITION,
    FAILS,
    HOLDS,
    MEAN,
    UNDECIDED,
    WEIGHTED,
    Claim,
    Figures,
    Judged,
    verdict,
)
from quickswap.reproduction.table import Rows
from quickswap.reproduction.versus import Curve, duels, told

__all__ = ["CLAIMS"]

MSFQ, ALWAYS = "MSFQ(31)", "MSFQ(31), always draining"
ACCURATE = 0.05
"""Relative error up to which we call an approximation highly accurate."""
INSENSITIVE = 1.1
"""Ratio of the worst to the best threshold up to which we call the mean insensitive to it."""


def _throughput_optimal(figures: Figures) -> Judged:
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
    return (
        measured,
        FAILS if counts["unstable"] else UNDECIDED if counts["too short"] else HOLDS,
        "The theorem stands; its proof needs the other sign in the drift of phase 3, and l + 1 in "
        "place of l - 1.",
    )


def _best_of_all(figures: Figures) -> Judged:
    rows = figures["fig3"]
    parts, found = [], []
    for rival in ("MSF", "First-Fit", "nMSR"):
        for quantity, name in ((MEAN, "mean"), (WEIGHTED, "weighted")):
            against = duels(rows, Curve(MSFQ, quantity), Curve(rival, quantity))
            found += against
            parts.append(f"against {rival}, {name}: {told(against)}")
    counts = Counter(each.outcome for each in found)
    return (
        ". ".join(parts),
        verdict(counts["better"], counts["worse"], counts["undecided"]),
        "At low rates an early swap drains servers for nothing: with l = 31 a heavy job stops all "
        "light ones; from the middle rates on it wins, and by more the higher the rate.",
    )


def _each_class(figures: Figures) -> Judged:
    rows = figures["fig3"]
    parts, counts = [], Counter[str]()
    for cls in ("light", "heavy"):
        against = duels(rows, Curve(MSFQ, cls=cls), Curve("MSF", cls=cls))
        counts.update(each.outcome for each in against)
        parts.append(f"{cls} jobs: {told(against)}")
    return (
        "against MSF, " + ". ".join(parts),
        verdict(counts["better"], counts["worse"], counts["undecided"]),
        "Light jobs pay for the swap at low rates, where MSF hardly makes anybody wait.",
    )


def _two_orders(figures: Figures) -> Judged:
    rows = figures["fig3"]
    rates = sorted(rows.experiment.values)[-3:]
    parts, most = [], []
    for quantity, name in ((MEAN, "mean"), (WEIGHTED, "weighted mean")):
        ours, msf = (_exact(rows, policy, quantity) for policy in ("msfq:threshold=31", "msf"))
        ratios = [msf[x] / ours[x] for x in rates]
        most.append(max(ratios))
        shown = ", ".join(f"{value:.1f}" for value in ratios)
        parts.append(
            f"{name}, MSF over MSFQ(31) at {', '.join(map('{:g}'.format, rates))}: {shown}"
        )
    others = []
    for rival in ("nMSR", "First-Fit"):
        for quantity, name in ((MEAN, "mean"), (WEIGHTED, "weighted mean")):
            found = duels(rows, Curve(MSFQ, quantity), Curve(rival, quantity))
            others.append(f"{rival}, {name}: {told(found)}")
    return (
        "exact: " + "; ".join(parts) + ". Simulated, " + ". ".join(others),
        HOLDS if min(most) >= 100 else FAILS,
        "Against MSF it is one order of magnitude: in heavy traffic the ratio of the means tends "
        "to 20.5, and that of the weighted means is hardly larger; against nMSR and First-Fit it "
        "is more, but below 100 at every rate looked at.",
    )


def _exact(rows: Rows, policy: str, quantity: str, cls: str = "all") -> dict[float, float]:
    return {
        row.x: row.value
        for row in rows
        if (row.method, row.policy, row.quantity, row.cls) == ("exact", policy, quantity, cls)
    }


def _accurate(figures: Figures) -> Judged:
    rows = figures["fig3"]
    policy = "msfq:threshold=31,drain=always"
    exact, demand = _exact(rows, policy, MEAN), _exact(rows, "msfq:threshold=31", MEAN)
    parts, worst = [], {}
    for series in ("analysis as printed", "analysis, corrected"):
        method = {"analysis as printed": "printed", "analysis, corrected": "corrected"}[series]
        curve = {x: row.value for x, row in rows.of(series, MEAN, method=method).items()}
        errors = {x: curve[x] / exact[x] - 1 for x in curve}
        fine = [x for x, error in errors.items() if abs(error) > ACCURATE]
        worst[method] = fine
        end = max(errors)
        parts.append(
            f"{series}: from rate {min(curve):g} on (below, it does not apply); error "
            f"{errors[min(curve)]:+.1%} there, {errors[end]:+.1%} at {end:g}"
            + (f", above {ACCURATE:.0%} up to {max(fine):g}" if fine else "")
        )
    gap = {x: exact[x] / demand[x] - 1 for x in exact}
    parts.append(
        f"draining always, which it describes, against on demand: {gap[5.0]:+.1%} at 5, "
        f"{gap[max(gap)]:+.1%} at {max(gap):g}"
    )
    return (
        "exact: " + "; ".join(parts),
        CONDITION if any(worst.values()) or min(exact) < min(curve) else HOLDS,
        "It takes for granted that k light jobs are there when their visit begins, so that it is "
        "for high rates; and it describes the drain that does not look whether a heavy job waits.",
    )


def _insensitive(figures: Figures) -> Judged:
    rows, best = figures["fig2"], figures["thresholds"]
    parts, spreads = [], []
    for policy, name in (("msfq:threshold={x:g}", "on demand"),):
        curve = {
            x: value
            for x in map(float, range(32))
            for value in [_exact(rows, policy.format(x=x), MEAN).get(x, math.nan)]
        }
        low, rest = curve[0.0], {x: value for x, value in curve.items() if x >= 4}
        spreads.append(max(rest.values()) / min(rest.values()))
        parts.append(
            f"rate 7.5, draining {name}: {low:.4g} s at l = 0, {curve[1.0]:.4g} at 1, "
            f"{curve[4.0]:.4g} at 4, {min(rest.values()):.4g} at the best, {curve[31.0]:.4g} at 31"
        )
    cost = {
        metric: best.of("MSFQ", f"cost_of_default_for_{metric}", method="best thresholds")
        for metric in ("mean", "weighted")
    }
    for metric, curve_ in cost.items():
        top = max(curve_.values(), key=lambda row: row.value)
        parts.append(
            f"l = 31 costs at most {top.value - 1:.1%} ({metric}), at load {top.x:g}"
            f", and {curve_[max(curve_)].value - 1:.2%} at {max(curve_):g}"
        )
    good = max(spreads) <= INSENSITIVE
    cheap = all(row.value <= INSENSITIVE for curve_ in cost.values() for row in curve_.values())
    return (
        "exact: " + "; ".join(parts),
        HOLDS if good and cheap else CONDITION,
        "Near the capacity l = k - 1 loses next to nothing; at moderate loads the best l is far "
        "below it.",
    )


def _phases(figures: Figures) -> Judged:
    rows = figures["fig4"]
    parts, counts = [], Counter[str]()
    for phase in "123":
        quantity = f"mean_duration_of_phase_{phase}"
        found = [
            each
            for each in duels(rows, Curve(MSFQ, quantity), Curve("MSF", quantity))
            if not math.isnan(each.ratio.value)
        ]
        counts.update(each.outcome for each in found)
        parts.append(f"phase {phase}: {told(found)}".replace("better", "shorter"))
    drain = rows.of(MSFQ, "mean_duration_of_phase_4")
    parts.append(
        f"phase 4, which MSF has none of: {drain[max(drain)].estimate} s at {max(drain):g}"
    )
    return (
        ". ".join(parts),
        verdict(counts["better"], counts["worse"], counts["undecided"]),
        "A drain of about four seconds takes the place of a phase 3 that lasts minutes, and the "
        "visits to both classes shrink with it.",
    )


def _trajectories(figures: Figures) -> Judged:
    rows = figures["fig1"]
    parts, peaks, seconds, short = [], [], 0.0, False
    for series in ("MSF", MSFQ):
        result = rows.result(series, 7.5)
        if result is None or result.trajectory is None:
            return "no trajectory", UNDECIDED, "The run has failed."
        seconds = result.trajectory.times[-1]
        short |= not result.stable
        light, heavy = map(max, zip(*result.trajectory.counts, strict=True))
        peaks.append((light, heavy))
        parts.append(f"{series}: at most {light:,} light and {heavy:,} heavy")
    gain = min(above / below for above, below in zip(*peaks, strict=True))
    return (
        f"one path of {seconds:,.0f} s each: {'; '.join(parts)}",
        HOLDS if gain > 2 else UNDECIDED if short else FAILS,
        "Swapping early keeps the two queues from feeding each other. One path, no interval.",
    )


CLAIMS = (
    Claim(
        "MSFQ keeps far fewer jobs in the system than MSF",
        "Figure 1",
        ("fig1",),
        _trajectories,
    ),
    Claim(
        "MSFQ is throughput-optimal",
        "Theorem on stability; its appendix",
        ("fig3",),
        _throughput_optimal,
    ),
    Claim(
        "The mean response time hardly depends on the threshold unless it is close to 0, and "
        "l = k - 1 is a good choice",
        "Figure 2; section on one-or-all",
        ("fig2", "thresholds"),
        _insensitive,
    ),
    Claim(
        "MSFQ has the best mean and weighted mean response time in all cases",
        "Figure 3",
        ("fig3",),
        _best_of_all,
    ),
    Claim(
        "MSFQ improves the response times of both classes",
        "Figure 3, panels of the classes",
        ("fig3",),
        _each_class,
    ),
    Claim(
        "MSFQ is better than MSF, nMSR and First-Fit by two orders of magnitude at high rates",
        "Figure 3, caption and text",
        ("fig3",),
        _two_orders,
    ),
    Claim(
        "The analysis is highly accurate at a wide range of rates",
        "Figure 3; section on its approximations",
        ("fig3",),
        _accurate,
    ),
    Claim("MSFQ has shorter phases than MSF", "Figure 4", ("fig4",), _phases),
)
"""In the order of the paper."""
