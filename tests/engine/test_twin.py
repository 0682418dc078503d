"""The twin itself: schedules worked out by hand, and the equivalences between policies.

A timeline in a comment reads `time: what completes | what arrives | what starts`; jobs are numbered
from 0.
"""

from typing import Any

import pytest

from twin import Schedule, check, run

Jobs = list[tuple[float, int, float]]
Policy = dict[str, Any]

FCFS: Policy = {"name": "fcfs"}
FIRST_FIT: Policy = {"name": "first-fit"}
MSF: Policy = {"name": "msf"}
LSF: Policy = {"name": "lsf"}
ADAPTIVE: Policy = {"name": "adaptive-quickswap"}
SERVER_FILLING: Policy = {"name": "server-filling", "order": "arrival"}
SRPT: Policy = {"name": "server-filling", "order": "srpt"}
DIVISOR_FILLING: Policy = {"name": "divisor-filling"}
MAX_WEIGHT: Policy = {"name": "max-weight"}


def smash(window: int | None) -> Policy:
    return {"name": "smash", "window": window}


def msfq(threshold: int, drain: str) -> Policy:
    return {"name": "msfq", "threshold": threshold, "drain": drain}


def static(drain: str, order: list[int], thresholds: list[int]) -> Policy:
    name = "static-quickswap"
    return {"name": name, "drain": drain, "order": order, "thresholds": thresholds}


def served(servers: int, needs: list[int], policy: Policy, jobs: Jobs) -> Schedule:
    schedule = run(servers, needs, policy, jobs, log=True)
    check(schedule)
    return schedule


# Three servers; classes need 1, 2, 3. Job 0 holds one server until 4, job 1 one server until 2.
# At 1 arrive jobs 2, 3, 4, 5 of needs 3, 2, 1, 2, all of size 1.
CROWD: Jobs = [(0, 0, 4), (0, 0, 2), (1, 2, 1), (1, 1, 1), (1, 0, 1), (1, 1, 1)]


@pytest.mark.parametrize(
    ("policy", "start"),
    [
        # 1: | 2345 | - (the head, job 2, needs all)   2: 1 | |   4: 0 | | 2   5: 2 | | 3, 4
        # 6: 34 | | 5
        (FCFS, [0, 0, 4, 5, 5, 6]),
        # 1: | 2345 | 4 (the one free server)   2: 1, 4 | | 3 (oldest that fits in 2)   3: 3 | | 5
        # 4: 0, 5 | | 2
        (FIRST_FIT, [0, 0, 4, 2, 1, 3]),
        # 1: | 2345 | 4   2: 1, 4 | | 3   3: 3 | | 5   4: 0, 5 | | 2
        (MSF, [0, 0, 4, 2, 1, 3]),
        # 1: | 2345 | 4   2: 1, 4 | | 3   3: 3 | | 5   4: 0, 5 | | 2
        (LSF, [0, 0, 4, 2, 1, 3]),
        # 1: | 2345 | - (2 and 3 do not fit)   2: 1 | | 3 (window 2, 3)   3: 3 | | 4 (window 2, 4;
        # then 2, 5: neither fits)   4: 0, 4 | | 2   5: 2 | | 5
        (smash(2), [0, 0, 4, 2, 3, 5]),
    ],
)
def test_crowd(policy: Policy, start: list[float]) -> None:
    assert served(3, [1, 2, 3], policy, CROWD).start == start


# Three servers again. All arrive at 0, all of size 1; jobs 0 to 4 have needs 3, 1, 2, 3, 1.
RELEASE: Jobs = [(0, 2, 1), (0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 0, 1)]


