"""The claims on four classes, in the order of the paper."""

from __future__ import annotations

from collections import Counter

from quickswap.paper.comparing import Curve
from quickswap.paper.judging import WEIGHTED, Better, Claim, Figures, Judgement, Measured, Pair

__all__ = ["CLAIMS"]

ADAPTIVE, STATIC = "Adaptive Quickswap", "Static Quickswap"
EXCLUSIVE = "Static Quickswap, exclusive"


def _stability_of_static(figures: Figures) -> Measured:
    dividing, odd = figures["fig5"], figures["odd-needs"]
    counts = Counter(row.verdict for row in dividing.of(EXCLUSIVE, WEIGHTED).values())
    unstable = [x for x, row in odd.of(EXCLUSIVE, WEIGHTED).items() if row.verdict == "unstable"]
    measured = (
        f"15 servers: stable at {counts['stable']} of {counts.total()} rates up to "
        f"{max(dividing.experiment.values):g} of 5; 16 servers, which the needs do not divide: "
        + (f"unstable from rate {min(unstable):g} on" if unstable else "no unstable rate found")
        + f", below the capacity of {odd.experiment.system.capacity:.4g} (exact)"
    )
    if counts["unstable"]:
        return measured, Judgement.FAILS
    return measured, Judgement.UNDECIDED if counts["too short"] else Judgement.HOLDS


CLAIMS = (
    Claim(
        "Static Quickswap is throughput-optimal (needs that divide k)",
        "Remark on its stability",
        ("fig5", "odd-needs"),
        _stability_of_static,
        "Loads per slot summing to less than 1 is enough, and that is the capacity where every "
        "need divides the servers, as the paper asks; elsewhere it is less.",
    ),
    Claim(
        "Static and Adaptive Quickswap are better than MSF and First-Fit in all cases",
        "Figure 5",
        ("fig5",),
        Better(
            "fig5",
            tuple(
                Pair(
                    f"{ours} against {rival}",
                    Curve(ours, WEIGHTED),
                    Curve(rival, WEIGHTED),
                    counts=ours != EXCLUSIVE,
                )
                for ours in (ADAPTIVE, STATIC, EXCLUSIVE)
                for rival in ("MSF", "First-Fit")
            ),
        ),
        "It is true of Adaptive and of the overlapping Static, except at the lowest rate, where "
        "no policy is significantly better; the exclusive Static of the paper's text mostly "
        "loses, as each swap waits for a drain.",
    ),
    Claim(
        "Static Quickswap is slightly worse than Adaptive Quickswap in all cases",
        "Figure 5",
        ("fig5",),
        Better(
            "fig5",
            tuple(
                Pair(f"against {rival}", Curve(ADAPTIVE, WEIGHTED), Curve(rival, WEIGHTED))
                for rival in (STATIC, EXCLUSIVE)
            ),
        ),
        "At the lowest rates Adaptive and the overlapping Static are not significantly different; "
        "the exclusive Static is worse by far more than slightly.",
    ),
)
