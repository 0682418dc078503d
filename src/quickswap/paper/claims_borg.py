"""The claims on Google's Borg, in the order of the paper."""

from __future__ import annotations

import math
from collections import Counter

from quickswap.paper.comparing import UNDECIDED, Curve, contrasts, ratio, summary
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
from quickswap.statistics.paired import Outcome
from quickswap.theory import stability

__all__ = ["CLAIMS"]

OURS = ("Adaptive Quickswap", "Static Quickswap")
RIVALS = ("MSF", "First-Fit")
FILLING = "ServerFilling (preemptive)"
MEDIUM = 3.5
"""Rate up to which the load is light to medium; the capacity is 4.96."""
HIGH = 3
"""Number of rates, from the highest down, that are high."""
HEAVY_SHARE = 0.858
"""Share of the load that, in the paper, comes from 0.34 % of the jobs."""


def _numbers(figures: Figures) -> Measured:
    system = figures["fig6"].experiment.system
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
    if abs(system.capacity - 4.94) < 0.005 and abs(jobs - 0.0034) < 0.0005:
        return measured, Judgement.HOLDS
    near = abs(system.capacity - 4.94) < 0.05 and jobs > 0.0034 / 2
    return measured, Judgement.CONDITION if near else Judgement.FAILS


def _stable(figures: Figures) -> Measured:
    rows = figures["fig6"]
    parts, every = [], Counter[str]()
    for series in (*OURS, *RIVALS):
        curve = rows.of(series, WEIGHTED)
        counts = Counter(row.verdict for row in curve.values())
        every += counts
        words = [f"stable at {counts['stable']} of {counts.total()} rates"]
        for status in ("unstable", "too short"):
            where = [f"{x:g}" for x, row in curve.items() if row.verdict == status]
            if where:
                words.append(f"{status} at {', '.join(where)}")
        known = stability(rows.experiment.system, next(iter(curve.values())).policy)
        if known.limit is not None:
            words.append(f"proven below {known.limit:.4g}")
        parts.append(f"{series}: {', '.join(words)}")
    if every["unstable"]:
        return "; ".join(parts), Judgement.FAILS
    return "; ".join(parts), Judgement.UNDECIDED if every["too short"] else Judgement.HOLDS


def _two_orders(figures: Figures) -> Measured:
    parts, largest, inconclusive = [], [], False
    for ours in OURS:
        for rival in RIVALS:
            found = contrasts(figures["fig6"], Curve(ours, WEIGHTED), Curve(rival, WEIGHTED))
            parts.append(f"{ours} against {rival}: {summary(found)}")
            ratios = [each.ratio.value for each in found if each.outcome is Outcome.BETTER]
            largest.append(max((each for each in ratios if math.isfinite(each)), default=0.0))
            inconclusive |= all(each.outcome in UNDECIDED for each in found[-HIGH:])
    if min(largest) >= 100:
        return ". ".join(parts), Judgement.HOLDS
    return ". ".join(parts), Judgement.UNDECIDED if inconclusive else Judgement.FAILS


def _five_times(figures: Figures) -> Measured:
    ours, msf = (figures["fig6"].of(name, WEIGHTED) for name in ("Static Quickswap", "MSF"))
    parts, known = [], []
    for x in sorted(ours.keys() & msf.keys()):
        if x < 4 or ours[x].verdict != "stable" or not math.isfinite(msf[x].value):
            continue
        found, status = ratio(msf[x].estimate, ours[x].estimate), msf[x].verdict
        parts.append(f"{found} at {x:g}" + (f" ({status})" if status != "stable" else ""))
        if status == "stable":
            known.append(found.value >= 5)
    if not parts:
        return "no rate from 4 on at which both have a value", Judgement.UNDECIDED
    measured = f"weighted mean, MSF over Static: {', '.join(parts)}"
    if not known:
        return measured, Judgement.UNDECIDED
    if all(known):
        return measured, Judgement.HOLDS
    return measured, Judgement.CONDITION if any(known) else Judgement.FAILS


