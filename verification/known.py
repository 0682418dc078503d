"""One table of systems, policies and known answers; tests, verification and benchmarks draw on it.

Exact values are solutions of Markov chains (quickswap.theory will compute them); goldens are
estimates of an independent simulator with their 95 % half-widths.
"""

from __future__ import annotations

from dataclasses import dataclass

import quickswap as qs


@dataclass(frozen=True)
class Known:
    """A system, a policy and its mean response times, seconds.

    Attributes:
        classes: per class, in the order of the system; None where it is not known.
        mean: all jobs.
        weighted: weighted by load, or None.
        half_width: of `mean` (and `weighted`); 0 if they are exact.
    """

    system: qs.System
    policy: qs.Policy
    classes: tuple[float, ...] | None
    mean: float
    weighted: float | None = None
    half_width: tuple[float, float] = (0.0, 0.0)

    @property
    def label(self) -> str:
        """Name of the case."""
        k, rate, load = self.system.servers, self.system.arrival_rate, self.system.load
        return f"{qs.spell(self.policy)} k={k} rate={rate:g} load={load:.3g}"


def one_or_all(k: int, light: float, heavy: float) -> qs.System:
    """Return a system of light and heavy jobs of mean size 1."""
    unit = qs.Exponential(mean=1.0)
    return qs.System(
        k,
        [
            qs.JobClass(need=1, arrival_rate=light, size=unit, name="light"),
            qs.JobClass(need=k, arrival_rate=heavy, size=unit, name="heavy"),
        ],
    )


def _msfq(k: int, rate: float, threshold: int, drain: str, *values: float) -> Known:
    light, heavy, mean = values
    policy = qs.MSFQ(threshold=threshold, drain=drain)
    return Known(one_or_all(k, 0.9 * rate, 0.1 * rate), policy, (light, heavy), mean)


ON_DEMAND = (
    _msfq(2, 0.8, 0, "on_demand", 1.287607731, 2.252568746, 1.384103833),
    _msfq(2, 0.8, 1, "on_demand", 1.396389497, 1.950946857, 1.451845233),
    _msfq(4, 1.5, 1, "on_demand", 1.587422450, 2.586352564, 1.687315461),
    _msfq(4, 1.5, 3, "on_demand", 1.716490225, 2.413417548, 1.786182958),
    _msfq(4, 1.5, 4, "on_demand", 1.730607049, 2.399947939, 1.797541138),
    _msfq(4, 2.5, 0, "on_demand", 3.438109691, 9.486666387, 4.042965361),
    _msfq(32, 5.0, 31, "on_demand", 6.782903658, 4.451513260, 6.549764618),
    _msfq(32, 7.0, 31, "on_demand", 27.85519748, 10.30818584, 26.10049631),
)
ALWAYS = (
    _msfq(2, 0.8, 0, "always", 1.287607731, 2.252568746, 1.384103833),
    _msfq(2, 0.8, 1, "always", 1.916609055, 2.006799751, 1.925628124),
    _msfq(4, 1.5, 1, "always", 2.090470829, 2.617332940, 2.143157040),
    _msfq(4, 1.5, 3, "always", 2.534570831, 2.520032862, 2.533117034),
    _msfq(32, 5.0, 31, "always", 7.569942844, 4.401422466, 7.253090806),
    _msfq(32, 7.0, 31, "always", 28.00490161, 10.31432618, 26.23584407),
)
OTHERS = (
    Known(one_or_all(4, 2.25, 0.25), qs.MSF(), (3.438109691, 9.486666387), 4.042965361),
    Known(
        one_or_all(4, 1.35, 0.15), qs.AdaptiveQuickswap(), (1.730607049, 2.399947939), 1.797541138
    ),
    Known(
        one_or_all(4, 1.35, 0.15),
        qs.StaticQuickswap(threshold=3, drain="overlap"),
        (1.716490225, 2.413417548),
        1.786182958,
    ),
    Known(
        one_or_all(4, 1.35, 0.15),
        qs.StaticQuickswap(threshold=3, drain="exclusive"),
        (2.534570831, 2.520032862),
        2.533117034,
    ),
    Known(one_or_all(2, 0.5, 0.25), qs.FCFS(), (2.01857009, 2.44238110), 2.15984042),
    Known(one_or_all(32, 2.25, 0.25), qs.FCFS(), (6.29229658, 8.16994031), 6.48006095),
    Known(one_or_all(4, 1.35, 0.15), qs.ServerFilling(), (1.46857991, 1.29189934), 1.45091186),
    Known(
        qs.System(32, [qs.JobClass(need=1, arrival_rate=28.0, size=qs.Exponential(mean=1.0))]),
        qs.FirstFit(),
        (1.0907520144,),
        1.0907520144,
    ),
)
EXACT = (*ON_DEMAND, *ALWAYS, *OTHERS)

FOUR = qs.load("four-class")
GOLDEN = (
    Known(FOUR, qs.FirstFit(), None, 5.059, 11.46, (0.059, 0.0)),
    Known(FOUR, qs.MSF(), None, 5.833, 9.567, (0.061, 0.0)),
    Known(FOUR, qs.AdaptiveQuickswap(), None, 5.634, 5.292, (0.067, 0.0)),
    Known(FOUR, qs.ServerFilling(), None, 2.807, 2.654, (0.073, 0.0)),
    Known(one_or_all(32, 6.3, 0.7), qs.FirstFit(), None, 331.2, None, (12.9, 0.0)),
)
