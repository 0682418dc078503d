"""The verdict on stability, from theorems and from the evidence of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from quickswap._words import counted, load_words
from quickswap.engine.columns import Columns
from quickswap.model.system import System
from quickswap.model.variability import dispersion, scatter
from quickswap.policies import Policy
from quickswap.statistics.control import estimated
from quickswap.statistics.estimates import (
    CONFIDENCE,
    Batches,
    Estimate,
    Floats,
    Run,
    jackknife,
    pieces,
)
from quickswap.statistics.pairing import Totals
from quickswap.statistics.quantities import Areas

if TYPE_CHECKING:
    from quickswap.theory.work import WorkBalance

__all__ = ["Evidence", "Known", "Status", "Verdict", "judge", "known_stability"]

NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Standard errors in a half-width, where the variance is known."""

CERTAIN = 2.5
"""Half-widths by which growth must exceed 0: five standard errors, as runs are often checked."""
STEADY = 0.7
"""The backlog of an unstable system keeps growing at the same rate. The growth of a stable system
that still fills up slows down: at worst the backlog grows as the square root of time, so its growth
in the second half is 0.41 of that in the first."""
CROWD = 30.0
"""Mean number in system at the end below which growth is ignored."""
PILE, PILE_SHARE = 1000.0, 0.05
"""Least number of jobs at the end of a replication, and their share of the arrivals, of a pile."""
FILLED = 1_000_000
"""Arrivals below which a pile is no evidence: near its capacity a stable system still fills up."""
ENOUGH = 30
"""Completions of a class below which its mean is unreliable."""
SHARE = 0.05
"""Largest share of the load that such classes may have."""
SIZES = 10.0
"""Mean sizes of a class that a replication must last before its growth and its means are used: in a
shorter run only short jobs complete."""
CYCLES = 10.0
"""Cycles of the arrivals, such as days, that a replication must last: within one the backlog may
grow and shrink."""
WIDE = 0.1
"""Half-width of the utilisation, relative to the load, beyond which a run is too short."""
NEAR_OFFERED, NEAR_USED = 0.12, 0.2
"""Half-widths of the load that has arrived and of the utilisation, relative to the distance from
the limit of stability, beyond which a run is short compared with the oscillations of the backlog.
The first follows from the moments of the model and is not affected by chance; the second reflects
the policy, whose cycles may be longer. `verification/coverage.py` measures the effect of both."""
NEAR_WAITING = 0.25
"""The same as NEAR_OFFERED for a distance that is estimated from the jobs that wait. As a wasteful
policy has many far from its limit, it counts only if the backlog wanders."""
SECTIONS = 64
"""Sections, over all replications, whose backlogs are compared."""
WANDERING = 0.6
"""Mean squared difference of the backlogs of neighbouring sections, over twice their variance (it
is 1 if they are independent), below which the backlog wanders: the run has few oscillations."""
FAR_OFFERED, FAR_USED = 0.5, 0.85
"""The same half-widths, over the square root of its probability, beyond which a percentile has no
interval: values above it occur in excursions of the backlog, and a run contains few of them."""
SPREAD = 0.3
"""Half-width of the second moment of the sizes that arrive, relative to it, beyond which a run
contains too few of the rare sizes that determine waits: the mean wait is proportional to it."""
TAIL = 0.06
"""The same for the part of it by which sizes are more variable than exponential: half-widths are
then estimated too low as well, and intervals of lognormal sizes contain the mean in nine of ten
runs only from about here on."""
CUBES = 0.3
"""Relative half-width of the third moment of the sizes that arrive, beyond which a run has not seen
the rare sizes that the standard deviation of the waiting time, and of the work, comes from."""
IDLE = ("empty", "unfit", "held")
"""Reasons for which servers are idle: no job waits, none fits, one that fits is held back."""
MARGIN = 1.2
"""Safety factor on the estimated number of jobs that suffice, as the estimate is rough."""
FEASIBLE = 1e12
"""Jobs of the longest run that is recommended."""
PIECES = 16
"""Pieces of a replication whose growth is taken as independent."""


