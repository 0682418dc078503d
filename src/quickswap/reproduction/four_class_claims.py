"""The claims on four classes."""

from __future__ import annotations

from collections import Counter

from quickswap.reproduction.judging import (
    FAILS,
    HOLDS,
    UNDECIDED,
    WEIGHTED,
    Claim,
    Figures,
    Judged,
    verdict,
)
from quickswap.reproduction.versus import Curve, duels, told

__all__ = ["CLAIMS"]


def _static_optimal(figures: Figures) -> Judged:
    dividing, odd = figures["fig5"], figures["odd-needs"]
    exclusive = "Static Quickswap, exclusive"
    counts = Counter(row.verdict for row in dividing.of(exclusive, WEIGHTED).values())
    broken = [x for x, row in odd.of(exclusive, WEIGHTED).items() if row.verdict == "unstable"]
    measured = (
        f"15 servers: stable at {counts['stable']} of {counts.total()} rates up to "
        f"{max(dividing.experiment.values):g} of 5; 16 servers, which the needs do not divide: "
        + (f"unstable from rate {min(broken):g} on" if broken else "no unstable rate found")
        + f", below the capacity of {odd.experiment.system.capacity:.4g} (exact)"
    )
    found = FAILS if counts["unstable"] else UNDECIDED if counts["too short"] else HOLDS
    return (
        measured,
        found,
        "Loads per slot summing to less than 1 is enough, and that is the capacity where every "
        "need divides the servers, as the paper asks; elsewhere it is less.",
    )


def _better_than_rivals(figures: Figures) -> Judged:
    rows = figures["fig5"]
    parts, counts = [], {True: Counter[str](), False: Counter[str]()}
    for ours in ("Adaptive Quickswap", "Static Quickswap", "Static Quickswap, exclusive"):
        for rival in ("MSF", "First-Fit"):
            found = duels(rows, Curve(ours, WEIGHTED), Curve(rival, WEIGHTED))
            counts["exclusive" in ours].update(each.outcome for each in found)
            parts.append(f"{ours} against {rival}: {told(found)}")
    main, text = counts[False], counts[True]
    return (
        ". ".join(parts),
        verdict(
            main["better"], main["worse"] + text["worse"], main["undecided"] + text["undecided"]
        ),
        "It is true of Adaptive and of the overlapping Static, but for the lowest rate, where "
        "nobody can be told apart; the exclusive Static of the paper's text mostly loses, as each "
        "swap waits for a drain.",
    )


def _adaptive_best(figures: Figures) -> Judged:
    rows = figures["fig5"]
    parts, counts = [], Counter[str]()
    for rival in ("Static Quickswap", "Static Quickswap, exclusive"):
        found = duels(rows, Curve("Adaptive Quickswap", WEIGHTED), Curve(rival, WEIGHTED))
        counts.update(each.outcome for each in found)
        parts.append(f"against {rival}: {told(found)}")
    return (
        ". ".join(parts),
        verdict(counts["better"], counts["worse"], counts["undecided"]),
        "At the lowest rates Adaptive and the overlapping Static cannot be told apart; the "
        "exclusive Static is worse by far more than slightly.",
    )


CLAIMS = (
    Claim(
        "Static Quickswap is throughput-optimal (needs that divide k)",
        "Remark on its stability",
        ("fig5", "odd-needs"),
        _static_optimal,
    ),
    Claim(
        "Static and Adaptive Quickswap are better than MSF and First-Fit in all cases",
        "Figure 5",
        ("fig5",),
        _better_than_rivals,
    ),
    Claim(
        "Static Quickswap is slightly worse than Adaptive Quickswap in all cases",
        "Figure 5",
        ("fig5",),
        _adaptive_best,
    ),
)
"""In the order of the paper."""
