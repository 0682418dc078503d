"""Stable or not: what theorems say, and what a run shows."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from quickswap._words import counted, load_words
from quickswap.model.system import System
from quickswap.model.variability import dispersion, scatter
from quickswap.policies import Policy
from quickswap.statistics.estimates import Batches, Estimate, Run, jackknife
from quickswap.statistics.measure import busy, half_width_of

__all__ = ["Known", "Status", "Verdict", "judge", "known_stability", "rarest_tail"]

CERTAIN = 2.5
"""Half-widths that the growth must be above 0: five standard errors, as runs are judged often."""
STEADY = 0.7
"""An unstable system goes on growing at its pace. A stable one that still fills up slows down: like
the square root of time at worst, so that the second half adds 0.41 of what the first does."""
CROWD = 30.0
"""Mean number in system at the end below which growth is not taken seriously."""
PILE, PILE_SHARE = 1000.0, 0.05
"""Jobs left at the end of a replication, and their share of the arrivals, that make a pile."""
FAR_OFFERED, FAR_USED = 0.6, 1.0
"""The same half-widths, over the square root of its probability, beyond which a tail is not known:
values above a percentile come in excursions of the backlog, and a run sees few of these."""
FILLED = 1_000_000
"""Arrivals below which a pile says nothing: near its capacity a stable system still fills up."""
ENOUGH = 30
"""Completions of a class below which its mean is not to be trusted."""
SHARE = 0.05
"""Share of the load that such classes may carry."""
SIZES = 10.0
"""Mean sizes of a class that a replication must last before growth counts, and before its means do:
only those jobs complete in a short run that happen to be short."""
WIDE = 0.1
"""Half-width of the utilisation, relative to the load, beyond which a run has seen too little."""
NEAR_OFFERED, NEAR_USED = 0.12, 0.2
"""Half-widths of the load that has arrived and of the utilisation, relative to the distance from
the limit of stability, beyond which a run is short beside the swings of the backlog. The first
follows from the moments of the model, so that no luck gets a run past it; the second knows the
policy, whose cycles may be longer. `verification/coverage.py` measures what they achieve."""
SPREAD = 0.3
"""Half-width of the second moment of the sizes that arrive, relative to it, beyond which a run has
not seen the rare sizes that waiting times come from: the mean wait is proportional to it."""
MARGIN = 1.2
"""Times the jobs that the evidence asks for, as it is known roughly."""
PIECES = 16
"""Pieces of a replication whose growth is taken as independent."""


class Status(StrEnum):
    """Whether a system is stable under a policy, as far as a run or a theorem shows."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    TOO_SHORT = "too short"

    @property
    def explanation(self) -> str:
        """What it means for the estimates, and what to do."""
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    Status.STABLE: "The number in system does not grow without end; the estimates can be used.",
    Status.UNSTABLE: "The number in system grows without end and no mean exists: lower the rate.",
    Status.TOO_SHORT: "The run cannot show it, and its estimates are unreliable: simulate more "
    "jobs.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the system is stable under the policy, and what says so.

    Attributes:
        status: stable, unstable, or too short.
        proven: whether a theorem says so (else it is the evidence of this run).
        reason: one sentence.
        growth: change of the number in system, jobs per second, after the warm-up.
    """

    status: Status
    proven: bool
    reason: str
    growth: Estimate


@dataclass(frozen=True)
class Known:
    """What is known without simulation.

    Attributes:
        capacity: arrival rate at and above which no policy is stable.
        verdict: of the theorem for this policy: "stable", "unstable" or "unknown".
        reason: of the theorem.
        limit: arrival rate at which the policy is known to be unstable.
    """

    capacity: float
    verdict: str
    reason: str
    rate: float
    load: float
    servers: int
    needs: tuple[int, ...]
    load_shares: tuple[float, ...]
    mean_sizes: tuple[float, ...]
    limit: float
    dispersion: float
    """Of the load that arrives; see `quickswap.model.variability`."""
    scatter: float
    """Of the second moment of what arrives; see `quickswap.model.variability`."""

    @property
    def room(self) -> float:
        """Load that could be added before the system is known to be unstable."""
        return self.load * (self.limit / self.rate - 1)

    @property
    def hopeless(self) -> bool:
        """No policy at all can be stable."""
        return self.rate >= self.capacity


def known_stability(system: System, policy: object) -> Known:
    """Return what theorems say about a policy on a system."""
    from quickswap.theory import stability

    verdict, reason, capacity = "unknown", "nothing is proven here", system.capacity
    limit = capacity
    if isinstance(policy, Policy):
        found = stability(system, policy)
        limit = min(capacity, found.necessary_limit)
        verdict, reason = found.verdict, found.reason
        if verdict == "unstable" and found.limit is None:
            reason = f"no policy is stable at {_rate(found.necessary_limit)} or more."
        elif verdict == "unstable":
            reason = f"unstable from {_rate(found.necessary_limit)} on: {reason}"
    return Known(
        capacity=capacity,
        verdict=verdict,
        reason=reason,
        rate=system.arrival_rate,
        load=system.load,
        servers=system.servers,
        needs=system.needs,
        load_shares=system.load_shares,
        mean_sizes=tuple(each.size.mean for each in system.classes),
        limit=limit,
        dispersion=dispersion(system),
        scatter=scatter(system, 2),
    )


def _rate(rate: float) -> str:
    return f"{counted(rate, 'job', '.6g')} per second"


def judge(batches: Batches, known: Known, crowded: bool) -> Verdict:
    """Return the verdict on a run."""
    runs = [run for run, _ in batches.runs]
    growth = _growth(batches)
    grows = growth.value > CERTAIN * growth.half_width and _at_end(runs) > CROWD
    grows = (grows or _piles_up(runs)) and not _fills_up(batches, known)
    percent = 100 * growth.value / known.rate
    if known.verdict == "unstable":
        return Verdict(Status.UNSTABLE, True, known.reason, growth)
    if not grows and not crowded:
        if short := _lacks_work(batches, known):
            reason = f"{short}; {_cure(batches, known)}."
            return Verdict(Status.TOO_SHORT, known.verdict == "stable", reason, growth)
        if known.verdict == "stable":
            return Verdict(Status.STABLE, True, known.reason, growth)
        return Verdict(
            Status.STABLE, False, "the number in system does not grow in this run.", growth
        )
    if known.verdict == "stable":
        reason = "stable by theorem, but the number in system still grows"
        reason = f"{reason}; {_cure(batches, known)}."
        return Verdict(Status.TOO_SHORT, True, reason, growth)
    if not grows:
        reason = "more jobs were in the system than allowed: raise the limit, or lower the rate."
        return Verdict(Status.TOO_SHORT, False, reason, growth)
    if _steady(runs):
        reason = (
            f"the number in system grows steadily through the run: {percent:.2g} % of the arrivals "
            f"did not leave, and {_at_end(runs):,.0f} jobs were there at the end."
        )
        return Verdict(Status.UNSTABLE, False, reason, growth)
    reason = "the number in system still grows, but ever more slowly"
    reason = f"{reason}; {_cure(batches, known)}."
    return Verdict(Status.TOO_SHORT, False, reason, growth)


def _lacks_work(batches: Batches, known: Known) -> str | None:
    """Return what is wrong if a run has not seen enough of its rare, big jobs.

    Either few jobs of classes that matter have completed, or the share of the servers in use is not
    the load, as it must be in a stable system in the long run.
    """
    if little := _seen_little(batches, known):
        return little
    used, width = _used(batches, known)
    if abs(used - known.load) > max(2 * width, 0.01 * known.load):
        return (
            f"{used:.3g} ± {width:.1g} of the servers were in use and {known.load:.3g} must be in "
            "the long run, so that the run has not seen its rare, big jobs served"
        )
    offered = _offered(batches, known)
    offered = offered if math.isfinite(offered) else 0.0  # infinite variance is reported elsewhere
    if max(offered / NEAR_OFFERED, width / NEAR_USED) > known.room:
        return (
            f"the load is {load_words(known.load)} and its limit "
            f"{load_words(known.load + known.room)}: the run is short beside the swings of the "
            "backlog"
        )
    if SPREAD < _missed(batches, known) < math.inf:
        return (
            "the sizes vary so much that the run has not seen enough of the largest, from which "
            "the waiting times come"
        )
    return None


def _missed(batches: Batches, known: Known) -> float:
    """Return the relative half-width of the second moment of the sizes that arrive in the run."""
    return half_width_of(known.scatter, batches)


def _offered(batches: Batches, known: Known) -> float:
    """Return the half-width of the load that arrives in a time as long as the run measured."""
    return half_width_of(known.dispersion, batches)


def _cure(batches: Batches, known: Known) -> str:
    """Return how many jobs would be enough, estimated from the run.

    Half-widths shrink like the square root of the jobs, and the rest grows in proportion.
    """
    jobs = batches.whole_and_less().of_classes("completions", "arrivals")[0]
    matter = np.array(known.load_shares) > SHARE / len(known.needs)
    if (jobs[matter, 0] == 0).any():
        return "simulate more jobs"
    seconds = min(float(_durations(run).sum()) for run, _ in batches.runs)
    _, width = _used(batches, known)
    factors = [
        2.0,
        *(ENOUGH / jobs[matter, 0]),
        *(SIZES * np.array(known.mean_sizes)[matter] / seconds),
        (width / (WIDE * known.load)) ** 2,
        (width / (NEAR_USED * known.room)) ** 2,
        (_offered(batches, known) / (NEAR_OFFERED * known.room)) ** 2,
        (_missed(batches, known) / SPREAD) ** 2,
    ]
    factor = MARGIN * max(filter(math.isfinite, factors))
    done = sum(float(run.columns.of_classes("completions").sum()) for run, _ in batches.runs)
    return f"simulate more jobs, about {float(f'{factor * done:.1e}'):,.0f}"


def rarest_tail(batches: Batches, known: Known) -> float:
    """Return the probability of the farthest tail that a run has seen often enough."""
    _, width = _used(batches, known)
    worst = max(_offered(batches, known) / FAR_OFFERED, width / FAR_USED)
    return (worst / known.room) ** 2 if known.room > 0 and math.isfinite(worst) else 1.0


def _fills_up(batches: Batches, known: Known) -> bool:
    """Whether the run is so short that what grows may be the system filling up for the first time.

    Completions do not show it: a class that starves has none, however long the run is.
    """
    arrived = batches.whole_and_less().of_classes("arrivals")[0]
    unseen = (arrived < ENOUGH) | _outlast(batches, known)
    return float(np.array(known.load_shares)[unseen].sum()) > SHARE


def _outlast(batches: Batches, known: Known) -> NDArray[np.bool_]:
    """Return which classes have sizes that are long beside the shortest replication."""
    seconds = min(float(_durations(run).sum()) for run, _ in batches.runs)
    return seconds < SIZES * np.array(known.mean_sizes)


def _seen_little(batches: Batches, known: Known) -> str | None:
    """Return what a run has seen too little of for its values to be trusted."""
    jobs = batches.whole_and_less().of_classes("completions", "arrivals")[0]
    waiting = np.flatnonzero((jobs[:, 0] == 0) & (jobs[:, 1] >= ENOUGH))
    if waiting.size:
        first = waiting[0]
        arrived = counted(jobs[first, 1], "job", ",.0f")
        return (
            f"of need {known.needs[first]} none of the {arrived} that arrived "
            "has completed, and they may never start"
        )
    rare = jobs[:, 0] < ENOUGH
    carried = float(np.array(known.load_shares)[rare].sum())
    if carried > SHARE:
        return (
            f"classes that carry {100 * carried:.3g} % of the load have completed fewer than "
            f"{ENOUGH} jobs each"
        )
    carried = float(np.array(known.load_shares)[_outlast(batches, known)].sum())
    if carried > SHARE:
        return (
            f"a replication lasts less than {SIZES:g} mean sizes of classes that carry "
            f"{100 * carried:.3g} % of the load, so that only their short jobs complete"
        )
    used, width = _used(batches, known)
    if width > WIDE * known.load:
        return (
            f"the share of the servers in use, {used:.3g} ± {width:.2g}, is too imprecise to trust "
            "the other estimates"
        )
    return None


def _used(batches: Batches, known: Known) -> tuple[float, float]:
    """Return the share of the servers in use, and its half-width."""
    sums = batches.whole_and_less()
    servers = known.servers * sums.of_system("duration")
    with np.errstate(invalid="ignore"):  # nothing is left without the only batch
        share = busy(sums, known.needs) / servers
    used, width = astuple(jackknife(share[:, None], batches.sizes)[0])
    return used, width


def _in_system(run: Run) -> NDArray[np.float64]:
    """Return the number in system at the end of each block."""
    return run.columns.of_system("in_system_at_end")


def _durations(run: Run) -> NDArray[np.float64]:
    return run.columns.of_system("duration")


def _growth(batches: Batches) -> Estimate:
    """Return the growth of the number in system after the warm-up, jobs per second."""
    pieces, sizes = [], []
    for run, cut in batches.runs:
        first = max(cut, 1)  # growth is counted from the end of a block
        number, seconds = _in_system(run), _durations(run).cumsum()
        edges = np.unique(np.linspace(first - 1, len(number) - 1, PIECES + 1).astype(int))
        pieces.append(np.stack([np.diff(number[edges]), np.diff(seconds[edges])], axis=1))
        sizes.append(len(pieces[-1]))
    table = np.concatenate(pieces)
    if not len(table):
        return Estimate(math.nan, math.nan)
    sums = np.concatenate([table.sum(axis=0)[None], table.sum(axis=0) - table])
    with np.errstate(invalid="ignore", divide="ignore"):
        return jackknife(sums[:, :1] / sums[:, 1:], sizes)[0]


def _at_end(runs: list[Run]) -> float:
    return float(np.mean([_in_system(run)[-1] for run in runs]))


def _piles_up(runs: list[Run]) -> bool:
    """Whether the backlog grows in ever longer swings, too wild for the growth to be significant.

    The mean number in system in the second half of a run is three times that in the first if it
    grows at a steady pace, and 1.83 times if it grows like the square root of time.
    """
    arrivals = _arrivals(runs)
    if min(len(run.rows) for run in runs) < PIECES or arrivals < FILLED:
        return False
    halves = [[half.mean() for half in np.array_split(_in_system(run), 2)] for run in runs]
    first, second = np.array(halves).T
    swells = bool((second > 1.5 * first).all()) and second.sum() > 2.2 * first.sum()
    left = sum(float(_in_system(run)[-1]) for run in runs)
    return swells and left > PILE_SHARE * arrivals and left > PILE * len(runs)


def _arrivals(runs: list[Run]) -> float:
    return sum(float(run.columns.of_classes("arrivals").sum()) for run in runs)


def _steady(runs: list[Run]) -> bool:
    """Whether the second half of the time adds nearly as much as the first, on average."""
    first = second = 0.0
    for run in runs:
        seconds = _durations(run).cumsum()
        middle = int(np.searchsorted(seconds, seconds[-1] / 2))
        number = _in_system(run)
        first += number[middle]
        second += number[-1] - number[middle]
    return second >= STEADY * first