class Status(StrEnum):
    """Whether a system is stable under a policy, as far as a run or a theorem shows."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    TOO_SHORT = "too short"

    @property
    def explanation(self) -> str:
        """The meaning for the estimates, and the remedy."""
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    Status.STABLE: "The number in system does not grow without bound; the estimates can be used.",
    Status.UNSTABLE: "The number in system grows without bound and no mean exists: lower the rate.",
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
    """The known results about stability, without simulation.

    Attributes:
        capacity: arrival rate at and above which no policy is stable.
        verdict: "stable", "unstable" or "unknown", by the theorem for this policy.
        reason: the reason that the theorem gives.
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
    cycle: float
    """The longest cycle of the arrivals in seconds; 0 if all are stationary."""

    limit: float
    dispersion: float
    """Of the load that arrives; see `quickswap.model.variability`."""
    scatter: float
    """Of the second moment of what arrives; see `quickswap.model.variability`."""

    tails: float
    """The part of `scatter` of sizes that are more variable than exponential."""

    cubes: float
    """Of the third moment of what arrives; see `quickswap.model.variability`."""

    balance: WorkBalance | None
    """Constants of the identity for the mean work, where it holds."""

    blind: bool
    """Whether the work determines the weighted mean response time; see `quickswap.theory.work`."""

    costly: bool
    """Whether interruptions cost time, so more servers than the load may be in use."""

    @property
    def room(self) -> float:
        """Load that could be added before the system is known to be unstable."""
        return self.load * (self.limit / self.rate - 1)


def known_stability(system: System, policy: object) -> Known:
    """Return what theorems say about a policy on a system."""
    # a custom policy may be any object, and many runs simulate the same system and policy
    return (_cached if isinstance(policy, Policy) else _known)(system, policy)


def _known(system: System, policy: object) -> Known:
    from quickswap.theory import stability
    from quickswap.theory.work import blind, work_balance

    verdict, reason, capacity = "unknown", "nothing is proven here", system.capacity
    costly = isinstance(policy, Policy) and policy.costly
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
        cycle=max(each.arrivals.cycle for each in system.classes),
        limit=limit,
        dispersion=dispersion(system),
        scatter=scatter(system, 2),
        tails=scatter(system, 2, less=6.0),
        cubes=scatter(system, 3),
        balance=None if costly else work_balance(system),
        blind=blind(system, policy),
        costly=costly,
    )


_cached = lru_cache(maxsize=64)(_known)


def _rate(rate: float) -> str:
    return f"{counted(rate, 'job', '.6g')} per second"


