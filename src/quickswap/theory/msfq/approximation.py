"""The approximation of the paper's section "Analysis of the MSFQ Policy", in closed form.

It describes `drain="always"` and assumes that at least k light jobs are present when phase 2
begins. The transforms of the paper are differentiated by hand: only means and variances are needed.
Lemmas are cited by their labels; "the paper" is Chen, Anggraito, Olliaro, Marin, Ajmone Marsan,
Berg, Grosof, "Improving Nonpreemptive Multiserver Job Scheduling with Quickswap". Both forms
correct three misprints: the factors C_j of lemma thm:absorption decrease geometrically beyond k;
light busy periods are those of jobs of size S_1 / k; phase 3 has no jobs if l = k - 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from quickswap._check import whole
from quickswap.errors import ModelError, PolicyError, unknown
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.theory.conditions import OneOrAll, check_load, one_or_all
from quickswap.theory.means import Means
from quickswap.theory.moments import Moments
from quickswap.theory.visits import Visit, check_finite, holds_from

__all__ = ["FORMS", "Approximation", "approximate"]

FORMS = ("corrected", "printed")
WHAT = "the approximation of MSFQ"


@dataclass(frozen=True, kw_only=True)
class Approximation(Means):
    """Approximate means of MSFQ, with the quantities of the paper under its names.

    Times in seconds; phases are 1: heavy jobs, 2: k or more light jobs, 3: fewer, 4: the drain.

    Attributes:
        threshold: l.
        form: "corrected" or "printed".
        h: moments of H_1 to H_4, the durations of the phases.
        n_light: moments of N_1^L to N_4^L, the light jobs at the start of each phase.
        n_heavy: moments of N_1^H to N_4^H, the heavy jobs at the start of each phase.
        x: moments of X = H_2 + H_3 + H_4.
        y: moments of Y = H_4 + H_1, the drain and the phase 1 after it.
        m: shares m_1 to m_4 of time in each phase.
        cycle: mean length C of a cycle.
        t1_heavy: E[T_1^H], mean response time of heavy jobs that arrive in phase 1.
        t234_heavy: E[T_{2,3,4}^H], of those that arrive in other phases.
        t14_light: E[T_{1,4}^L], of light jobs that arrive in phases 1 and 4.
        t2_light: E[T_2^L], in phase 2.
        t3_light: E[T_3^L], in phase 3; nan if l = k - 1, when it has no length.
    """

    threshold: int
    form: str
    h: tuple[Moments, ...]
    n_light: tuple[Moments, ...]
    n_heavy: tuple[Moments, ...]
    x: Moments
    y: Moments
    m: tuple[float, ...]
    cycle: float
    t1_heavy: float
    t234_heavy: float
    t14_light: float
    t2_light: float
    t3_light: float


def approximate(
    system: System | str | Path, threshold: int, form: str = "corrected"
) -> Approximation:
    """Approximate the mean response times of MSFQ with `drain="always"` on a one-or-all system.

    Args:
        system: Poisson arrivals, exponential sizes, needs 1 and k, in any order.
        threshold: l, from 0 to k - 1.
        form: "printed" uses lemma thm:excess for light jobs as printed: a light job with m others
            ahead of it waits for all m. In "corrected" the first k of them start immediately.

    Raises:
        ModelError: another system, an unknown form, or a mean of less than k - 1 light jobs when
            phase 2 begins: the message gives the arrival rate from which the approximation holds.
        PolicyError: a threshold out of range.
        UnstableError: a load of 1 or more.
    """
    if form not in FORMS:
        unknown("form", form, FORMS, argument="form")
    system = as_system(system)
    model = one_or_all(system, WHAT)
    threshold = whole(threshold, "threshold", 0, model.k - 1, PolicyError)
    check_load(model.load, system.arrival_rate, WHAT)
    phases = _phases(model, threshold)
    if not phases.light.beyond(phases.away) > 0:
        raise _too_low(model, threshold, system.arrival_rate, phases)
    return _result(system, model, threshold, form, phases)


class _Phases(NamedTuple):
    """The two visits of a cycle, its mean length C, and E[Y] = E[H_4] + E[H_1]."""

    light: Visit
    heavy: Visit
    cycle: float
    away: float


def _phases(model: OneOrAll, threshold: int) -> _Phases:
    """Return the visits and the mean cycle.

    A cycle is H_1 and a visit to the light jobs. Heavies are served for a share rho_H of the time
    (lemma lem:fraction), so E[H_1] = rho_H C. By `Visit.lost`, the visit takes rho_L C + W(l) on
    average, hence C = W(l) / (1 - rho), with
    W(l) = E[H_4] + (1 - rho_L) E[H_3] - (k - 1) / (k mu_1). The paper's means of lemmas
    lemma:cycle-length and lem:ztrans give the same.
    """
    light = Visit(model.k, model.l1, model.m1, threshold)
    heavy = Visit(1, model.lk, model.mk, 0)
    cycle = light.lost / (1 - model.light_load - model.heavy_load)
    return _Phases(light, heavy, cycle, light.drain.mean + model.heavy_load * cycle)


def _too_low(model: OneOrAll, threshold: int, rate: float, phases: _Phases) -> ModelError:
    """Return the error about too few light jobs."""
    limit = rate / model.load

    def beyond(other_rate: float) -> float:
        scale = other_rate / rate
        other = _phases(replace(model, l1=model.l1 * scale, lk=model.lk * scale), threshold)
        return other.light.beyond(other.away)

    return ModelError(
        f"{WHAT} requires at least k - 1 = {model.k - 1} light jobs on average when phase 2 "
        f"begins, not {max(phases.light.waiting(phases.away), 0.0):.6g} as at an arrival rate of "
        f"{rate:.6g}: {(holds := holds_from(beyond, rate, limit))}; use "
        "quickswap.theory.msfq.exact, which covers every rate.",
        argument="arrival_rate",
        given=rate,
        allowed=holds,
    )


def _result(
    system: System, model: OneOrAll, threshold: int, form: str, phases: _Phases
) -> Approximation:
    light, heavy, cycle, away = phases
    h3, h4 = light.thin, light.drain
    h2 = _phase_2(model, phases)
    x = h2 + h3 + h4
    n1 = x.arrivals(model.lk)  # lemma lem:ztrans
    h1 = n1.copies(heavy.busy)  # lemma lemma:cycle-length
    # Y = H_4 + H_1 (H_{4,1} in the proof of lemma lem:ztrans). H_1 given X is lk b_H X on average,
    # and X contains the same H_4, independent of the rest: Cov(H_4, H_1) = R_H Var H_4, with
    # R_H = lk b_H.
    reply = model.lk * heavy.busy.mean
    y = Moments(away, h4.variance + h1.variance + 2 * reply * h4.variance)
    lights = light.times(cycle, away, y.variance / away, away / cycle)
    heavies = heavy.times(cycle, x.mean, x.variance / x.mean, x.mean / cycle)
    mean, first = lights.mean, lights.away
    if form == "printed":  # lemma thm:excess: excess, and rho_L times the age, of Y
        first = (1 + model.light_load) * y.second / (2 * y.mean) + 1 / model.m1
        mean += away / cycle * (first - lights.away)
    times = model.ordered(mean, heavies.mean)
    check_finite(f"threshold {threshold} at load {model.load:.6g}", [*times, x.second, y.second])
    exact = Moments(0.0), Moments(float(model.k - 1)), Moments(float(threshold))
    return Approximation.of(
        system,
        times,
        threshold=threshold,
        form=form,
        h=(h1, h2, h3, h4),
        n_light=(h4.arrivals(model.l1), y.arrivals(model.l1), *exact[1:]),
        n_heavy=(n1, exact[0], h2.arrivals(model.lk), (h2 + h3).arrivals(model.lk)),
        x=x,
        y=y,
        m=tuple(each.mean / cycle for each in (h1, h2, h3, h4)),
        cycle=cycle,
        t1_heavy=heavies.full,
        t234_heavy=heavies.away,
        t14_light=first,
        t2_light=lights.full,
        t3_light=lights.thin,
    )


def _phase_2(model: OneOrAll, phases: _Phases) -> Moments:
    """Return H_2, whose variance solves a linear equation.

    H_2 is a sum of M = N_2^L - k + 1 light busy periods (lemma lemma:cycle-length), where N_2^L is
    Poisson(l1 Y), Y = H_4 + H_1; and H_1 is a sum of N_1^H heavy busy periods, Poisson(lk X),
    X = H_2 + H_3 + H_4 (lemma lem:ztrans). The variances of these random sums are

        Var H_2 = E[M] v_L + b_L^2 (l1 E[Y] + l1^2 Var Y),
        Var Y = v4 (1 + 2 R_H) + Var H_1,   Var H_1 = lk E[X] E[B_H^2] + R_H^2 Var X,
        Var X = Var H_2 + v3 + v4,

    since a compound Poisson sum over X given X has variance lk X E[B_H^2]. With E[X] =
    (1 - rho_H) C and stationarity, so Var H_2 is the same on both sides,

        Var H_2 = (E[M] v_L + b_L^2 (l1 E[Y] + l1^2 given)) / (1 - (R_H R_L)^2),

    where `given` is Var Y without the term R_H^2 Var H_2.
    """
    light, heavy, cycle, away = phases
    l1, h4 = model.l1, light.drain
    reply, echo = model.lk * heavy.busy.mean, l1 * light.busy.mean  # R_H and R_L
    beyond = light.beyond(away)
    given = h4.variance * (1 + 2 * reply)
    given += model.lk * (1 - model.heavy_load) * cycle * heavy.busy.second
    given += reply * reply * (light.thin.variance + h4.variance)
    count = l1 * away + l1 * l1 * given
    fresh = beyond * light.busy.variance + light.busy.mean * light.busy.mean * count
    rest = 1 - model.light_load - model.heavy_load
    # R = rho / (1 - rho) for each class, so 1 - R_H R_L is this quotient, without cancellation.
    gap = rest / ((1 - model.light_load) * (1 - model.heavy_load))
    return Moments(light.busy.mean * beyond, fresh / (gap * (1 + reply * echo)))
