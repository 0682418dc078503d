"""What every schedule must satisfy, whatever the policy: checked from the schedule alone."""

from collections import defaultdict
from itertools import pairwise

from twin.engine import Schedule


def check(schedule: Schedule) -> None:
    """Raise AssertionError, with the reason, if the schedule breaks a rule of the model."""
    everything_completed(schedule)
    no_start_before_arrival(schedule)
    sizes_kept(schedule)
    no_server_over_used(schedule)
    if schedule.in_order:
        fifo_in_class(schedule)


def everything_completed(schedule: Schedule) -> None:
    jobs = list(range(len(schedule.jobs)))
    assert sorted(schedule.order) == jobs, f"started {schedule.order}, not each job once"
    assert len(schedule.end) == len(jobs), f"{len(schedule.end)} ends for {len(jobs)} jobs"


def no_start_before_arrival(schedule: Schedule) -> None:
    for number, (arrival, _, _) in enumerate(schedule.jobs):
        start = schedule.start[number]
        assert start >= arrival, f"job {number} arrives at {arrival} and starts at {start}"
    starts = [schedule.start[number] for number in schedule.order]
    assert starts == sorted(starts), (
        f"the order of starting is not the order of the start times: {starts}"
    )


def sizes_kept(schedule: Schedule) -> None:
    """Each job is served for its size: in one piece from start to end, or in pieces where it may be
    preempted, all but the first of them less the overhead. Where it starts again from nothing, only
    the last piece counts.
    """
    overhead = schedule.costs.get("overhead", 0.0)
    pieces = defaultdict(list)
    for number, begin, end in schedule.segments:
        pieces[number].append((begin, end))
    for number, (_, _, size) in enumerate(schedule.jobs):
        mine = pieces[number]
        first, *others = [end - begin for begin, end in mine]
        worked = [first, *(max(0.0, length - overhead) for length in others)]
        served = worked[-1] if schedule.costs.get("restart") else sum(worked)
        tolerance = 1e-9 * max(1.0, schedule.end[number])
        assert abs(served - size) <= tolerance, (
            f"job {number} of size {size} is served for {served}"
        )
        assert (mine[0][0], mine[-1][1]) == (schedule.start[number], schedule.end[number]), (
            f"job {number}: {mine}"
        )
        assert schedule.preemptive or len(mine) == 1, f"job {number} is interrupted: {mine}"
        assert all(a[1] <= b[0] for a, b in pairwise(mine)), f"job {number} overlaps itself: {mine}"


def no_server_over_used(schedule: Schedule) -> None:
    """Never more than k servers are held; jobs of size zero fit together with the jobs in service
    at their instant.
    """
    needs = [schedule.needs[cls] for _, cls, _ in schedule.jobs]
    for job, at, until in schedule.segments:
        if until > at:
            used = sum(needs[n] for n, begin, end in schedule.segments if begin <= at < end)
        else:
            used = needs[job] + sum(
                needs[n] for n, begin, end in schedule.segments if begin < at < end
            )
        assert used <= schedule.servers, f"{used} of {schedule.servers} servers are held at {at}"


def fifo_in_class(schedule: Schedule) -> None:
    """In a class jobs start in the order of arrival, then of job number."""
    for cls in range(len(schedule.needs)):
        mine = [number for number in schedule.order if schedule.jobs[number][1] == cls]
        assert mine == sorted(mine), f"class {cls} starts in the order {mine}"