@dataclass(frozen=True)
class Evidence:
    """The evidence of a run about stability, and what is known without simulation."""

    batches: Batches
    known: Known

    def half_width(self, variance: float) -> float:
        """Return the half-width of a sum over the time of the run, from its variance a second."""
        return NORMAL * math.sqrt(variance / float(self.batches.sums.of_system("duration")[0]))

    @cached_property
    def areas(self) -> Areas:
        """Servers summed over time, in the rows of `Batches.spread`."""
        sums, balance = self.batches.spread, self.known.balance
        in_service = sums.of_classes("area_in_system") - sums.of_classes("area_waiting")
        idle = np.stack([sums.of_system(f"work_idle_{each}") for each in IDLE], axis=1)
        duration = sums.of_system("duration")
        known = balance is not None and self.known.blind
        unit = balance.waste_unit if balance is not None and known else math.nan
        return Areas(
            busy=(in_service * np.array(self.known.needs)).sum(axis=1),
            wasted=sums.of_system("wasted"),
            capacity=self.known.servers * duration,
            waste=idle / (unit * duration)[:, None],
        )

    @cached_property
    def totals(self) -> Totals:
        """What differences are computed from, with the control where it is known.

        The control is the expected change of the squared work (`quickswap.theory.work`). It is left
        out where so few of the large sizes have arrived that it explains nothing, and of batches
        without parts, as its coefficient cannot be estimated.
        """
        sums, balance = Columns(self.batches.rows, self.batches.classes), self.known.balance
        control = np.empty((len(sums.rows), 0))
        parted = len(sums.rows) > len(self.batches.split.parts)
        if balance is not None and parted and self.half_width(self.known.cubes) <= CUBES:
            idle = sum(sums.of_system(f"work_idle_{each}") for each in IDLE)
            duration, work = sums.of_system("duration"), sums.of_system("work")
            change = balance.squares * duration + 2 * (idle - balance.spare * work)
            control = np.stack([change, duration], axis=1)
        table = sums.of_classes("completions", "response_time")
        return Totals(table, control, self.batches.split)

    @cached_property
    def mean(self) -> Estimate:
        """Mean response time, as a stable system has it."""
        jobs, total = self.totals.responses().sum(axis=1).T
        with np.errstate(invalid="ignore", divide="ignore"):
            values = (total / jobs)[:, None]
        controls = [self.totals.controls()]
        return estimated(values, controls, self.totals.split, reciprocal=True)[0]

    @cached_property
    def used(self) -> Estimate:
        """Share of the servers in use."""
        with np.errstate(invalid="ignore"):  # nothing is left without the only batch
            shares = self.areas.busy / self.areas.capacity
        sizes = self.batches.sizes
        return jackknife(shares[: 1 + sum(sizes), None], sizes)[0]

    @cached_property
    def offered(self) -> float:
        """Half-width of the load that arrives in a time as long as the run measured."""
        return self.half_width(self.known.dispersion)

    @cached_property
    def missed(self) -> float:
        """Relative half-width of the second moment of the sizes that arrive in the run."""
        return self.half_width(self.known.scatter)

    @cached_property
    def tails(self) -> float:
        """The part of `missed` of sizes that are more variable than exponential."""
        return self.half_width(self.known.tails)

    @cached_property
    def jobs(self) -> Floats:
        """Completions and arrivals of each class: (classes, 2)."""
        found: Floats = self.batches.sums.of_classes("completions", "arrivals")[0]
        return found

    @cached_property
    def shortest(self) -> float:
        """Length of the shortest replication in seconds."""
        return min(float(run.column("duration").sum()) for run in self.batches.runs)

    @cached_property
    def occupied(self) -> float:
        """The load, or the larger share of the servers in use if interruptions cost time."""
        known = self.known
        if not known.costly:
            return known.load
        # less than the limit, or it would be unstable
        most = (1 - 1e-6) * (known.load + known.room)
        return min(max(known.load, self.used.value), most)

    @property
    def room(self) -> float:
        """Share of the servers that could be used in addition."""
        return self.known.room - (self.occupied - self.known.load)

    def backlog(self, sums: Columns) -> Floats:
        """Return the mean work of the waiting jobs in seconds of all servers, in the rows of sums.

        Each job is taken as one of mean size.
        """
        work = np.array(self.known.needs) * np.array(self.known.mean_sizes) / self.known.servers
        with np.errstate(invalid="ignore", divide="ignore"):  # all after the warm-up at one time
            waiting = sums.of_classes("area_waiting") @ work / sums.of_system("duration")
        return np.asarray(waiting)

    @cached_property
    def limit_may_be_near(self) -> bool:
        """Whether the system may be close to an unknown limit of stability, for all the run shows.

        Close to it the work is a reflected Brownian motion, whose mean is the dispersion over twice
        the distance (Asmussen, "Applied Probability and Queues", 2nd ed., ch. X.7).
        """
        if self.known.verdict != "unknown" or not math.isfinite(self.known.dispersion):
            return False
        backlog = float(self.backlog(self.batches.sums)[0])
        room = self.known.dispersion / (2 * backlog) if backlog else math.inf
        return self.offered > NEAR_WAITING * room and self.wanders

    @cached_property
    def wanders(self) -> bool:
        """Whether the backlog is alike in neighbouring sections of the run."""
        batches = self.batches
        edges: list[list[int]] = [[] for _ in batches.edges]
        for run in batches.runs:
            number = round(SECTIONS / len(batches.runs))
            edges[run.number] = pieces(run.cut, len(run.blocks), max(number, 1))
        lengths = [len(each) - 1 for each in edges if each]
        backlog = self.backlog(Columns(batches.core.sums(edges), batches.classes))
        steps = [np.diff(each) for each in np.split(backlog, np.cumsum(lengths)[:-1])]
        moved = np.square(np.concatenate(steps))
        return bool(len(moved)) and float(moved.mean()) < 2 * WANDERING * float(backlog.var())

    @property
    def lasts(self) -> Floats:
        """The same in mean sizes of each class."""
        return self.shortest / np.array(self.known.mean_sizes)

    @property
    def cycles(self) -> float:
        """The same in cycles of the arrivals; infinite if they are stationary."""
        return self.shortest / self.known.cycle if self.known.cycle else math.inf

    @cached_property
    def growth(self) -> Estimate:
        """Growth of the number in system after the warm-up, jobs per second."""
        steps, sizes = [], []
        for run in self.batches.runs:
            # growth is counted from the end of a block
            edges = pieces(max(run.cut, 1) - 1, len(run.blocks) - 1, PIECES)
            points = np.stack([run.column("in_system_at_end"), run.seconds], axis=1)[edges]
            steps.append(points[1:] - points[:-1])
            sizes.append(len(edges) - 1)
        table = np.concatenate(steps)
        if not len(table):
            return Estimate(math.nan, math.nan)
        total = table.sum(axis=0)
        sums = np.concatenate([total[None], total - table])
        with np.errstate(invalid="ignore", divide="ignore"):
            return jackknife(sums[:, :1] / sums[:, 1:], sizes)[0]

    @cached_property
    def at_end(self) -> float:
        """Number in system at the end, averaged over the replications."""
        return float(np.mean([run.column("in_system_at_end")[-1] for run in self.batches.runs]))

    @cached_property
    def grows(self) -> bool:
        """Whether the number in system grows, and not as the system fills up for the first time."""
        if self.cycles < CYCLES:
            return False
        grows = self.at_end > CROWD and self.growth.value > CERTAIN * self.growth.half_width
        return (grows or _piles_up(self.batches.runs)) and not _fills_up(self)

    @cached_property
    def unstable(self) -> bool:
        """Whether the system is unstable, by a theorem or by this run."""
        if self.known.verdict != "unknown":
            return self.known.verdict == "unstable"
        return self.grows and _steady(self.batches.runs)

    @cached_property
    def load_shares(self) -> Floats:
        """Share of each class in the load."""
        return np.array(self.known.load_shares)

    @cached_property
    def rarest_tail(self) -> float:
        """Smallest tail probability whose percentile has an interval."""
        worst = max(self.offered / FAR_OFFERED, self.used.half_width / FAR_USED)
        room = self.room
        return (worst / room) ** 2 if room > 0 and math.isfinite(worst) else 1.0


