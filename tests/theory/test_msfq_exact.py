"""The exact solution of MSFQ: known values, identities, borders, mistakes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quickswap as qs
from quickswap.theory import msfq
from verification.known import ALWAYS, ON_DEMAND, Known, one_or_all

DRAINS = ("on_demand", "always")


def rates(k: int, light: float, heavy: float, heavy_mean: float = 1.0) -> qs.System:
    """A one-or-all system of lights of mean size 1, with the heavy class first."""
    return qs.System(
        k,
        [
            qs.JobClass(need=k, arrival_rate=heavy, size=qs.Exponential(mean=heavy_mean)),
            qs.JobClass(need=1, arrival_rate=light, size=qs.Exponential(mean=1.0)),
        ],
    )


@pytest.mark.parametrize("case", [*ON_DEMAND, *ALWAYS], ids=lambda case: case.label)
def test_known_values_to_all_digits(case: Known) -> None:
    policy = case.policy
    assert isinstance(policy, qs.MSFQ)
    assert case.classes is not None
    solution = msfq.exact(case.system, policy.threshold, policy.drain)
    for found, known in zip(solution.classes, case.classes, strict=True):
        assert found.mean_response_time == pytest.approx(known, rel=6e-10)
    assert solution.mean_response_time == pytest.approx(case.mean, rel=6e-10)


@pytest.mark.parametrize(
    ("k", "load"), [(2, 0.01), (2, 0.7), (2, 0.9999), (3, 0.9999), (32, 0.01), (32, 0.7)]
)
@pytest.mark.parametrize("heavy_mean", [1e-6, 1.0, 1e6])
def test_at_threshold_0_both_drains_are_msf(k: int, load: float, heavy_mean: float) -> None:
    system = rates(k, k * load / 2, load / 2 / heavy_mean, heavy_mean)
    demand, always = (msfq.exact(system, 0, drain) for drain in DRAINS)
    accuracy = 1e-9 if load == 0.7 else 1e-8 if load == 0.01 else 1e-7
    for one, other in zip(demand.classes, always.classes, strict=True):
        assert one.mean_response_time == pytest.approx(other.mean_response_time, rel=accuracy)


def test_without_heavies_it_is_an_mmk_queue_on_demand_only() -> None:
    """What rare heavy jobs add is proportional to their rate."""
    alone = 80 / 53  # M/M/4 at load 3/4
    for threshold in (2, 3, 4):
        rarest, rare = (
            msfq.exact(rates(4, 3.0, heavy), threshold).classes[1].mean_response_time
            for heavy in (1e-9, 1e-8)
        )
        assert rarest == pytest.approx(alone, abs=2e-8)
        assert rare - alone == pytest.approx(10 * (rarest - alone), rel=1e-3)
    assert msfq.exact(rates(4, 3.0, 1e-9), 3, "always").classes[1].mean_response_time > 1.6


@pytest.mark.parametrize("drain", DRAINS)
@pytest.mark.parametrize(
    ("k", "threshold"), [(2, 0), (2, 1), (5, 3), (32, 0), (32, 1), (32, 31), (32, 32)]
)
@pytest.mark.parametrize("heavy_mean", [1e-6, 1.0, 1e6])
def test_identities(k: int, threshold: int, drain: str, heavy_mean: float) -> None:
    """Work conservation, phases that fill the time, and two ways to the mean of the heavies."""
    if threshold == k and drain == "always":
        return
    for load in (0.01, 0.5, 0.96):
        system = rates(k, k * load / 3, load * 2 / 3 / heavy_mean, heavy_mean)
        solution = msfq.exact(system, threshold, drain)
        shares = {phase.name: phase.share for phase in solution.phases}
        assert math.fsum(shares.values()) == pytest.approx(1, abs=1e-9)
        assert all(0 <= share <= 1 for share in shares.values())
        assert shares["1"] == pytest.approx(load * 2 / 3, rel=1e-9)
        mean = solution.classes[0].mean_response_time
        assert solution.heavy_response_time.mean == pytest.approx(mean, rel=1e-9)
        assert solution.number_in_system == pytest.approx(
            system.arrival_rate * solution.mean_response_time, rel=1e-12
        )


@pytest.mark.parametrize("drain", DRAINS)
def test_lights_with_several_servers_each(drain: str) -> None:
    """Needs 2 and 6 on 7 servers: three lights at a time, and the heavy alone."""
    size = qs.Exponential(mean=1.0)
    wide = qs.System(
        7,
        [
            qs.JobClass(need=2, arrival_rate=1.1, size=size),
            qs.JobClass(need=6, arrival_rate=0.3, size=size),
        ],
    )
    for threshold in (0, 1, 2):
        found = msfq.exact(wide, threshold, drain)
        plain = msfq.exact(one_or_all(3, 1.1, 0.3), threshold, drain)
        assert [each.mean_response_time for each in found.classes] == [
            each.mean_response_time for each in plain.classes
        ]


@pytest.mark.parametrize("drain", DRAINS)
def test_one_light_at_a_time(drain: str) -> None:
    """Two classes of which one job at a time is served: swapped, the solution swaps."""
    size = qs.Exponential(mean=1.0)
    classes = [
        qs.JobClass(need=4, arrival_rate=0.4, size=size),
        qs.JobClass(need=5, arrival_rate=0.25, size=size),
    ]
    solution = msfq.exact(qs.System(6, classes), 0, drain)
    # the work in an M/M/1 queue does not depend on the order of service
    assert solution.number_in_system == pytest.approx(0.65 / 0.35, rel=1e-12)


def test_the_distribution_of_the_heavies() -> None:
    solution = msfq.exact(rates(32, 6.3, 0.7), 31)
    times = solution.heavy_response_time
    assert times.sf(0) == 1
    assert times.mean == pytest.approx(10.30818584, rel=1e-9)
    for percent in (1, 50, 99.9):
        assert times.sf(times.percentile(percent)) == pytest.approx(1 - percent / 100, abs=1e-8)
    grid = np.linspace(0, 160, 801)
    tail = times.sf(grid)
    assert np.all(np.diff(tail) <= 1e-8)
    area = (tail[:-1] + tail[1:]).sum() * 0.1
    assert area == pytest.approx(times.mean, rel=1e-3)
    second = ((tail * grid)[:-1] + (tail * grid)[1:]).sum() * 0.2
    assert second == pytest.approx(times.moment(2), rel=1e-3)
    assert times.std == pytest.approx(math.sqrt(times.moment(2) - times.mean**2))


@pytest.mark.parametrize("drain", DRAINS)
def test_heavies_alone_are_an_mm1_queue(drain: str) -> None:
    times = msfq.exact(rates(4, 1e-9, 0.6), 3, drain).heavy_response_time
    for time in (0.1, 1.0, 1 / 0.6, 7.5, 30.0):
        assert times.sf(time) == pytest.approx(math.exp(-0.4 * time), abs=1e-8)
    for order in range(1, 7):
        assert times.moment(order) == pytest.approx(math.factorial(order) / 0.4**order, rel=1e-7)


@pytest.mark.parametrize("drain", DRAINS)
def test_many_servers(drain: str) -> None:
    solution = msfq.exact(qs.load("one-or-all:k=1024").with_load(0.9), 1023, drain)
    heavy = next(each for each in solution.classes if each.need == 1024)
    assert solution.heavy_response_time.mean == pytest.approx(heavy.mean_response_time, rel=1e-9)


@pytest.mark.parametrize(("k", "heavy"), [(160, 8.0), (128, 64.0)])
def test_visits_of_any_length(k: int, heavy: float) -> None:
    """Many lights and a low threshold: visits of up to 1e50 seconds, where N >= k is certain."""
    size = qs.Exponential(mean=1.0)
    classes = [qs.JobClass(1, 0.4 * k, size), qs.JobClass(k, heavy / k, size)]
    system = qs.System(k, classes).with_load(0.9)
    for threshold in (k // 2, 0):
        demand, always = (msfq.exact(system, threshold, drain) for drain in DRAINS)
        close = msfq.approximate(system, threshold)
        for one, other, third in zip(demand.classes, always.classes, close.classes, strict=True):
            rough = 1e-9 if threshold == 0 else 1e-2
            assert one.mean_response_time == pytest.approx(other.mean_response_time, rel=rough)
            assert other.mean_response_time == pytest.approx(third.mean_response_time, rel=rough)


def test_a_visit_too_long_to_compute_is_refused() -> None:
    size = qs.Exponential(mean=1.0)
    system = qs.System(400, [qs.JobClass(1, 380.0, size), qs.JobClass(400, 0.01, size)])
    assert msfq.exact(system, 399).mean_response_time < 1e3
    with pytest.raises(qs.ModelError, match="too long to compute"):
        msfq.exact(system, 0)


@pytest.mark.parametrize(
    ("system", "arguments", "message"),
    [
        (qs.load("four-class"), {}, "a job of the larger need runs alone"),
        (one_or_all(4, 3.0, 0.3), {}, "no mean response time at load 1.05"),
        (one_or_all(4, 1.0, 0.3), {"threshold": 5}, "is 5; it must be a whole number from 0 to 4"),
        (
            one_or_all(4, 1.0, 0.3),
            {"threshold": 4, "drain": "always"},
            "is 4; it must be a whole number from 0 to 3",
        ),
        (
            one_or_all(4, 1.0, 0.3),
            {"threshold": 1.5},
            "is 1.5; it must be a whole number from 0 to 4",
        ),
        (one_or_all(4, 1.0, 1e-12), {}, "at least 1e-10 of the arrivals; class 'heavy' has 1e-12"),
        (one_or_all(4, 1.0, 0.7499999), {}, "loads up to 0.999999, not 0.9999999"),
        (one_or_all(4097, 1.0, 0.3), {}, "up to 4,096 light jobs in service at once, not 4,097"),
        (one_or_all(2**24, 1.0, 0.3), {}, "at once, not 16,777,216"),
        (None, {}, "None is not a system: pass a System"),
        (one_or_all(4, 1.0, 0.3), {"drain": "never"}, "unknown drain of MSFQ: 'never'"),
        (
            qs.System(2, [qs.JobClass(n, 0.1, qs.Deterministic(1.0)) for n in (1, 2)]),
            {},
            "requires Poisson arrivals and exponential sizes",
        ),
    ],
)
def test_mistakes(system: qs.System, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(qs.QuickswapError, match=message):
        msfq.exact(system, **arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_mistakes_about_the_distribution() -> None:
    times = msfq.exact(one_or_all(4, 1.0, 0.3)).heavy_response_time
    for call in (
        lambda: times.sf(-1),
        lambda: times.sf(math.nan),
        lambda: times.percentile(100),
        lambda: times.moment(7),
        lambda: times.moment(True),
        lambda: times.sf("x"),
        lambda: times.percentile(99.99999),
    ):
        with pytest.raises(qs.QuickswapError):
            call()


@pytest.mark.parametrize("drain", ["on_demand", "always"])
def test_large_systems_are_solved_in_blocks_with_the_same_result(
    drain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quickswap.theory.msfq import equation, transforms

    system = qs.load("one-or-all:k=60").with_load(0.9)
    whole = msfq.exact(system, 40, drain).mean_response_time
    monkeypatch.setattr(equation, "BLOCK", 7)
    monkeypatch.setattr(transforms, "SMALL", 0)
    assert msfq.exact(system, 40, drain).mean_response_time == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("drain", DRAINS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_interpolated_orbits_agree_with_sums_over_all_points(
    drain: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quickswap.theory.msfq import equation

    k = 160
    for load in (0.1, 0.99):
        system = rates(k, k * load * share, load * (1 - share))
        found = msfq.exact(system, k // 2, drain)
        with monkeypatch.context() as patch:
            patch.setattr(equation, "FEWEST", 10**9)
            direct = msfq.exact(system, k // 2, drain)
        for one, other in zip(found.classes, direct.classes, strict=True):
            assert one.mean_response_time == pytest.approx(other.mean_response_time, rel=1e-10)
