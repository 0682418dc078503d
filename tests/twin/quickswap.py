"""The policies of the twin that take turns: MSFQ and Static Quickswap, each in its two variants.

Where a policy is asked again and again in one instant, its own state moves on as soon as its words
say so, in the order in which they say it. With a rule of backfilling others start during a drain.
"""

from typing import Literal

from twin.draining import Backfill
from twin.state import Job, State

Phase = Literal["empty", "lights", "draining", "heavies"]


class OneOrAll:
    """A system of one light class (need 1) and one heavy class (need k), in either order, and a
    threshold.

    Corner: with k = 1 the two classes could not be distinguished; that system is rejected.
    """

    def __init__(self, servers: int, needs: list[int], threshold: int, most: int) -> None:
        if servers == 1 or sorted(needs) != [1, servers]:
            raise ValueError(
                f"MSFQ takes one class of need 1 and one of need {servers}, got needs {needs}"
            )
        if not 0 <= threshold <= most:
            raise ValueError(
                f"the threshold of this MSFQ lies between 0 and {most}, got {threshold}"
            )
        self.light, self.heavy, self.threshold = needs.index(1), needs.index(servers), threshold

    def at_most_threshold(self, state: State) -> bool:
        """N_1 <= l."""
        return state.q(self.light) + state.u(self.light) <= self.threshold


def startable(state: State, cls: int) -> Job | None:
    """The oldest waiting job of the class, if it fits."""
    job = state.oldest(cls)
    return job if job is not None and state.fits(job) else None


def let_in(
    backfill: Backfill | None, state: State, target: int | None, leaving: int | None = None
) -> Job | None:
    """Who is let in during a drain for the oldest waiting job of class `target`, if any?"""
    job = None if target is None else state.oldest(target)
    return None if backfill is None or job is None else backfill.job(state, job, leaving)


class MSFQOnDemand:
    """Lights are admitted whenever a server is free, unless draining. Draining begins as soon as a
    heavy waits and N_1 <= l. While draining no job is admitted. When the last light has left,
    heavies are served one after another until none is left; then lights are open again.

    Corner: the lights that wait are admitted before it is seen whether a drain begins ("checked
    after every event"), otherwise MSFQ(k) would not be Adaptive Quickswap: of k + 1 lights, with a
    heavy waiting, one completes; Adaptive admits the last light and then drains, the other reading
    drains with a server idle. For l < k the two readings differ only where events share an instant.
    """

    def __init__(
        self, servers: int, needs: list[int], threshold: int, backfill: Backfill | None = None
    ) -> None:
        self.backfill = backfill
        self.system = OneOrAll(servers, needs, threshold, most=servers)
        self.phase: Literal["open", "draining", "heavies"] = "open"

    def next_job(self, state: State) -> Job | None:
        light, heavy = self.system.light, self.system.heavy
        if self.phase == "open":
            job = startable(state, light)
            if job is not None:
                return job
            if state.q(heavy) == 0 or not self.system.at_most_threshold(state):
                return None
            self.phase = "draining"
        if self.phase == "draining":
            if state.u(light) > 0:
                return let_in(self.backfill, state, heavy)
            self.phase = "heavies"
        if state.q(heavy) + state.u(heavy) > 0:
            return startable(state, heavy)
        self.phase = "open"
        return startable(state, light)


class MSFQAlways:
    """A light visit begins with n lights: admit min(n, k), the batch; then everyone while N_1 > l;
    then drain (no job is admitted, whether or not a heavy waits); then heavies until none is left;
    then the next light visit, and so on. With an empty system wait; the next arrival starts its own
    phase.

    Corner: after the batch, N_1 <= l at a decision begins the drain at once: a light that arrived
    in that very instant is not admitted. (Static Quickswap with the exclusive drain would admit it
    first: "no waiting class-i job can be started". The two are the same but for such ties.)
    Corner: of several arrivals at one instant in an empty system the oldest job (the lowest number)
    counts as the next.
    Corner: the system is "empty" if it is so at a decision, after the arrivals of the instant: a
    light and a heavy that arrive in the very instant in which the last job leaves find the cycle
    going on (heavies after lights, lights after heavies).
    """

    def __init__(
        self, servers: int, needs: list[int], threshold: int, backfill: Backfill | None = None
    ) -> None:
        self.backfill = backfill
        self.system = OneOrAll(servers, needs, threshold, most=servers - 1)
        self.servers = servers
        self.phase: Phase = "empty"
        self.batch = 0  # lights of the batch that are still to be admitted

    def next_job(self, state: State) -> Job | None:
        light, heavy = self.system.light, self.system.heavy
        if self.phase == "empty" and state.waiting:
            self._begin("lights" if state.waiting[0].cls == light else "heavies", state)
        while self.phase != "empty":
            if self.phase == "lights":
                if self.batch > 0 or not self.system.at_most_threshold(state):
                    self.batch = max(0, self.batch - 1)
                    return startable(state, light)
                self.phase = "draining"
            if self.phase == "draining":
                if state.u(light) > 0:
                    return let_in(self.backfill, state, heavy)
                self.phase = "heavies"
            if state.q(heavy) + state.u(heavy) > 0:
                return startable(state, heavy)
            self._begin("lights" if state.q(light) > 0 else "empty", state)
        return None

    def _begin(self, phase: Phase, state: State) -> None:
        self.phase = phase
        self.batch = min(state.q(self.system.light), self.servers)  # counts on a light visit only


