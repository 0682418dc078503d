"""Static and Adaptive Quickswap on groups of classes, from their definition alone: a group is
served in order of arrival, so only its oldest waiting job may start, if its own need fits;
slots of a group are slots of its largest need.
"""

from typing import Literal

from twin.state import Job, State


class Groups:
    """Which group each class is in, given the first class of each; classes ascend by need."""

    def __init__(self, needs: list[int], first: list[int]) -> None:
        self.number = len(first)
        self.group = [sum(start <= cls for start in first) - 1 for cls in range(len(needs))]
        self.largest = [
            max(need for need, mine in zip(needs, self.group, strict=True) if mine == group)
            for group in range(self.number)
        ]

    def head(self, state: State, group: int) -> Job | None:
        """The waiting job of the group that arrived first."""
        return next((job for job in state.waiting if self.group[job.cls] == group), None)

    def startable(self, state: State, group: int) -> Job | None:
        """The head, if it fits."""
        job = self.head(state, group)
        return job if job is not None and state.fits(job) else None

    def held(self, state: State, group: int) -> int:
        """Servers that the jobs of the group in service hold."""
        return sum(job.need for job in state.running if self.group[job.cls] == group)


class AdaptiveOnGroups:
    """Working: the head of the largest group whose head fits; if there is none, drain if some
    group waits and no group in service has a waiting job. Draining: no job starts but the head of
    the largest group that now has a job waiting; when it starts, back to working.
    """

    def __init__(self, needs: list[int], groups: list[int]) -> None:
        self.groups, self.draining = Groups(needs, groups), False

    def next_job(self, state: State) -> Job | None:
        groups = self.groups
        descending = range(groups.number - 1, -1, -1)
        waiting = [g for g in descending if groups.head(state, g) is not None]
        if self.draining and waiting:
            job = groups.startable(state, waiting[0])
            self.draining = job is None
            return job
        for group in waiting:
            if (job := groups.startable(state, group)) is not None:
                return job
        self.draining = bool(waiting) and all(groups.held(state, g) == 0 for g in waiting)
        return None


class StaticOnGroups:
    """As Static Quickswap, with groups for classes; a swap is due when the head of the group
    visited, if any, does not fit, and the group holds at most l slots of its largest need.
    """

    def __init__(
        self,
        needs: list[int],
        groups: list[int],
        order: list[int],
        thresholds: list[int],
        drain: Literal["overlap", "exclusive"],
    ) -> None:
        self.groups, self.order = Groups(needs, groups), order
        self.most = [
            slots * need for slots, need in zip(thresholds, self.groups.largest, strict=True)
        ]
        self.exclusive = drain == "exclusive"
        self.visited: int | None = None if self.exclusive else order[0]
        self.draining = False

    def next_job(self, state: State) -> Job | None:
        return self._exclusive(state) if self.exclusive else self._overlap(state)

    def _due(self, state: State, group: int) -> bool:
        idle = self.groups.startable(state, group) is None
        return idle and self.groups.held(state, group) <= self.most[group]

    def _after(self, state: State, group: int) -> int | None:
        at = self.order.index(group)
        cycle = self.order[at + 1 :] + self.order[: at + 1]
        return next((g for g in cycle if self.groups.head(state, g) is not None), None)

    def _overlap(self, state: State) -> Job | None:
        while True:
            assert self.visited is not None
            others = [g for g in self.order if g != self.visited]
            other_waits = any(self.groups.head(state, g) is not None for g in others)
            alone = all(self.groups.held(state, g) == 0 for g in others)
            exhausted = self.groups.head(state, self.visited) is None
            if not (self._due(state, self.visited) and other_waits and (alone or exhausted)):
                return self.groups.startable(state, self.visited)
            self.visited = self._after(state, self.visited)

    def _exclusive(self, state: State) -> Job | None:
        if self.visited is None and state.waiting:
            self.visited = self.groups.group[state.waiting[0].cls]
        while self.visited is not None:
            if not self.draining:
                job = self.groups.startable(state, self.visited)
                if job is not None or not self._due(state, self.visited):
                    return job
                self.draining = True
            if self.groups.held(state, self.visited) > 0:
                return None
            self.draining = False
            self.visited = self._after(state, self.visited)
        return None