@pytest.mark.parametrize(
    ("policy", "order", "start"),
    [
        # 0: | 01234 | 0    1: 0 | | 1, 2    2: 1, 2 | | 3    3: 3 | | 4
        (FCFS, [0, 1, 2, 3, 4], [0, 1, 1, 2, 3]),
        # 0: | 01234 | 0    1: 0 | | 1, 2    2: 1, 2 | | 3    3: 3 | | 4
        (FIRST_FIT, [0, 1, 2, 3, 4], [0, 1, 1, 2, 3]),
        # 0: | 01234 | 0    1: 0 | | 3    2: 3 | | 2, 1    3: 1, 2 | | 4
        (MSF, [0, 3, 2, 1, 4], [0, 2, 2, 1, 3]),
        # 0: | 01234 | 1, 4 (then 2 is the smallest; it does not fit in 1)    1: 1, 4 | | 2
        # (then job 0, as old as job 3, does not fit)    2: 2 | | 0    3: 0 | | 3
        (LSF, [1, 4, 2, 0, 3], [2, 0, 1, 3, 0]),
        # 0: | 01234 | 0    1: 0 | | 3 (window 1, 2, 3)    2: 3 | | 2, 1    3: 1, 2 | | 4
        (smash(3), [0, 3, 2, 1, 4], [0, 2, 2, 1, 3]),
    ],
)
def test_release(policy: Policy, order: list[int], start: list[float]) -> None:
    schedule = served(3, [1, 2, 3], policy, RELEASE)
    assert (schedule.order, schedule.start) == (order, start)


def test_one_instant_takes_completions_then_arrivals_then_decisions() -> None:
    # 0: | 0 | 0    2: 0 | 1 light, 2 heavy | MSF starts the heavy, as both are there    3: 2 | | 1
    schedule = served(2, [1, 2], MSF, [(0, 0, 2), (2, 0, 1), (2, 1, 1)])
    assert schedule.start == [0, 3, 2]
    assert [(s.time, s.waiting, s.running) for s in schedule.states] == [
        (0, (0, 0), (1, 0)),
        (2, (1, 0), (0, 1)),
        (3, (0, 0), (1, 0)),
        (4, (0, 0), (0, 0)),
    ]


def test_size_zero_completes_in_a_further_round_of_its_instant() -> None:
    # 0: | 0 (need 2, size 0), 1 (need 1, size 0), 2 (need 2) | 0    round 2: 0 | | 1
    # round 3: 1 | | 2, all at time 0
    schedule = served(2, [1, 2], FCFS, [(0, 1, 0), (0, 0, 0), (0, 1, 1)])
    assert (schedule.start, schedule.end) == ([0, 0, 0], [0, 0, 1])
    assert [s.time for s in schedule.states] == [0, 1]


def test_shared_need_the_oldest_of_all_its_classes_goes_first() -> None:
    # classes 0 and 1 both need 2 of 2; job 0 until 1, then 1 (class 1), then 2 (class 0)
    schedule = served(2, [2, 2], MSF, [(0, 0, 1), (0.25, 1, 1), (0.5, 0, 1)])
    assert schedule.order == [0, 1, 2]


# One-or-all, k = 3. Lights 0, 1, 2 from 0 until 2, 4, 6; light 3 from 3, heavy 4 from 3.5, light 5
# from 5 on.
ONE_OR_ALL: Jobs = [(0, 0, 2), (0, 0, 4), (0, 0, 6), (3, 0, 2), (3.5, 1, 1), (5, 0, 1)]