def _equitable(figures: Figures) -> Measured:
    rows = figures["fig7"]
    stable = [
        {x for x, row in rows.of(series, "jain_index").items() if row.verdict == "stable"}
        for series in (*OURS, *RIVALS)
    ]
    if not (everywhere := set.intersection(*stable)):
        return "no rate at which all policies could be judged", Judgement.UNDECIDED
    x = max(everywhere)
    parts, index = [], {}
    for series in (*OURS, *RIVALS):
        index[series] = rows.of(series, "jain_index")[x].estimate
        light, heavy = (rows.of(series, MEAN, cls)[x] for cls in ("need 1", "need 2000"))
        unfairness = ratio(heavy.estimate, light.estimate)
        parts.append(f"{series}: index {index[series]}, heaviest over lightest {unfairness}")
    fair = min(index[each].low for each in OURS) > max(index[each].high for each in RIVALS)
    return (
        f"at rate {x:g}, the highest at which all could be judged. " + "; ".join(parts),
        Judgement.HOLDS if fair else Judgement.FAILS,
    )


CLAIMS = (
    Claim(
        "On Borg's cell B the capacity is 4.94, and 85.8 % of the load comes from 0.34 % of the "
        "jobs; k is the need of the heaviest class",
        "Sections on metrics and on Borg",
        ("fig6",),
        _numbers,
        "The jobs are ten times fewer: 0.34 % should read 0.034 %. 4.94 is 4.96 with the table's "
        "own digits, 85.8 % is 85.96 %, and k = 2,048 is not the need of the heaviest class.",
    ),
    Claim(
        "All policies remain stable on Borg",
        "Figure 6",
        ("fig6",),
        _stable,
        "A run that is too short looks stable here: three classes of rare jobs carry most of the "
        "load, and their backlog takes millions of jobs to show.",
    ),
    Claim(
        "On Borg Adaptive and Static Quickswap improve the weighted mean response time by two "
        "orders of magnitude at high rates",
        "Figure 6",
        ("fig6",),
        _two_orders,
        "Wherever the runs are long enough, the ratios are far below 100; near the "
        "capacity the values of MSF and Static are too imprecise.",
    ),
    Claim(
        "On Borg Static Quickswap is five times better than MSF at high load",
        "Figure 6",
        ("fig6",),
        _five_times,
        "This is the overlapping Static; MSF's own value is imprecise at high rates, as its "
        "heaviest jobs wait for days.",
    ),
    Claim(
        "Quickswap treats the classes more equitably than MSF and First-Fit, whose heavy jobs wait "
        "orders of magnitude longer than their light ones",
        "Appendix, Figure 7",
        ("fig7",),
        _equitable,
        "Every class has its turn; the index alone does not say whether all are served well or "
        "all badly.",
    ),
    Claim(
        "At light to medium loads MSF and First-Fit have the lower unweighted mean response time "
        "on Borg",
        "Appendix, Figure 7",
        ("fig7",),
        Better(
            "fig7",
            tuple(
                Pair(f"{rival} against {ours}", Curve(rival, MEAN), Curve(ours, MEAN))
                for rival in RIVALS
                for ours in OURS
            ),
            intro=f"light to medium is up to rate {MEDIUM:g}. ",
            up_to=MEDIUM,
        ),
        "The drains of Quickswap block jobs a thousand times shorter than they last.",
    ),
    Claim(
        "ServerFilling greatly outperforms all nonpreemptive policies on Borg, by both metrics",
        "Appendix, Figure 8",
        ("fig8",),
        Better(
            "fig8",
            tuple(
                Pair(f"{name}, against {rival}", Curve(FILLING, quantity), Curve(rival, quantity))
                for quantity, name in ((MEAN, "mean"), (WEIGHTED, "weighted"))
                for rival in (*OURS, *RIVALS)
            ),
        ),
        "Free preemption keeps nearly all servers busy while enough jobs wait (not all: these "
        "needs do not divide them); where its mean is not the best, First-Fit lets small jobs pass "
        "at once.",
    ),
)
