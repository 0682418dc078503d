"""The truncated chain against known values, itself at other truncations, and simulations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quickswap as qs
from hypothesis_settings import FEW
from quickswap.policies import Policy
from quickswap.theory import chain
from quickswap.theory.chain.graph import Graph, explore
from quickswap.theory.chain.stationary import ChainSolver
from quickswap.theory.chain.truncation import region, solve
from quickswap.theory.means import Means
from verification.known import EXACT, Known, one_or_all
from verification.systems import mixed

SMALL = [
    known
    for known in EXACT
    if not isinstance(known.policy, qs.ServerFilling)
    and (known.system.servers <= 4 or isinstance(known.policy, qs.FCFS | qs.FirstFit))
]
UNEVEN = mixed(3, [(1, 0.7, 0.5), (3, 0.3, 1.5)], 0.4)
TRIPLE = mixed(4, [(1, 0.5, 1.0), (2, 0.3, 0.5), (4, 0.2, 1.0)], 0.4)


def times(means: Means) -> list[float]:
    return [each.mean_response_time for each in means.classes]


def cut_off(system: qs.System, policy: Policy, most: int, every_order: bool = False) -> Graph:
    """The chain with at most that many jobs of all classes together."""
    row = [1 / most] * (len(system.classes) + 1)
    graph = explore(system, policy, [row], 10**6, every_order)
    assert graph is not None
    return graph


def numbers(graph: Graph) -> Any:
    """Mean number present of each class."""
    return ChainSolver(graph.rates).stationary(np.ones(graph.states)) @ graph.present


class TestValues:
    @pytest.mark.parametrize("known", SMALL, ids=lambda known: known.label)
    def test_known_values(self, known: Known) -> None:
        """They are rounded to the last digit given, 9 of them or 8 behind the point."""
        result = chain.exact(known.system, known.policy)
        assert known.classes is not None
        assert times(result) == pytest.approx(known.classes, rel=5e-9)
        assert result.mean_response_time == pytest.approx(known.mean, rel=5e-9)
        assert result.error <= 1e-9 * result.mean_response_time

    @pytest.mark.parametrize("policy", ["fcfs", "first-fit", "msf", "lsf", "adaptive-quickswap"])
    def test_one_class_is_erlang_c(self, policy: str) -> None:
        """k = 3, offered load a = 2: E[T] = 1 + C / (k - a)."""
        system = qs.System(3, [qs.JobClass(1, 2.0, qs.Exponential(mean=1.0))])
        top = 2**3 / math.factorial(3) * 3 / (3 - 2)
        delay = top / (sum(2**n / math.factorial(n) for n in range(3)) + top)
        result = chain.exact(system, policy)
        assert result.mean_response_time == pytest.approx(1 + delay, rel=1e-9)
        assert result.number_distribution(0)[0] == pytest.approx(1 / 9, rel=1e-9)

    @pytest.mark.parametrize("policy", ["fcfs", "smash:window=2", "msf", "first-fit"])
    def test_two_classes_alike_are_one(self, policy: str) -> None:
        """Equal needs and sizes: M/M/2 with load .15, whose classes wait equally long."""
        half = [qs.JobClass(1, rate, qs.Exponential(mean=1.0)) for rate in (0.1, 0.2)]
        result = chain.exact(qs.System(2, half), policy, tolerance=1e-2)
        assert times(result) == pytest.approx([1 / (1 - 0.15**2)] * 2, rel=1e-2)

    def test_lsf_prefers_lights(self) -> None:
        """And all servers that the load asks for are busy."""
        rows = [qs.JobClass(need, 0.3, qs.Exponential(mean=1.0)) for need in (1, 2)]
        result = chain.exact(qs.System(2, rows), "lsf")
        light, heavy = times(result)
        assert light < heavy
        assert result.busy_servers == pytest.approx(0.9, rel=1e-9)

    def test_nonpreemptive_priority(self) -> None:
        """Needs 3 and 2 of 3 exclude each other: Cobham's formula for one server."""
        system = mixed(3, [(2, 0.5, 1.0), (3, 0.5, 0.5)], 0.6)
        (l1, s1), (l2, s2) = [(each.arrival_rate, each.size.mean) for each in system.classes]
        rest = l1 * s1**2 + l2 * s2**2
        both = 1 - l1 * s1 - l2 * s2
        lsf = chain.exact(system, "lsf", tolerance=1e-10)
        assert times(lsf) == pytest.approx(
            [rest / (1 - l1 * s1) + s1, rest / (1 - l1 * s1) / both + s2], rel=1e-9
        )
        msf = chain.exact(system, "msf", tolerance=1e-10)
        assert times(msf) == pytest.approx(
            [rest / (1 - l2 * s2) / both + s1, rest / (1 - l2 * s2) + s2], rel=1e-9
        )


