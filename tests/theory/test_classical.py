"""Classical queues against each other, limits and sums written out."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import pytest

import quickswap as qs
from quickswap.theory import classical
from quickswap.theory.classical import mg1, mg1_exceptional_first, mmk, polling_waiting_work


def erlang_c(servers: int, offered: Fraction) -> Fraction:
    terms = [offered**j / math.factorial(j) for j in range(servers + 1)]
    last = terms[-1] * servers / (servers - offered)
    return last / (sum(terms[:-1]) + last)


def test_mmk_reference_value() -> None:
    assert mmk(32, 28, 1).mean_response_time == pytest.approx(1.0907520144, abs=5e-11)
    assert mmk(4, 3, 1).mean_response_time == pytest.approx(1.5094339623, abs=5e-11)


@pytest.mark.parametrize("servers", [1, 2, 7, 60])
@pytest.mark.parametrize("load", ["0.0001", "0.3", "0.9", "0.9999"])
def test_mmk_is_erlang_c(servers: int, load: str) -> None:
    offered = Fraction(load) * servers
    waits = float(erlang_c(servers, offered))
    queue = mmk(servers, float(offered) / 0.25, 0.25)
    assert queue.waiting_probability == pytest.approx(waits, rel=1e-9)
    waiting = waits * 0.25 / (servers * float(1 - Fraction(load)))
    assert queue.mean_waiting_time == pytest.approx(waiting, rel=1e-9)
    assert queue.mean_response_time == pytest.approx(waiting + 0.25, rel=1e-12)
    assert queue.number_in_system == pytest.approx(
        queue.arrival_rate * queue.mean_response_time, rel=1e-15
    )


def test_mmk_on_a_million_servers() -> None:
    k, beta = 1_000_000, 1.0  # square-root staffing: Halfin, Whitt, Operations Research 29 (1981)
    density = math.exp(-beta * beta / 2) / math.sqrt(2 * math.pi)
    below = (1 + math.erf(beta / math.sqrt(2))) / 2
    expected = 1 / (1 + beta * below / density)
    found = mmk(k, k - beta * math.sqrt(k), 1.0).waiting_probability
    assert found == pytest.approx(expected, rel=2e-3)
    idle = mmk(k, 10.0, 1.0)
    assert idle.waiting_probability == 0
    assert idle.mean_response_time == 1.0
    assert mmk(k, k - 1e-3, 1.0).mean_response_time == pytest.approx(1000, rel=0.01)


def test_mg1_on_exponential_sizes_is_mm1() -> None:
    found, expected = mg1(0.8, qs.Exponential(mean=1.0)), mmk(1, 0.8, 1.0)
    for name in ("waiting_probability", "mean_waiting_time", "mean_response_time"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-13)


def test_mg1_waits_half_as_long_for_constant_sizes() -> None:
    assert mg1(0.5, qs.Deterministic(1.0)).mean_waiting_time == pytest.approx(0.5)
    assert mg1(0.5, qs.Exponential(mean=1.0)).mean_waiting_time == pytest.approx(1.0)


def test_mg1_with_infinite_variance_waits_for_ever() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        size = qs.Pareto(shape=1.5, scale=1.0)
    assert mg1(0.1, size).mean_waiting_time == math.inf
    assert mg1_exceptional_first(0.1, size, size).mean_waiting_time == math.inf


def test_exceptional_first_service_of_the_same_distribution_is_none() -> None:
    size = qs.Gamma(mean=0.7, scv=3.0)
    one, other = mg1(1.1, size), mg1_exceptional_first(1.1, size, size)
    for name in ("waiting_probability", "mean_waiting_time", "mean_response_time"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-13)


def test_exceptional_first_service_is_welch() -> None:
    rate, size, first = 0.6, qs.Exponential(mean=1.0), qs.Erlang(3, mean=4.0)
    found = mg1_exceptional_first(rate, size, first)
    busy = 1 - rate + rate * first.mean
    work = rate * size.second_moment / (2 * (1 - rate))
    work += rate * (first.second_moment - size.second_moment) / (2 * busy)
    assert found.mean_waiting_time == pytest.approx(work, rel=1e-13)
    alone = (1 - rate) / busy
    assert found.waiting_probability == pytest.approx(1 - alone, rel=1e-13)
    mean = (1 - alone) * size.mean + alone * first.mean
    assert found.mean_response_time == pytest.approx(work + mean, rel=1e-13)


def test_exceptional_first_service_delays_like_a_setup() -> None:
    """First sizes with a setup D in front: all responses take E[D + rate D^2 / 2] / E[1 + rate D]
    longer than without."""
    rate, setup = 0.5, 2.0
    size = qs.Deterministic(1.0)
    found = mg1_exceptional_first(rate, size, qs.Deterministic(setup + 1.0))
    plain = mg1(rate, size)
    more = (2 * setup + rate * setup**2) / (2 * (1 + rate * setup))
    assert found.mean_response_time == pytest.approx(plain.mean_response_time + more, rel=1e-12)


def test_polling_of_one_queue_is_a_queue_with_vacations() -> None:
    size, vacation = qs.Uniform(0.0, 2.0), qs.Gamma(mean=0.5, scv=2.0)
    found = polling_waiting_work([0.6], [size], [vacation])
    waiting = mg1(0.6, size).mean_waiting_time + vacation.second_moment / (2 * vacation.mean)
    assert found == pytest.approx(0.6 * waiting, rel=1e-13)


def test_polling_of_equal_queues_without_switchover_is_one_queue() -> None:
    size = qs.Erlang(2, mean=0.5)
    found = polling_waiting_work([0.4, 0.4, 0.4], [size] * 3)
    assert found == pytest.approx(0.6 * mg1(1.2, size).mean_waiting_time, rel=1e-13)
    tiny = polling_waiting_work([0.4, 0.4, 0.4], [size] * 3, [qs.Deterministic(1e-9)] * 3)
    assert tiny == pytest.approx(found, rel=1e-6)


def test_polling_of_equal_queues_with_constant_switchover() -> None:
    """E[W] = (n lambda E[B^2] + s (1 - rho / n)) / (2 (1 - rho)): Takagi, Analysis of Polling."""
    n, rate, switch = 4, 0.15, 0.3
    size = qs.Exponential(mean=1.0)
    load = n * rate
    waiting = (n * rate * 2.0 + n * switch * (1 - load / n)) / (2 * (1 - load))
    found = polling_waiting_work([rate] * n, [size] * n, [qs.Deterministic(switch)] * n)
    assert found == pytest.approx(load * waiting, rel=1e-12)


def test_mistakes_get_one_sentence() -> None:
    size = qs.Exponential(mean=1.0)
    with pytest.raises(qs.ModelError, match="servers of M/M/k"):
        mmk(0, 1.0, 1.0)
    with pytest.raises(
        qs.ModelError, match=r"arrival rate of M/M/k is -1\.0; it must be a positive"
    ):
        mmk(1, -1.0, 1.0)
    with pytest.raises(qs.UnstableError, match="arrival rate below 3"):
        mmk(3, 3.0, 1.0)
    with pytest.raises(qs.UnstableError, match="M/G/1 has no mean"):
        mg1(1.0, size)
    with pytest.raises(qs.UnstableError, match="exceptional first service"):
        mg1_exceptional_first(1.5, size, size)
    with pytest.raises(qs.UnstableError, match="polling has no mean"):
        polling_waiting_work([0.5, 0.5], [size, size])
    with pytest.raises(qs.ModelError, match="1 distributions and 2 rates"):
        polling_waiting_work([0.5, 0.5], [size])
    with pytest.raises(qs.ModelError, match="at least one of both"):
        polling_waiting_work([], [])
    assert classical.Queue(2.0, 0.0, 0.0, 1.5).number_in_system == 3.0