@pytest.mark.parametrize(
    ("policy", "start"),
    [
        # l = 0: 3: | 3 | 3   3.5: | 4 |   4: 1 | |   5: 3 | 5 | 5   6: 2, 5 | | 4
        (msfq(0, "on_demand"), [0, 0, 0, 3, 6, 5]),
        # l = 1: 3: | 3 | 3   3.5: | 4 |   4: 1 (N_1 = 2)   5: 3 | 5 | 5 (N_1 = 2)   6: 2, 5 | | 4
        (msfq(1, "on_demand"), [0, 0, 0, 3, 6, 5]),
        # l = 2: 3: | 3 | 3 (no heavy waits: open)   3.5: | 4 | N_1 = 3   4: 1 | | N_1 = 2: drain
        # 5: 3 | 5 |   6: 2 | | 4   7: 4 | | 5
        (msfq(2, "on_demand"), [0, 0, 0, 3, 6, 7]),
        # l = 3: 3.5: | 4 | N_1 = 3: drain   4: 1   5: 3 | 5 |   6: 2 | | 4   7: 4 | | 5
        (msfq(3, "on_demand"), [0, 0, 0, 3, 6, 7]),
        # l = 0 always: as on demand, the drain begins with no job in service
        (msfq(0, "always"), [0, 0, 0, 3, 6, 5]),
        # l = 2 always: 2: 0 | | N_1 = 2: drain   3: | 3 |   4: 1   6: 2 | | 4   7: 4 | | 3, 5
        (msfq(2, "always"), [0, 0, 0, 7, 6, 7]),
        # l = 1 always: 3: | 3 | 3   4: 1 | | N_1 = 2   5: 3 | 5 | 5, N_1 = 2   6: 2, 5 | | 4
        (msfq(1, "always"), [0, 0, 0, 3, 6, 5]),
    ],
)
def test_msfq(policy: Policy, start: list[float]) -> None:
    assert served(3, [1, 3], policy, ONE_OR_ALL).start == start
    swapped = [(arrival, 1 - cls, size) for arrival, cls, size in ONE_OR_ALL]
    assert served(3, [3, 1], policy, swapped).start == start


def test_msfq_at_threshold_k_admits_before_it_drains() -> None:
    # k = 2; lights 0, 1 until 2, 3; light 2 waits from 1, heavy 3 from 1.5, light 4 from 2.5
    # 2: 0 | | 2, then N_1 = 2: drain   3: 1   2.5: | 4 |   4: 2 | | 3   5: 3 | | 4
    jobs: Jobs = [(0, 0, 2), (0, 0, 3), (1, 0, 2), (1.5, 1, 1), (2.5, 0, 1)]
    for policy in (msfq(2, "on_demand"), ADAPTIVE):
        assert served(2, [1, 2], policy, jobs).start == [0, 0, 2, 4, 5]


def test_msfq_always_admits_a_small_batch_and_drains_at_once() -> None:
    # k = 3, l = 2.  0: | 0, 1 | both, N_1 = 2: drain   1: | 2 |   2: 0, 1 | | no heavy: visit, 2
    # (N_1 = 1: drain)   2.5: | 3 |   3: 2 | | 3
    jobs: Jobs = [(0, 0, 2), (0, 0, 2), (1, 0, 1), (2.5, 0, 1)]
    assert served(3, [1, 3], msfq(2, "always"), jobs).start == [0, 0, 2, 3]
    assert served(3, [1, 3], msfq(2, "on_demand"), jobs).start == [0, 0, 1, 2.5]


def test_msfq_always_begins_its_drain_before_an_arrival_of_the_same_instant() -> None:
    # k = 3, l = 2.  0: | 0, 1, 2 | all   2: 0, 1 | 3 | N_1 = 2: drain   4: 2 | | 3
    # Static (exclusive): 2: 0, 1 | 3 | 3, and only then is the swap due
    jobs: Jobs = [(0, 0, 2), (0, 0, 2), (0, 0, 4), (2, 0, 1)]
    assert served(3, [1, 3], msfq(2, "always"), jobs).start == [0, 0, 0, 4]
    assert served(3, [1, 3], static("exclusive", [1, 0], [2, 0]), jobs).start == [0, 0, 0, 2]