def judge(evidence: Evidence, crowded: bool) -> Verdict:
    """Return the verdict on a run.

    Args:
        evidence: of the run.
        crowded: whether it ended as more jobs were in the system than allowed.
    """
    known, growth, grows = evidence.known, evidence.growth, evidence.grows
    if known.verdict == "unstable":
        return Verdict(Status.UNSTABLE, True, known.reason, growth)
    proven = known.verdict == "stable"
    if not grows and not crowded:
        if short := _lacks_work(evidence):
            reason = f"{short}; {_cure(evidence)}."
            return Verdict(Status.TOO_SHORT, proven, reason, growth)
        reason = known.reason if proven else "the number in system does not grow in this run."
        return Verdict(Status.STABLE, proven, reason, growth)
    if proven:
        reason = f"stable by theorem, but the number in system still grows; {_cure(evidence)}."
        return Verdict(Status.TOO_SHORT, True, reason, growth)
    if not grows:
        reason = "more jobs were in the system than allowed: raise the limit, or lower the rate."
        return Verdict(Status.TOO_SHORT, False, reason, growth)
    if evidence.unstable:
        reason = (
            "the number in system grows steadily through the run: "
            f"{100 * growth.value / known.rate:.2g} % of the arrivals did not leave, and "
            f"{evidence.at_end:,.0f} jobs were there at the end."
        )
        return Verdict(Status.UNSTABLE, False, reason, growth)
    reason = f"the number in system still grows, but ever more slowly; {_cure(evidence)}."
    return Verdict(Status.TOO_SHORT, False, reason, growth)


