"""The exact solution of MSFQ against the Markov chain that asks the policy itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quickswap as qs
from quickswap import theory


@st.composite
def cases(draw: st.DrawFn) -> tuple[qs.System, int, str]:
    """A system of 2 to 6 servers with unequal rates, a threshold, and a drain."""
    k, drain = draw(st.integers(2, 6)), draw(st.sampled_from(["on_demand", "always"]))
    threshold = draw(st.integers(0, k if drain == "on_demand" else k - 1))
    load, light = draw(st.floats(0.02, 0.3)), draw(st.floats(0.1, 0.98))
    means = draw(st.floats(0.3, 3.0)), draw(st.sampled_from([0.02, 0.15, 1.0, 3.0]))
    rates = load * light * k / means[0], load * (1 - light) / means[1]
    classes = [
        qs.JobClass(need, rate, qs.Exponential(mean=mean))
        for need, rate, mean in zip((1, k), rates, means, strict=True)
    ]
    return qs.System(k, classes[:: draw(st.sampled_from([1, -1]))]), threshold, drain


@given(cases())
def test_both_agree(case: tuple[qs.System, int, str]) -> None:
    system, threshold, drain = case
    policy = qs.MSFQ(threshold=threshold, drain=drain)
    chain = theory.chain.exact(system, policy, tolerance=3e-10)
    exact = theory.msfq.exact(system, threshold, drain)
    for one, other in zip(exact.classes, chain.classes, strict=True):
        assert one.mean_response_time == pytest.approx(other.mean_response_time, rel=1e-8)


def test_both_agree_where_a_busy_period_is_nearly_singular() -> None:
    """Near its branch point the transform of a busy period looks harmless."""
    classes = [
        qs.JobClass(1, 2.4, qs.Exponential(mean=0.41178107513919454)),
        qs.JobClass(2, 1.05, qs.Exponential(mean=0.06501767650291537)),
    ]
    system = qs.System(2, classes).with_load(0.82)
    exact = theory.msfq.exact(system, 0, "always")
    chain = theory.chain.exact(system, qs.MSF(), tolerance=3e-10)
    for one, other in zip(exact.classes, chain.classes, strict=True):
        assert one.mean_response_time == pytest.approx(other.mean_response_time, rel=1e-8)


@pytest.mark.parametrize("threshold", range(7))
def test_both_agree_where_heavies_are_short_and_rare(threshold: int) -> None:
    """Beyond two poles of a drain its transform looks harmless again; nothing may be read there."""
    classes = [
        qs.JobClass(1, 0.6852231965, qs.Exponential(mean=2.066993733)),
        qs.JobClass(6, 0.02119246999, qs.Exponential(mean=0.1491061165)),
    ]
    system = qs.System(6, classes)
    exact = theory.msfq.exact(system, threshold)
    chain = theory.chain.exact(system, qs.MSFQ(threshold=threshold), tolerance=3e-10)
    for one, other in zip(exact.classes, chain.classes, strict=True):
        assert one.mean_response_time == pytest.approx(other.mean_response_time, rel=1e-8)