@pytest.mark.parametrize(
    "policy", [msfq(1, "always"), static("exclusive", [1, 0], [1, 0])], ids=["msfq", "static"]
)
def test_empty_system_the_oldest_arrival_says_whose_turn_it_is(policy: Policy) -> None:
    # k = 2.  0: | light 0, heavy 1 | 0   1: 0 | | 1   2: 1 | heavy 2, light 3 | 2 (heavies go on)
    # 3: 2 | | 3   9: | heavy 4, light 5 | 4   10: 4 | | 5
    jobs: Jobs = [(0, 0, 1), (0, 1, 1), (2, 1, 1), (2, 0, 1), (9, 1, 1), (9, 0, 1)]
    assert served(2, [1, 2], policy, jobs).start == [0, 1, 2, 3, 9, 10]


def test_adaptive_drains_for_the_job_that_is_now_the_largest() -> None:
    # k = 4, needs 1, 3, 4.  0: | 0, 1 (need 1; until 2 and 3) | both   1: | 2 (need 3) | drain, as
    # class 1 waits, out of service, and no light waits   1.5: | 3 (need 1) | - (one is free!)
    # 2: 0 | 4 (need 4) | the largest is now job 4, job 2 fits in 3 servers but is not admitted
    # 3: 1 | | 4, working again   4: 4 | | 2, 3
    jobs: Jobs = [(0, 0, 2), (0, 0, 3), (1, 1, 1), (1.5, 0, 1), (2, 2, 1)]
    assert served(4, [1, 3, 4], ADAPTIVE, jobs).start == [0, 0, 4, 4, 3]
    # MSF: 1.5: | 3 | 3   2: 0 | 4 | -   2.5: 3 | | 2 (three are free)   3: 1   3.5: 2 | | 4
    assert served(4, [1, 3, 4], MSF, jobs).start == [0, 0, 2.5, 1.5, 3.5]


def test_adaptive_works_on_while_a_class_in_service_has_somebody_waiting() -> None:
    # k = 2, needs 1, 2.  0: | 0, 1, 2 (lights; until 1, 3, -), 3 (heavy) | 3 (MSF)   1: 3 | | 0, 1;
    # light 2 waits and lights are in service: no drain   2: 0 | | 2   4: 1   5: 2
    jobs: Jobs = [(0, 0, 1), (0, 0, 3), (0, 0, 3), (0, 1, 1)]
    assert served(2, [1, 2], ADAPTIVE, jobs).start == [1, 1, 2, 0]


# Static Quickswap, k = 5, needs 1, 2 (five and two slots: a full class 1 leaves a server idle).
#   class 1: jobs 0, 1 until 2, 3, job 3 from 1;  class 0: job 2 from 0.5, job 4 from 2.5
TWO_CLASSES: Jobs = [(0, 1, 2), (0, 1, 3), (0.5, 0, 1), (1, 1, 2), (2.5, 0, 1)]


@pytest.mark.parametrize(
    ("policy", "start"),
    [
        # Class 1 keeps the visit while both slots are taken (u = 2 > 1).  2: 0 | | 3   3: 1 | | the
        # swap is due (u = 1, no job of class 1 waits): 2, 4 of class 0
        (static("overlap", [1, 0], [4, 1]), [0, 0, 3, 2, 3]),
        # l = 0 for class 1: 2: 0 | | 3   3: 1 | | u = 1 > 0: not due   4: 3 | | swap: 2, 4
        (static("overlap", [1, 0], [4, 0]), [0, 0, 4, 2, 4]),
        # 2: 0 | | 3   3: 1 | | due: drain   4: 3 | | 2, 4
        (static("exclusive", [1, 0], [4, 1]), [0, 0, 4, 2, 4]),
    ],
)
def test_static(policy: Policy, start: list[float]) -> None:
    assert served(5, [1, 2], policy, TWO_CLASSES).start == start


def test_static_exclusive_drains_though_nobody_else_waits() -> None:
    # k = 2, one class of need 1, l = 1.  0: | 0 | 0, u = 1: drain   1: | 1 | -   3: 0 | | 1
    jobs: Jobs = [(0, 0, 3), (1, 0, 1)]
    assert served(2, [1], static("exclusive", [0], [1]), jobs).start == [0, 3]
    assert served(2, [1], static("overlap", [0], [1]), jobs).start == [0, 1]