def _lacks_work(evidence: Evidence) -> str | None:
    """Return why a run is too short to trust its values.

    Few jobs of classes that matter have completed, or the share of the servers in use is not the
    load, as it must be in a stable system in the long run.
    """
    known, jobs = evidence.known, evidence.jobs
    waiting = np.flatnonzero((jobs[:, 0] == 0) & (jobs[:, 1] >= ENOUGH))
    if waiting.size:
        first = waiting[0]
        return (
            f"of need {known.needs[first]} none of the {counted(jobs[first, 1], 'job', ',.0f')} "
            "that arrived has completed, and they may never start"
        )
    if evidence.cycles < CYCLES:
        return (
            f"a replication lasts {evidence.cycles:.2g} cycles of the arrivals, fewer than the "
            f"{CYCLES:g} that averages over cycles require"
        )
    if (carried := evidence.load_shares[jobs[:, 0] < ENOUGH].sum()) > SHARE:
        return (
            f"classes that carry {100 * carried:.3g} % of the load have completed fewer than "
            f"{ENOUGH} jobs each"
        )
    if (carried := evidence.load_shares[evidence.lasts < SIZES].sum()) > SHARE:
        return (
            f"a replication lasts less than {SIZES:g} mean sizes of classes that carry "
            f"{100 * carried:.3g} % of the load, so only their short jobs complete"
        )
    used, width = evidence.used.value, evidence.used.half_width
    if width > WIDE * known.load:
        return (
            f"the share of the servers in use, {used:.3g} ± {width:.2g}, is too imprecise to trust "
            "the other estimates"
        )
    missing = known.load - used if known.costly else abs(used - known.load)
    if missing > max(2 * width, 0.01 * known.load):
        return (
            f"{used:.3g} ± {width:.1g} of the servers were in use and {known.load:.3g} must be in "
            "the long run, so its rare, large jobs have not been served"
        )
    # infinite variance is reported elsewhere
    offered = evidence.offered if math.isfinite(evidence.offered) else 0.0
    if max(offered / NEAR_OFFERED, width / NEAR_USED) > evidence.room:
        what = "load with interruptions" if known.costly else "load"
        return (
            f"the {what} is {load_words(evidence.occupied)} and its limit "
            f"{load_words(known.load + known.room)}: the run is short compared with the "
            "oscillations of the backlog"
        )
    if evidence.limit_may_be_near:
        return (
            "so many jobs wait that the load may be close to the limit of stability, which is "
            "unknown: the run is short compared with the oscillations of the backlog"
        )
    if SPREAD < evidence.missed < math.inf or TAIL < evidence.tails < math.inf:
        return (
            "the sizes vary so much that the run contains too few of the largest, which determine "
            "the waiting times"
        )
    return None


def _cure(evidence: Evidence) -> str:
    """Return how many jobs would be enough, estimated from the run.

    Half-widths shrink like the square root of the jobs, and the rest grows in proportion.
    """
    known, width = evidence.known, evidence.used.half_width
    matter = evidence.load_shares > SHARE / len(known.needs)
    jobs = evidence.jobs[matter, 0]
    if evidence.room <= 0:
        return "no run is long enough to judge it"
    if (jobs == 0).any():
        return "simulate more jobs"
    factors = [
        4.0 if evidence.limit_may_be_near else 2.0,
        ENOUGH / jobs.min(),
        SIZES / evidence.lasts[matter].min(),
        CYCLES / evidence.cycles,
        (width / (WIDE * known.load)) ** 2,
        (width / (NEAR_USED * evidence.room)) ** 2,
        (evidence.offered / (NEAR_OFFERED * evidence.room)) ** 2,
        (evidence.missed / SPREAD) ** 2,
        (evidence.tails / TAIL) ** 2,
    ]
    factor = MARGIN * max(filter(math.isfinite, factors))
    done = sum(float(run.column("completions").sum()) for run in evidence.batches.runs)
    enough = factor * done
    if enough > FEASIBLE:
        return "no feasible run is long enough to judge it"
    return f"simulate more jobs, about {float(f'{enough:.1e}'):,.0f}"


def _fills_up(evidence: Evidence) -> bool:
    """Whether the run is so short that what grows may be the system filling up for the first time.

    Completions do not show it: a class that starves has none, however long the run is.
    """
    unseen = (evidence.jobs[:, 1] < ENOUGH) | (evidence.lasts < SIZES)
    return bool(evidence.load_shares[unseen].sum() > SHARE)


def _piles_up(runs: list[Run]) -> bool:
    """Whether the backlog grows in ever longer oscillations, so its growth is not significant.

    The mean number in system in the second half of a run is three times that in the first if it
    grows at a steady pace, and 1.83 times if it grows like the square root of time.
    """
    arrivals = sum(float(run.column("arrivals").sum()) for run in runs)
    if min(len(run.blocks) for run in runs) < PIECES or arrivals < FILLED:
        return False
    numbers = [run.column("in_system_at_end") for run in runs]
    first, second = np.array([[half.mean() for half in np.array_split(n, 2)] for n in numbers]).T
    swells = bool((second > 1.5 * first).all()) and second.sum() > 2.2 * first.sum()
    left = sum(float(number[-1]) for number in numbers)
    return swells and left > PILE_SHARE * arrivals and left > PILE * len(runs)


def _steady(runs: list[Run]) -> bool:
    """Whether the second half of the time adds nearly as much as the first, on average."""
    first = second = 0.0
    for run in runs:
        number, seconds = run.column("in_system_at_end"), run.seconds
        middle = int(np.searchsorted(seconds, seconds[-1] / 2))
        first += number[middle]
        second += number[-1] - number[middle]
    return second >= STEADY * first