class TestEquivalences:
    """Different code of different policies makes the same chain, to the accuracy of the solver."""

    PAIRS: tuple[tuple[Policy, Policy], ...] = (
        (qs.MSFQ(0), qs.MSF()),
        (qs.MSFQ(0, drain="always"), qs.MSF()),
        (qs.MSFQ(3), qs.AdaptiveQuickswap()),
        (qs.StaticQuickswap(1), qs.MSFQ(1)),
        (qs.StaticQuickswap(1, drain="exclusive"), qs.MSFQ(1, drain="always")),
        (qs.Smash(1), qs.FCFS()),
        (qs.Smash(None), qs.MSF()),
    )

    @pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda policy: policy.label)
    def test_same_chain(self, one: Policy, other: Policy) -> None:
        first, second = (numbers(cut_off(UNEVEN, policy, 25)) for policy in (one, other))
        assert first == pytest.approx(second, rel=1e-11)

    @pytest.mark.parametrize(
        ("system", "policy"),
        [
            (UNEVEN, qs.FCFS()),
            (UNEVEN, qs.Smash(3)),
            (TRIPLE, qs.FCFS()),
            (mixed(2, [(1, 0.6, 1.0), (1, 0.4, 3.0)], 0.5), qs.FCFS()),
            (UNEVEN, qs.FirstFit()),
            (mixed(5, [(4, 0.4, 1.0), (2, 0.6, 0.5)], 0.6), qs.FirstFit()),
            (mixed(3, [(1, 0.4, 1.0), (1, 0.3, 0.3), (3, 0.3, 1.0)], 0.6), qs.MSF()),
        ],
        ids=lambda value: getattr(value, "label", ""),
    )
    def test_what_is_forgotten_does_not_matter(self, system: qs.System, policy: Policy) -> None:
        """All orders of arrival as states of their own give the same, with far more states."""
        most = 10 if len(system.classes) == 2 else 7
        short, long = (cut_off(system, policy, most, every) for every in (False, True))
        assert short.states < long.states
        assert numbers(short) == pytest.approx(numbers(long), rel=1e-12)

    def test_the_order_of_the_classes_is_that_of_the_system(self) -> None:
        turned = qs.System(3, UNEVEN.classes[::-1])
        for policy in ("msfq:threshold=1,drain=always", "fcfs", "first-fit"):
            result = chain.exact(UNEVEN, policy)
            assert times(chain.exact(turned, policy))[::-1] == pytest.approx(
                times(result), rel=2e-9
            )


class TestError:
    @FEW
    @given(
        k=st.integers(2, 4),
        policy=st.sampled_from(["msf", "lsf", "adaptive-quickswap", "first-fit", "fcfs"]),
        share=st.floats(0.2, 0.8),
        size=st.floats(0.3, 3.0),
        load=st.floats(0.1, 0.4),
    )
    def test_the_error_is_not_understated(
        self, k: int, policy: str, share: float, size: float, load: float
    ) -> None:
        """Against a solution that goes much further."""
        system = mixed(k, [(1, share, size), (k, 1 - share, 1.0)], load)
        if policy == "fcfs":
            system = system.with_rate(load * qs.stability(system, qs.FCFS()).necessary_limit)
        rough = chain.exact(system, policy, tolerance=1e-4)
        fine = chain.exact(system, policy, tolerance=1e-8)
        gaps = np.abs(np.array(times(rough)) - times(fine))
        assert np.all(gaps <= np.array(rough.errors) + np.array(fine.errors))
        assert rough.error <= 1e-4 * rough.mean_response_time

    def test_an_early_border_is_seen(self) -> None:
        limits = np.array([8.0, 6.0])
        graph = explore(UNEVEN, qs.MSF(), region(limits, UNEVEN), 10**6)
        assert graph is not None
        level = solve(UNEVEN, graph, limits)
        gaps = np.abs(level.response_times - times(chain.exact(UNEVEN, "msf")))
        assert np.all(gaps > 1e-3)
        assert np.all((gaps < level.errors) & (level.errors < 100 * gaps))

    def test_too_few_states_are_reported_with_the_error_reached(self) -> None:
        with pytest.raises(qs.QuickswapError, match=r"relative error of .* raise max_states") as e:
            chain.exact(UNEVEN, "msf", max_states=500)
        reached = float(str(e.value).split("error of ")[1].split()[0])
        assert 1e-9 < reached < 1e-2
        chain.exact(UNEVEN, "msf", max_states=500, tolerance=reached * 1.1)
        with pytest.raises(qs.QuickswapError, match="more than 5 states"):
            chain.exact(UNEVEN, "msf", max_states=5)