def test_static_overlap_swaps_on_through_several_classes_in_one_instant() -> None:
    # k = 3, needs 1, 1, 1; visit class 0 first.  0: | one of each | 0, swap, 1, swap, 2
    schedule = served(
        3,
        [1, 1, 1],
        static("overlap", [0, 2, 1], [2, 2, 2]),
        [(0, 1, 1), (0, 0, 1), (0, 2, 1)],
    )
    assert (schedule.order, schedule.start) == ([1, 2, 0], [0, 0, 0])


def test_static_overlap_waits_for_the_servers_of_one_old_class() -> None:
    # k = 3, needs 1, 3, 2 in this order.  0: | 0, 1 (until 2, 4) | both; visit of class 0
    # 1: | 2 (need 3) | swap to class 1, which waits   2: 0 | 3 (need 2) | - (class 1 waits and an
    # old class is in service: no swap)   4: 1 | | 2   5: 2 | | 3
    jobs: Jobs = [(0, 0, 2), (0, 0, 4), (1, 1, 1), (2, 2, 1)]
    schedule = served(3, [1, 3, 2], static("overlap", [0, 1, 2], [2, 0, 0]), jobs)
    assert schedule.start == [0, 0, 4, 5]


def test_server_filling_preempts_and_resumes() -> None:
    # k = 3, needs 1, 3.  0: | 0 (size 3) | 0   1: | 1 (need 3, size 1) | prefix {0, 1}: 1 (0 is
    # stopped with 2 to go)   1.5: | 2 (need 1) | prefix {0, 1} still   2: 1 | | 0, 2   4: 0   7: 2
    schedule = served(3, [1, 3], SERVER_FILLING, [(0, 0, 3), (1, 1, 1), (1.5, 0, 5)])
    assert (schedule.start, schedule.end) == ([0, 1, 2], [4, 2, 7])
    assert schedule.segments == [(0, 0, 1), (1, 1, 2), (0, 2, 4), (2, 2, 7)]


def test_server_filling_passes_over_what_does_not_fit() -> None:
    # k = 5, needs 1, 3, 4.  0: | 0, 1, 2 (needs 1, 3, 4: all in M) | 2, 0 (1 does not fit with 2)
    # 1: 0, 2 | | 1
    jobs: Jobs = [(0, 0, 1), (0, 1, 1), (0, 2, 1)]
    assert served(5, [1, 3, 4], SERVER_FILLING, jobs).start == [0, 1, 0]


def test_server_filling_by_size_takes_what_is_least_to_do() -> None:
    # k = 2, needs 1, 2.  0: | 0 (need 2, size 4) | 0   1: | 1, 2 (need 1, size 1) | they have 1 to
    # do each and fill the servers, 0 has 6: 1, 2   2: 1, 2 | | 0   5: 0
    jobs: Jobs = [(0, 1, 4), (1, 0, 1), (1, 0, 1)]
    schedule = served(2, [1, 2], SRPT, jobs)
    assert (schedule.start, schedule.end) == ([0, 1, 1], [5, 2, 2])
    assert schedule.segments == [(0, 0, 1), (1, 1, 2), (2, 1, 2), (0, 2, 5)]
    # in order of arrival the prefix is job 0 until it ends
    assert served(2, [1, 2], SERVER_FILLING, jobs).start == [0, 4, 4]


def test_server_filling_by_size_looks_at_what_is_left() -> None:
    # k = 2, need 1.  0: | 0, 1, 2 (sizes 3, 2, 1) | 2, 1   1: 2 | | 0   1.5: | 3 (size .75) | 1 has
    # .5 to do, 3 .75, 0 2.5: 3 for 0   2: 1 | | 0   2.25: 3   4.5: 0
    jobs: Jobs = [(0, 0, 3), (0, 0, 2), (0, 0, 1), (1.5, 0, 0.75)]
    schedule = served(2, [1], SRPT, jobs)
    assert (schedule.start, schedule.end) == ([1, 0, 0, 1.5], [4.5, 2, 1, 2.25])


