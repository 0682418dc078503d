"""The preemptive policies of the twin: each looks at all unfinished jobs and names those that hold
servers now.

Where a definition leaves a corner open, the comment that begins with "Corner:" says how it is read
here.
"""

from itertools import product
from math import inf
from typing import Protocol, runtime_checkable

from twin.state import Job, State


@runtime_checkable
class Preemptive(Protocol):
    """A preemptive policy answers another question."""

    def served(self, state: State) -> list[Job]:
        """The jobs that hold servers now."""


def by_age(job: Job) -> int:
    return job.rank


def unfinished(state: State) -> list[Job]:
    """All jobs, in service or not, in order of age."""
    return sorted([*state.waiting, *state.running], key=by_age)


def remaining(state: State, job: Job) -> float:
    """The service that a job still needs; a job that resumes may pay its overhead first."""
    return min(job.due - state.now, job.remaining) if job in state.running else job.remaining


class ServerFilling:
    """M is the shortest prefix of all unfinished jobs whose needs add up to at least k (all jobs if
    fewer), in order of age, or of need times remaining size (`order="srpt"`) or Gittins rank
    (`order="gittins"`). M is served in order of descending need, older first, as long as each fits.

    Corner: a job of M that does not fit is passed over, and a smaller one behind it may be served.
    The reference values decide: on four classes at k = 15 and rate 4 they put the weighted mean
    response time at .9455 of the mean; it is .946 with passing over and .937 with stopping.

    Corner: with "srpt", of equal needs the job with less to do starts first, as its place in the
    prefix is the earlier one; where that is equal too, the older.
    """

    def __init__(
        self, order: str = "arrival", ranks: list[dict[str, list[float]]] | None = None
    ) -> None:
        if order not in {"arrival", "srpt", "gittins"}:
            raise ValueError(f"no order {order!r}")
        self.order, self.ranks = order, ranks or []

    def rank(self, state: State, job: Job) -> float:
        """The Gittins rank of its age: between two ages of the table it falls in a straight line,
        or remains as it was.
        """
        age, table = job.size - remaining(state, job), self.ranks[job.cls]
        points = list(zip(table["ages"], table["ranks"], strict=True))
        at = max(n for n, (start, _) in enumerate(points) if start <= age)
        (start, rank), *later = points[at:]
        if later and later[0][1] < rank:
            end, lower = later[0]
            return rank + (lower - rank) * (age - start) / (end - start)
        return rank

    def wake_at(self, state: State) -> float:
        """When the rank of a job in service rises first, if a job waits or is not selected."""
        selected = self.served(state)
        if self.order != "gittins" or all(job in selected for job in unfinished(state)):
            return inf
        times = [inf]
        for job in [job for job in state.running if job in selected]:
            ages, values = self.ranks[job.cls]["ages"], self.ranks[job.cls]["ranks"]
            rises = [age for age, a, b in zip(ages[1:], values, values[1:], strict=False) if b > a]
            left = remaining(state, job)
            begun = job.due - job.remaining  # after the overhead of a job that resumes
            age = job.size - left
            times += [max(state.now, begun) + rise - age for rise in rises if rise > age]
        return min(times)

    def served(self, state: State) -> list[Job]:
        jobs = unfinished(state)
        if self.order == "srpt":
            jobs.sort(key=lambda job: job.need * remaining(state, job))  # stable: older first
        if self.order == "gittins":
            jobs.sort(key=lambda job: job.need * self.rank(state, job))
        prefix: list[Job] = []
        while jobs and sum(job.need for job in prefix) < state.servers:
            prefix.append(jobs.pop(0))
        served: list[Job] = []
        for job in sorted(prefix, key=lambda job: -job.need):  # stable: in the order of the prefix
            if sum(other.need for other in served) + job.need <= state.servers:
                served.append(job)
        return served


class DivisorFilling:
    """Needs divide k. M is the k oldest unfinished jobs (all if fewer). A subset of M is served
    whose needs add up to k.

    Corner: with fewer than k jobs there may be no such subset; then one is served that adds up to
    as much as is possible within k.

    Corner: of several such subsets, the one with the most jobs of the largest need, then of the
    next, and so on; of each need the oldest jobs.
    """

    def __init__(self, servers: int, needs: list[int]) -> None:
        if any(servers % need for need in needs):
            raise ValueError(f"needs {needs} do not all divide {servers}")

    def served(self, state: State) -> list[Job]:
        members = unfinished(state)[: state.servers]
        needs = sorted({job.need for job in members}, reverse=True)
        lanes = [[job for job in members if job.need == need] for need in needs]
        best: tuple[int, tuple[int, ...]] = (0, ())
        for counts in product(*[range(len(lane) + 1) for lane in lanes]):
            total = sum(n * need for n, need in zip(counts, needs, strict=True))
            if total <= state.servers:
                best = max(best, (total, counts))
        served = [job for lane, n in zip(lanes, best[1], strict=True) for job in lane[:n]]
        assert len(members) < state.servers or sum(job.need for job in served) == state.servers
        return served


class MaxWeight:
    """Of all ways to serve v_i of the N_i jobs of each class that fit in k servers, one that
    maximises the sum of N_i v_i.

    Corner: of several, the one with the most jobs of the class with the largest need, then of the
    next, and so on; of classes of equal need the one comes first that is first in the system.

    Corner: of each class the oldest jobs are served.
    """

    def served(self, state: State) -> list[Job]:
        classes = sorted(range(len(state.needs)), key=lambda i: -state.needs[i])  # stable
        jobs = unfinished(state)
        lanes = [[job for job in jobs if job.cls == cls] for cls in classes]
        slots = [
            min(len(lane), state.servers // state.needs[cls])
            for lane, cls in zip(lanes, classes, strict=True)
        ]
        best: tuple[int, tuple[int, ...]] = (0, tuple(0 for _ in classes))
        for counts in product(*[range(most + 1) for most in slots]):
            used = sum(v * state.needs[cls] for v, cls in zip(counts, classes, strict=True))
            if used <= state.servers:
                weight = sum(v * len(lane) for v, lane in zip(counts, lanes, strict=True))
                best = max(best, (weight, counts))
        return [job for lane, v in zip(lanes, best[1], strict=True) for job in lane[:v]]
