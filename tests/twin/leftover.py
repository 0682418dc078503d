"""Preemptible jobs on the servers that other jobs leave free, by definition."""

from collections.abc import Sequence
from math import inf

Run = tuple[int, float, float]
"""A job and the start and end of a run."""


def serve(
    servers: int,
    others: Sequence[tuple[int, float, float]],
    jobs: Sequence[tuple[float, int, float]],
    keeps_work: bool = False,
) -> tuple[list[Run], list[Run]]:
    """Serve the preemptible `jobs` (arrival, need, size) beside `others` (need, start, end).

    At each instant: runs end; while the others, with the largest of those that need servers at this
    instant only, leave too few servers, the job that started last is stopped; jobs arrive; the
    oldest that fits starts, again and again, also when jobs of size 0 end. Returns the runs in
    which jobs complete, by job, and those that were stopped. If the work of these is kept, a job
    completes once its runs add up to its size.
    """
    left = [size for *_, size in jobs]
    coming, waiting = list(range(len(jobs))), list[int]()
    running: list[Run] = []  # in order of their starts, with the ends due
    completed, stopped = list[Run](), list[Run]()
    now = -inf
    while coming or waiting or running:
        times = [time for _, *both in others for time in both if time > now]
        times += [jobs[job][0] for job in coming] + [end for *_, end in running]
        before, now = now, min(times)
        completed += [run for run in running if run[2] <= now]
        running = [run for run in running if run[2] > now]
        through = sum(need for need, start, end in others if start < now < end)
        begun = sum(need for need, start, end in others if start == now < end)
        instant = [need for need, start, end in others if start == now == end]
        while now > before and _used(jobs, running) > servers - through - max([begun, *instant]):
            job, start, _ = running.pop()
            stopped.append((job, start, now))
            left[job] -= (now - start) * keeps_work
            waiting.append(job)
        waiting += [job for job in coming if jobs[job][0] <= now]
        coming = [job for job in coming if jobs[job][0] > now]
        free = servers - through - begun
        for job in sorted(waiting):
            if jobs[job][1] <= free - _used(jobs, running):
                waiting.remove(job)
                running.append((job, now, now + left[job]))
    return sorted(completed), stopped


def _used(jobs: Sequence[tuple[float, int, float]], running: Sequence[Run]) -> int:
    return sum(jobs[job][1] for job, *_ in running)