def test_divisor_filling_fills_the_servers() -> None:
    # k = 6, needs 3, 2.  0: | 0 (need 3), 1, 2, 3 (need 2) | 1, 2, 3: 3 + 2 would leave one idle
    # 0.5: | 4 (need 3) | 0, 4: 6 as well, with more of the largest need   1.5: 0, 4 | | 1, 2, 3
    jobs: Jobs = [(0, 0, 1), (0, 1, 1), (0, 1, 1), (0, 1, 1), (0.5, 0, 1)]
    schedule = served(6, [3, 2], DIVISOR_FILLING, jobs)
    assert (schedule.start, schedule.end) == ([0.5, 0, 0, 0, 0.5], [1.5, 2, 2, 2, 1.5])


def test_divisor_filling_looks_at_the_k_oldest() -> None:
    # k = 2, needs 1, 2.  0: | 0, 1 (need 1), 2 (need 2) | 0, 1, as 2 is not among the two oldest
    # 1: 0 | | now it is: 2 (1 is stopped)   2: 2 | | 1
    schedule = served(2, [1, 2], DIVISOR_FILLING, [(0, 0, 1), (0, 0, 2), (0, 1, 1)])
    assert (schedule.start, schedule.end) == ([0, 0, 1], [1, 3, 2])


def test_max_weight_serves_the_longer_queue() -> None:
    # k = 2, needs 1, 2.  0: | 0 (need 1, size 2), 1 (need 2, size 1) | weights 1 and 1: the larger
    # need, 1   0.5: | 2 (need 1, size 1) | two lights weigh 2 each: 0, 2   1.5: 2 | | 1 and 1: 1
    # 2: 1 | | 0   3: 0
    schedule = served(2, [1, 2], MAX_WEIGHT, [(0, 0, 2), (0, 1, 1), (0.5, 0, 1)])
    assert (schedule.start, schedule.end) == ([0.5, 0, 0.5], [3, 2, 1.5])
    pieces = [[(a, b) for number, a, b in schedule.segments if number == job] for job in range(3)]
    assert pieces == [[(0.5, 1.5), (2, 3)], [(0, 0.5), (1.5, 2)], [(0.5, 1.5)]]


def test_max_weight_of_equal_needs_serves_the_first_class_first() -> None:
    # k = 1.  0: | one of each class | that of class 0, the younger one
    assert served(1, [1, 1], MAX_WEIGHT, [(0, 1, 1), (0, 0, 1)]).start == [1, 0]


@pytest.mark.parametrize(("backfill", "start"), [(False, [0, 4, 2, 6]), (True, [0, 4, 2, 5])])
def test_nmsr_changes_schedules_when_its_clock_rings(backfill: bool, start: list[float]) -> None:
    # k = 2; two lights for 1 on average, one heavy for 2; the exponentials are 3, 1, 3, ...
    # 0: | 0 | 0; lights until 3   1: | 1 (heavy) |   2: | 2 | 2   3: 2 | | rings; job 0 is one
    # light too many: change   3.5: | 3 |   4: 0 | | 1; heavies until 6   5: 1 | | (or 3)
    # 6: rings; lights: 3
    policy: Policy = {"name": "nmsr", "schedules": [[2, 0], [0, 1]], "times": [1, 2]}
    policy |= {"backfill": backfill, "script": [3, 1]}
    jobs: Jobs = [(0, 0, 4), (1, 1, 1), (2, 0, 1), (3.5, 0, 1)]
    assert served(2, [1, 2], policy, jobs).start == start


