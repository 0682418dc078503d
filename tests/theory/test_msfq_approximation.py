"""The paper's approximation of MSFQ against its lemmas, exact values and identities."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy.linalg import solve_banded

import quickswap as qs
from quickswap.theory import msfq, static_quickswap
from quickswap.theory.msfq import Approximation


def one_or_all(
    k: int, light: tuple[float, float], heavy: tuple[float, float], light_first: bool = True
) -> qs.System:
    """A system from (arrival rate, service rate) of both classes."""
    classes = [
        qs.JobClass(need, rate, qs.Exponential(rate=mu), name)
        for need, name, (rate, mu) in ((1, "light", light), (k, "heavy", heavy))
    ]
    return qs.System(k, classes if light_first else classes[::-1])


CASES = [
    (one_or_all(32, (6.3, 1.0), (0.7, 1.0)), 31),
    (one_or_all(32, (6.3, 1.0), (0.7, 1.0)), 0),
    (one_or_all(5, (4.0, 2.0), (0.3, 0.6)), 2),
    (one_or_all(2, (0.9, 1.0), (0.5, 1.0)), 1),
    (one_or_all(8, (5e6, 1e6), (0.34, 1.0)), 3),
    (one_or_all(8, (5.0, 1.0), (3.4e5, 1e6)), 7),
]


def rates(system: qs.System) -> tuple[int, float, float, float, float]:
    light, heavy = system.classes
    mu = 1 / light.size.mean, 1 / heavy.size.mean
    return system.servers, light.arrival_rate, heavy.arrival_rate, *mu


@pytest.mark.parametrize(("system", "threshold"), CASES)
def test_means_of_the_phases_are_those_of_the_design(system: qs.System, threshold: int) -> None:
    k, l1, lk, m1, mk = rates(system)
    found = msfq.approximate(system, threshold)
    h3, h4 = found.h[2].mean, found.h[3].mean
    bh, bl = 1 / (mk - lk), 1 / (k * m1 - l1)
    echo = lk * bh * l1 * bl
    h2 = (l1 * bl * (h4 + lk * bh * (h3 + h4)) - (k - 1) * bl) / (1 - echo)
    assert found.h[1].mean == pytest.approx(h2, rel=1e-9)
    assert found.h[0].mean == pytest.approx(lk * bh * (h2 + h3 + h4), rel=1e-9)
    assert found.cycle == pytest.approx(math.fsum(each.mean for each in found.h), rel=1e-12)
    lost = h4 + (1 - l1 / (k * m1)) * h3 - (k - 1) / (k * m1)
    assert found.cycle == pytest.approx(lost / (1 - system.load), rel=1e-10)
    assert math.fsum(found.m) == pytest.approx(1, rel=1e-12)
    assert found.m[0] == pytest.approx(lk / mk, rel=1e-12)
    assert found.n_light[1].mean == pytest.approx(l1 * (h4 + found.h[0].mean), rel=1e-12)


@pytest.mark.parametrize(("system", "threshold"), CASES)
def test_phases_3_and_4_are_first_passages_of_a_chain(system: qs.System, threshold: int) -> None:
    k, l1, _, m1, _ = rates(system)
    found = msfq.approximate(system, threshold)
    top = threshold + 1 + 400 * k  # far above what the chain reaches
    states = np.arange(threshold + 1, top + 1)
    down = np.minimum(states, k) * m1
    up = np.full(len(down), l1)
    bands = np.array([-up, down + l1, -np.roll(down, -1)])  # of the generator, negated
    first = solve_banded((1, 1), bands, np.ones(len(down)))
    second = solve_banded((1, 1), bands, 2 * first)
    start = k - 1 - (threshold + 1)
    mean = first[start] if start >= 0 else 0.0
    assert found.h[2].mean == pytest.approx(mean, rel=1e-8)
    variance = second[start] - first[start] ** 2 if start >= 0 else 0.0
    assert found.h[2].variance == pytest.approx(variance, rel=1e-7)
    steps = [1 / (j * m1) for j in range(1, threshold + 1)]
    assert found.h[3].mean == pytest.approx(math.fsum(steps), rel=1e-12, abs=0)
    assert found.h[3].variance == pytest.approx(math.fsum(s * s for s in steps), rel=1e-12)


@pytest.mark.parametrize(("system", "threshold"), CASES)
def test_response_times_are_those_of_the_lemmas(system: qs.System, threshold: int) -> None:
    k, l1, lk, m1, mk = rates(system)
    found = msfq.approximate(system, threshold, "printed")
    n1, n2, x, y = found.n_heavy[0], found.n_light[1], found.x, found.y

    def first_service(rate: float, speed: float, mean: float, square: float) -> float:
        """Mean work ahead of a job in M/M/1 with exceptional first service, if any."""
        load, busy = rate / speed, 1 - rate / speed + rate * mean
        work = rate / speed**2 / (1 - load) + rate * (square - 2 / speed**2) / (2 * busy)
        return work / (1 - (1 - load) / busy)

    heavy = first_service(lk, mk, n1.mean / mk, (n1.second + n1.mean) / mk**2) + 1 / mk
    assert found.t1_heavy == pytest.approx(heavy, rel=1e-9)
    square = n2.second - (2 * k - 3) * n2.mean + k * k - 3 * k + 2
    speed = k * m1
    light = first_service(l1, speed, (n2.mean - k + 1) / speed, square / speed**2) + 1 / m1
    assert found.t2_light == pytest.approx(light, rel=1e-7)
    others = (1 + lk / mk) * x.second / (2 * x.mean) + 1 / mk
    assert found.t234_heavy == pytest.approx(others, rel=1e-12)
    others = (1 + l1 / speed) * y.second / (2 * y.mean) + 1 / m1
    assert found.t14_light == pytest.approx(others, rel=1e-12)
    if threshold < k - 1:
        assert found.t3_light == pytest.approx(absorption(k, l1, m1, threshold), rel=1e-9)
    else:
        assert math.isnan(found.t3_light)
    weights = found.m[0] + found.m[3], found.m[1], found.m[2]
    parts = found.t14_light, found.t2_light, found.t3_light if weights[2] else 0.0
    light = math.fsum(weight * part for weight, part in zip(weights, parts, strict=True))
    assert found.classes[0].mean_response_time == pytest.approx(light, rel=1e-9)


def absorption(k: int, l1: float, m1: float, threshold: int) -> float:
    """Lemma thm:absorption, with C_j geometric above k."""
    visits: dict[int, float] = {}
    for j in range(threshold + 1, k + 3000):
        begins = (l1 + j * m1) / (j * m1) if j <= k - 1 else 0.0
        if j <= k:
            before = visits.get(j - 1, 0.0) * l1 * (l1 + j * m1)
            visits[j] = before / (j * m1 * (l1 + (j - 1) * m1)) + begins
        else:
            visits[j] = l1 / (k * m1) * visits[j - 1]
    times = {j: visits[j] / (l1 + min(j, k) * m1) for j in visits}
    waits = math.fsum(t * (k + max(j - k + 1, 0)) / (k * m1) for j, t in times.items())
    return waits / math.fsum(times.values())


def test_msf_at_high_load_is_nearly_exact() -> None:
    found = msfq.approximate(qs.load("one-or-all:rate=7"), 0)
    light, heavy = (each.mean_response_time for each in found.classes)
    assert light == pytest.approx(341.4449408, rel=1e-8)
    assert heavy == pytest.approx(166.3814822, rel=1e-8)
    assert found.mean_response_time == pytest.approx(323.9385950, rel=1e-8)


def test_corrected_is_nearer_to_the_exact_value_than_printed() -> None:
    system = qs.load("one-or-all:rate=7")
    corrected = msfq.approximate(system, 31)
    printed = msfq.approximate(system, 31, "printed")
    assert corrected.mean_response_time == pytest.approx(26.23584407, rel=2e-3)
    assert printed.mean_response_time == pytest.approx(26.23584407, rel=3e-2)
    assert printed.mean_response_time > 1.02 * corrected.mean_response_time
    assert printed.classes[1] == corrected.classes[1]


def figures(found: Approximation) -> list[float]:
    moments = [*found.h, *found.n_light, *found.n_heavy, found.x, found.y]
    times = [found.t1_heavy, found.t234_heavy, found.t14_light, found.t2_light]
    return [found.mean_response_time, *times, *(each.mean for each in moments)]


@pytest.mark.parametrize("k", [2, 32, 1024])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("gap", [0.02, 1e-4])
def test_agrees_with_static_quickswap_and_in_other_units(k: int, scale: float, gap: float) -> None:
    for threshold in {0, 1, k // 2, k - 1} if k < 1024 else {k // 2, k - 1}:
        shares = (1 - gap) * 0.4 * k * scale, (1 - gap) * 0.6 / scale
        system = one_or_all(k, (shares[0], scale), (shares[1], 1 / scale))
        found = msfq.approximate(system, threshold)
        assert np.isfinite(figures(found)).all()
        other = static_quickswap.approximate(system, [threshold, 0])
        for a, b in zip(found.classes, other.classes, strict=True):
            assert a.mean_response_time == pytest.approx(b.mean_response_time, rel=1e-11)
        fast = one_or_all(k, (1e9 * shares[0], 1e9 * scale), (1e9 * shares[1], 1e9 / scale))
        assert msfq.approximate(fast, threshold).mean_response_time == pytest.approx(
            1e-9 * found.mean_response_time, rel=1e-10
        )


def test_light_jobs_may_be_given_second() -> None:
    for form in ("corrected", "printed"):
        first = msfq.approximate(one_or_all(5, (4, 2), (0.3, 0.6)), 2, form)
        second = msfq.approximate(one_or_all(5, (4, 2), (0.3, 0.6), light_first=False), 2, form)
        assert second.classes == first.classes[::-1]
        assert second.h == first.h
        assert second.mean_response_time == pytest.approx(first.mean_response_time)


@pytest.mark.parametrize(("threshold", "rate"), [(31, 2.0), (31, 4.6), (5, 0.01), (20, 3.0)])
def test_below_its_range_it_says_where_the_range_begins(threshold: int, rate: float) -> None:
    system = qs.load("one-or-all").with_rate(rate)
    with pytest.raises(qs.ModelError, match="holds from an arrival rate") as rejected:
        msfq.approximate(system, threshold)
    start = float(re.search(r"rate of (\S+) on", str(rejected.value))[1])  # type: ignore[index]  # no match fails as well
    assert rate < start < 7.805
    assert msfq.approximate(system.with_rate(start), threshold).h[1].mean >= 0
    with pytest.raises(qs.ModelError):
        msfq.approximate(system.with_rate(start * (1 - 3e-5)), threshold)


def test_mistakes_get_one_sentence() -> None:
    system = qs.load("one-or-all")
    with pytest.raises(qs.ModelError, match=r"did you mean 'printed'.*known: corrected, printed"):
        msfq.approximate(system, 31, "print")
    for threshold in (-1, 32, 2.5):
        with pytest.raises(qs.PolicyError, match=r"threshold is .*; it must be .* from 0 to 31"):
            msfq.approximate(system, threshold)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(qs.UnstableError, match=r"below 7\.80488"):
        msfq.approximate(system.with_load(1.0), 31)
    with pytest.raises(qs.ModelError, match="two classes"):
        msfq.approximate(qs.load("four-class"), 3)
    distributions = [
        qs.JobClass(1, 2, qs.Deterministic(1)),
        qs.JobClass(4, 0.1, qs.Exponential(mean=1)),
    ]
    with pytest.raises(qs.ModelError, match="exponential sizes"):
        msfq.approximate(qs.System(4, distributions), 3)
    with pytest.raises(qs.ModelError, match="too long to compute"):
        msfq.approximate(one_or_all(1024, (1000, 1), (0.01, 1)), 0)