class Cycle:
    """The visiting order of Static Quickswap, and the slots c_i and threshold l_i of each class."""

    def __init__(
        self, servers: int, needs: list[int], order: list[int], thresholds: list[int]
    ) -> None:
        self.order, self.thresholds = order, thresholds
        self.slots = [servers // need for need in needs]
        if sorted(order) != list(range(len(needs))):
            raise ValueError(
                f"the order {order} does not name each of the {len(needs)} classes once"
            )
        if len(thresholds) != len(needs) or any(
            not 0 <= threshold < slots
            for threshold, slots in zip(thresholds, self.slots, strict=True)
        ):
            raise ValueError(
                f"thresholds {thresholds} must lie below the slots {self.slots} of their classes"
            )

    def admits(self, state: State, cls: int) -> Job | None:
        """The oldest waiting job of the class, if it fits and fewer than c_i of the class are in
        service.
        """
        return startable(state, cls) if state.u(cls) < self.slots[cls] else None

    def due(self, state: State, cls: int) -> bool:
        """No waiting class-i job can be started and u_i <= l_i."""
        return self.admits(state, cls) is None and state.u(cls) <= self.thresholds[cls]

    def after(self, state: State, cls: int) -> int | None:
        """The next class of the cycle with a job waiting, class `cls` itself last; None if
        no job waits.
        """
        at = self.order.index(cls)
        following = self.order[at + 1 :] + self.order[: at + 1]
        return next((i for i in following if state.q(i) > 0), None)


class StaticOverlap:
    """On a visit to class i admit class-i jobs only. Swap when it is due, some other class has
    a job waiting, and either no other class is in service or no job of class i waits; go to the
    next class of the cycle with a job waiting. It is admitted as servers free up, while the old
    class finishes.

    Corner: the first visit is to the first class of the order; an empty system does not end a
    visit. So if several classes arrive at one instant in an empty system, the class of the present
    visit comes first, then the cycle.
    Corner: in one instant there may be several swaps (the new class has started all its jobs,
    others wait).
    Corner: with backfilling it is a drain while a job of the class visited waits for servers and
    another class is in service.
    """

    def __init__(
        self,
        servers: int,
        needs: list[int],
        order: list[int],
        thresholds: list[int],
        backfill: Backfill | None = None,
    ) -> None:
        self.backfill = backfill
        self.cycle = Cycle(servers, needs, order, thresholds)
        self.visited = order[0]

    def next_job(self, state: State) -> Job | None:
        if self._swaps(state):
            following = self.cycle.after(state, self.visited)
            assert following is not None  # some other class waits
            self.visited = following
        job = self.cycle.admits(state, self.visited)
        if job is None and any(state.u(i) > 0 for i in self.cycle.order if i != self.visited):
            return let_in(self.backfill, state, self.visited)
        return job

    def _swaps(self, state: State) -> bool:
        others = [i for i in self.cycle.order if i != self.visited]
        other_waits = any(state.q(i) > 0 for i in others)
        other_served = any(state.u(i) > 0 for i in others)
        due = self.cycle.due(state, self.visited)
        return due and other_waits and (not other_served or state.q(self.visited) == 0)


class StaticExclusive:
    """On a visit to class i admit class-i jobs only. When the swap is due class i drains, whether
    or not another class waits: no job starts until it has left completely. Then the visit goes to
    the next class of the cycle with a job waiting, class i itself last. With an empty system the
    next arrival starts its class's visit.

    Corner: of several arrivals at one instant in an empty system the oldest job (the lowest number)
    counts as the next.
    Corner: the system is "empty" if it is so at a decision; see MSFQAlways.
    Corner: with backfilling, others may be in service when a visit begins. While they are and
    a job of the class visited waits, its swap is not due.
    """

    def __init__(
        self,
        servers: int,
        needs: list[int],
        order: list[int],
        thresholds: list[int],
        backfill: Backfill | None = None,
    ) -> None:
        self.backfill = backfill
        self.cycle = Cycle(servers, needs, order, thresholds)
        self.visited: int | None = None
        self.draining = False

    def next_job(self, state: State) -> Job | None:
        if self.visited is None and state.waiting:
            self.visited = state.waiting[0].cls
        while self.visited is not None:
            if not self.draining:
                job = self.cycle.admits(state, self.visited)
                if job is not None or not self.cycle.due(state, self.visited):
                    return job
                others = [i for i in self.cycle.order if i != self.visited]
                if state.q(self.visited) > 0 and any(state.u(i) > 0 for i in others):
                    return None
                self.draining = True
            if state.u(self.visited) > 0:
                following = self.cycle.after(state, self.visited)
                return let_in(self.backfill, state, following, self.visited)
            self.draining = False
            self.visited = self.cycle.after(state, self.visited)
        return None