class TestResult:
    def test_distributions_of_the_number(self) -> None:
        for policy in ("adaptive-quickswap", "fcfs", "smash:window=2", "first-fit"):
            result = chain.exact(UNEVEN, policy)
            assert result.busy_servers == pytest.approx(3 * UNEVEN.load, rel=1e-8)
            for place, each in enumerate(result.classes):
                distribution = result.number_distribution(place)
                assert distribution.sum() == pytest.approx(1.0, rel=1e-12)
                assert distribution @ np.arange(len(distribution)) == pytest.approx(
                    each.number_in_system, rel=1e-9
                )
                assert np.array_equal(distribution, result.number_distribution(each.name))

    def test_numbers_are_plain(self) -> None:
        result = chain.exact(UNEVEN, "msf")
        assert isinstance(result, Means)
        assert type(result.mean_response_time) is float
        assert type(result.error) is float
        assert result.policy == qs.MSF()
        assert len(result.truncation) == 2
        assert result.states < 20_000
        with pytest.raises(qs.QuickswapError, match="unknown class"):
            result.number_distribution(2)

    @pytest.mark.parametrize(
        "policy",
        [
            qs.StaticQuickswap(),
            qs.StaticQuickswap(drain="exclusive", order=(0, 2, 1)),
            qs.AdaptiveQuickswap(),
            qs.Smash(2),
        ],
        ids=lambda policy: policy.label,
    )
    def test_three_classes_agree_with_a_simulation(self, policy: Policy) -> None:
        """Within 2.5 times the half-width of a 95 % interval: a chance of 1e-6 each."""
        exact = chain.exact(TRIPLE, policy, tolerance=1e-3)  # half-widths are above 1e-2
        run = qs.simulate(TRIPLE, policy, jobs=400_000, replications=2, threads=1, seed=8)
        for each, seen in zip(exact.classes, run.classes, strict=True):
            interval = seen.mean_response_time
            assert abs(interval.value - each.mean_response_time) < 2.5 * interval.half_width


class Largest:
    """MSF, written in Python."""

    def start(self, view: qs.View) -> int | None:
        fits = [i for i, n in enumerate(view.waiting) if n and view.needs[i] <= view.free]
        return max(fits, key=lambda i: view.needs[i], default=None)


class TestOwnPolicies:
    def test_one_that_looks_at_numbers_only(self) -> None:
        class Mine(Largest):
            remembers_order = False

        own = chain.exact(UNEVEN, Mine(), tolerance=1e-3)
        assert times(own) == pytest.approx(times(chain.exact(UNEVEN, "msf")), rel=1e-3)

    def test_the_order_is_kept_unless_it_says_otherwise(self) -> None:
        short, long = (
            explore(UNEVEN, policy, [[0.2, 0.2, 0.2]], 10**6) for policy in (qs.MSF(), Largest())
        )
        assert short is not None
        assert long is not None
        assert short.states < long.states
        assert numbers(short) == pytest.approx(numbers(long), rel=1e-12)

    def test_one_with_a_state_of_its_own(self) -> None:
        class Forgetful(Largest):
            remembers_order = False

            def __init__(self) -> None:
                self.turn = 0

            def start(self, view: qs.View) -> int | None:
                self.turn += 1
                return super().start(view)

        class Remembering(Forgetful):
            def start(self, view: qs.View) -> int | None:
                self.turn = 1 - self.turn
                return Largest.start(self, view)

            def save(self) -> list[int]:
                return [self.turn]

            def restore(self, state: list[int]) -> None:
                (self.turn,) = state

        with pytest.raises(qs.PolicyError, match=r"Forgetful .* save\(\)"):
            chain.exact(UNEVEN, Forgetful(), tolerance=1e-3)
        own = chain.exact(UNEVEN, Remembering(), tolerance=1e-2)
        assert times(own) == pytest.approx(times(chain.exact(UNEVEN, "msf")), rel=1e-2)

    def test_refusals(self) -> None:
        class Sees(Largest):
            sees_jobs = True

        class Wakes(Largest):
            def wake_at(self, view: qs.View) -> float | None:
                return None

        class Wrong(Largest):
            def start(self, view: qs.View) -> int | None:
                return 0

        class Idle(Largest):
            remembers_order = False

            def start(self, view: qs.View) -> int | None:
                return None

        for policy, words in (
            (Sees(), "uses individual jobs"),
            (Wakes(), "timers"),
            (Wrong(), "policy Wrong answered 0"),
        ):
            with pytest.raises(qs.PolicyError, match=words):
                chain.exact(UNEVEN, policy)
        with pytest.raises(qs.PolicyError, match="closed sets of states"):
            chain.exact(UNEVEN, Idle())


class TestRefusals:
    def test_one_sentence_each(self) -> None:
        fixed = qs.System(2, [qs.JobClass(1, 1.0, qs.Deterministic(1.0))])
        cases: list[tuple[qs.System, Policy | str, type[Exception], str]] = [
            (fixed, "msf", qs.ModelError, "chain.exact requires Poisson arrivals"),
            (UNEVEN.with_load(1.0), "msf", qs.UnstableError, "load must be below 1"),
            (one_or_all(2, 1.05, 0.35), "fcfs", qs.UnstableError, "stable only below"),
            (UNEVEN, "server-filling", qs.PolicyError, "ServerFilling: it is preemptive"),
            (UNEVEN, "nmsr", qs.PolicyError, "nMSR: it draws random numbers"),
            (UNEVEN, "balanced-splitting", qs.PolicyError, "Splitting: it uses individual jobs"),
            (TRIPLE, "msfq", qs.PolicyError, "MSFQ serves systems of two classes"),
        ]
        for system, policy, kind, words in cases:
            with pytest.raises(kind, match=words):
                chain.exact(system, policy)
        for bad in ({"tolerance": 0.0}, {"max_states": 0}):
            with pytest.raises(qs.QuickswapError):
                chain.exact(UNEVEN, "msf", **bad)