def test_nmsr_keeps_servers_for_jobs_of_its_schedule() -> None:
    # k = 3, needs 1, 2; one schedule: one job of need 2.  0: | 0, 1 (lights; until 2, 4) | both,
    # beyond the schedule   1: | 2 (need 2), 3 (light) | 2 does not fit, and the one free server is
    # kept for it   2: 0 | | 2   3: 2 | | 3
    policy: Policy = {"name": "nmsr", "schedules": [[0, 1]], "times": [1], "script": [1]}
    jobs: Jobs = [(0, 0, 2), (0, 0, 4), (1, 1, 1), (1, 0, 1)]
    assert served(3, [1, 2], policy | {"backfill": True}, jobs).start == [0, 0, 2, 3]


def test_randomized_timers_keep_and_release_slots() -> None:
    # k = 2, needs 1, 2. Drawn for heavy and light clocks: 1, .5.
    # 0: | 0 | -   .5: the light clock ticks (next at 2.5): 0   1: | 1 | the heavy one ticks (next
    # at 4); nothing fits   1.5: 0 | | .25 < 1 - exp(-log(2)^.7): refilled, 1   2.5: 1 | | .25 > 0:
    # released; the light clock ticks (next at 4.5): a dummy until 5.5   3: | 2 (heavy) |
    # 3.5: | 3 | takes over the dummy   4: the heavy clock ticks (next at 8)   4.5: 3 | | released;
    # a tick (next at 8.5): a dummy until 5.5   5.5: released   8: the heavy clock ticks: 2
    script = [1, 0.5, 2, 3, 0.25, 0.25, 2, 3, 4, 0.5, 4, 1, 0.5, 9]
    policy: Policy = {"name": "randomized-timers", "rate": 1, "means": [1, 1], "script": script}
    jobs: Jobs = [(0, 0, 1), (1, 0, 1), (3, 1, 1), (3.5, 0, 1)]
    assert served(2, [1, 2], policy, jobs).start == [0.5, 1.5, 8, 3.5]


def test_balanced_splitting_blocks_helpers_only() -> None:
    # k = 5, needs 1, 2; a slot each, and 2 helpers.  0: | 0, 1 | both, in the slot and on a helper
    # 1: | 2, 3 (need 2), 4 | 2 in its slot; 3 does not fit on the helpers and blocks 4
    # 2: 1 | | 3   3: 3 | | 4   4: 4 | 5 |   5: 2 | | the slot of need 2 is free, and 6 uses it
    policy: Policy = {"name": "balanced-splitting", "slots": [1, 1]}
    jobs: Jobs = [(0, 0, 9), (0, 0, 2), (1, 1, 4), (1, 1, 1), (1, 0, 1), (4, 0, 9), (4, 1, 1)]
    assert served(5, [1, 2], policy, jobs).start == [0, 0, 1, 2, 3, 4, 5]


def test_balanced_splitting_passes_over_jobs_that_never_fit_on_the_helpers() -> None:
    # k = 4, needs 1, 2; a slot each, and 1 helper.  0: | 0, 1 (need 2) | both in their slots
    # 1: | 2 (need 2), 3, 4 | 2 waits for its slot; 3 on the helper   2: 3 | | 4   5: 1 | | 2
    policy: Policy = {"name": "balanced-splitting", "slots": [1, 1]}
    jobs: Jobs = [(0, 0, 9), (0, 1, 5), (1, 1, 1), (1, 0, 1), (1, 0, 1)]
    assert served(4, [1, 2], policy, jobs).start == [0, 0, 5, 1, 2]


def test_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="divide"):
        run(3, [2], DIVISOR_FILLING, [])
    with pytest.raises(ValueError, match="decrease"):
        run(1, [1], FCFS, [(1, 0, 1), (0, 0, 1)])
    with pytest.raises(ValueError, match="threshold"):
        run(3, [1, 3], msfq(3, "always"), [])
    with pytest.raises(ValueError, match="need 1"):
        run(3, [1, 2], msfq(1, "always"), [])
    with pytest.raises(ValueError, match="slots"):
        run(3, [1, 2], static("overlap", [0, 1], [1, 1]), [])
