"""Checks of claims that are no comparison of curves."""

from __future__ import annotations

from quickswap.paper.experiment import MEAN
from quickswap.paper.judging import Judgement, Measured
from quickswap.paper.rows import Rows
from quickswap.simulation.result import Result

__all__ = ["accurate", "equitable", "insensitive", "numbers_of_borg", "trajectories"]

ACCURATE = 0.05
"""Relative error up to which an approximation is highly accurate."""
INSENSITIVE = 1.1
"""Ratio of the worst to the best mean up to which it is insensitive to the threshold."""
CAPACITY, HEAVY_SHARE, HEAVY_JOBS = 4.94, 0.858, 0.0034
"""The paper's numbers of Borg: the capacity, and a share of the load that few of the jobs carry."""


def trajectories(rows: Rows) -> Measured:
    """Compare the largest numbers of jobs on one path."""
    parts, peaks, seconds, short = [], [], 0.0, False
    for (series, _), result in rows.results.items():
        if not isinstance(result, Result) or result.trajectory is None:
            return Measured("no trajectory", Judgement.UNDECIDED)
        seconds = result.trajectory.times[-1]
        short |= not result.stable
        light, heavy = map(max, zip(*result.trajectory.counts, strict=True))
        peaks.append((light, heavy))
        parts.append(f"{series.label}: at most {light:,} light and {heavy:,} heavy")
    gain = min(above / below for above, below in zip(*peaks, strict=True))
    measured = f"one path of {seconds:,.0f} s each: {'; '.join(parts)}"
    if gain > 2:
        return Measured(measured, Judgement.HOLDS)
    return Measured(measured, Judgement.UNDECIDED if short else Judgement.FAILS)


def insensitive(rows: Rows, thresholds: Rows) -> Measured:
    """Compare thresholds by the exact solution."""
    means = rows.exact("msfq:threshold={x}", MEAN)
    rest = [value for x, value in means.items() if x >= 4]
    parts = [
        f"rate 7.5, draining on demand: {means[0]:.4g} s at l = 0, {means[1]:.4g} at 1, "
        f"{means[4]:.4g} at 4, {min(rest):.4g} at the best, {means[31]:.4g} at 31"
    ]
    costs = []
    for metric in ("mean", "weighted"):
        quantity = f"cost_of_default_for_{metric}"
        cost = thresholds.of("MSFQ", quantity, method="best thresholds")
        top = max(cost.values(), key=lambda row: row.value)
        costs.append(top.value)
        parts.append(
            f"l = 31 costs at most {top.value - 1:.1%} ({metric}), at load {top.x:g}"
            f", and {cost[max(cost)].value - 1:.2%} at {max(cost):g}"
        )
    small = max(max(rest) / min(rest), *costs) <= INSENSITIVE
    return Measured("exact: " + "; ".join(parts), Judgement.HOLDS if small else Judgement.CONDITION)


def accurate(rows: Rows) -> Measured:
    """Compare the analysis with the exact solution."""
    exact = rows.exact("msfq:threshold=31,drain=always", MEAN)
    on_demand = rows.exact("msfq:threshold=31", MEAN)
    parts, everywhere = [], True
    for series, method in (
        ("analysis as printed", "printed"),
        ("analysis, corrected", "corrected"),
    ):
        curve = rows.of(series, MEAN, method=method)
        errors = {x: row.value / exact[x] - 1 for x, row in curve.items()}
        least, most = min(errors), max(errors)
        large = [x for x, error in errors.items() if abs(error) > ACCURATE]
        everywhere &= not large and least <= min(exact)
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
    return Measured(
        "exact: " + "; ".join(parts), Judgement.HOLDS if everywhere else Judgement.CONDITION
    )


def numbers_of_borg(rows: Rows) -> Measured:
    """Compare the numbers that the paper gives with those of the model."""
    system = rows.experiment.system
    load = jobs = 0.0
    needs = []
    for share, part, need in sorted(
        zip(system.load_shares, system.job_shares, system.needs, strict=True), reverse=True
    ):
        if load >= HEAVY_SHARE - 0.001:
            break
        load, jobs = load + share, jobs + part
        needs.append(need)
    measured = (
        f"exact: capacity {system.capacity:.4f}; the classes of needs "
        f"{', '.join(map(str, needs))} carry {load:.2%} of the load with {jobs:.3%} of the jobs; "
        f"the heaviest class needs {max(system.needs)} of {system.servers} servers"
    )
    if abs(system.capacity - CAPACITY) < 0.005 and abs(jobs - HEAVY_JOBS) < 0.0005:
        return Measured(measured, Judgement.HOLDS)
    near = abs(system.capacity - CAPACITY) < 0.05 and jobs > HEAVY_JOBS / 2
    return Measured(measured, Judgement.CONDITION if near else Judgement.FAILS)


def equitable(rows: Rows) -> Measured:
    """Compare Jain's index at the highest rate at which all policies are stable."""
    ours, rivals = ("Adaptive Quickswap", "Static Quickswap"), ("MSF", "First-Fit")
    stable = [
        {x for x, row in rows.of(series, "jain_index").items() if row.verdict == "stable"}
        for series in (*ours, *rivals)
    ]
    if not (everywhere := set.intersection(*stable)):
        return Measured("no rate at which all policies could be judged", Judgement.UNDECIDED)
    x = max(everywhere)
    parts, index = [], {}
    for series in (*ours, *rivals):
        index[series] = rows.of(series, "jain_index")[x].estimate
        light, heavy = (rows.of(series, MEAN, cls)[x] for cls in ("need 1", "need 2000"))
        unfairness = heavy.estimate / light.estimate
        parts.append(f"{series}: index {index[series]}, heaviest over lightest {unfairness}")
    fair = min(index[each].low for each in ours) > max(index[each].high for each in rivals)
    return Measured(
        f"at rate {x:g}, the highest at which all could be judged. " + "; ".join(parts),
        Judgement.HOLDS if fair else Judgement.FAILS,
    )
