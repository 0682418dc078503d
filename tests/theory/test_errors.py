"""Errors of theory contain what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import quickswap as qs
from quickswap import theory
from quickswap.theory import chain, classical, fcfs, msfq, server_filling, static_quickswap

ONE = qs.load("one-or-all:k=8")
FOUR = qs.load("four-class")
GENERAL = qs.System(
    8,
    [
        qs.JobClass(need=1, arrival_rate=1.0, size=qs.Deterministic(1.0)),
        qs.JobClass(need=8, arrival_rate=0.1, size=qs.Exponential(mean=1.0)),
    ],
)
SIZE = qs.Exponential(mean=1.0)


@pytest.mark.parametrize(
    ("call", "argument", "given"),
    [
        (lambda: msfq.exact(FOUR), "system.needs", FOUR.needs),
        (lambda: msfq.exact(GENERAL), "system.size", qs.Deterministic(1.0)),
        (lambda: msfq.exact(ONE.with_load(1.5)), "arrival_rate", ONE.with_load(1.5).arrival_rate),
        (lambda: msfq.exact(ONE.with_load(0.9999999)), "system.load", None),
        (lambda: msfq.exact("one-or-all:k=5000"), "system.servers", 5000),
        (lambda: msfq.approximate(ONE, 7, "other"), "form", "other"),
        (lambda: msfq.approximate(ONE.with_load(0.1), 7), "arrival_rate", None),
        (lambda: msfq.exact(ONE).heavy_response_time.sf(-1), "time", -1),
        (lambda: msfq.exact(ONE).heavy_response_time.percentile(100), "percent", 100),
        (lambda: theory.best_threshold(ONE, "median"), "metric", "median"),
        (lambda: static_quickswap.approximate(FOUR.with_load(1.2)), "arrival_rate", None),
        (lambda: static_quickswap.approximate(FOUR.with_load(0.1)), "arrival_rate", None),
        (lambda: fcfs.exact(ONE.with_load(0.99)), "arrival_rate", ONE.with_load(0.99).arrival_rate),
        (lambda: fcfs.exact("one-or-all:k=2000,load=0.1"), "system.servers", 2000),
        (lambda: fcfs.limit("borg-b"), "system.needs", qs.load("borg-b").needs),
        (lambda: server_filling.large_load("borg-b"), "system.needs", qs.load("borg-b").needs),
        (lambda: classical.polling_waiting_work([0.5], []), "sizes", []),
        (lambda: classical.polling_waiting_work(3, [SIZE]), "arrival_rates", 3),  # type: ignore[arg-type]  # the mistake under test
        (lambda: chain.exact(ONE, "msf", tolerance=2), "tolerance", 2.0),
        (lambda: chain.exact(ONE, "easy"), "policy", qs.parse("easy")),
    ],
)
def test_errors_have_fields(call: Callable[[], object], argument: str, given: object) -> None:
    with pytest.raises(qs.QuickswapError) as caught:
        call()
    error = caught.value
    assert error.argument == argument
    assert error.allowed
    if given is None:
        assert error.given is not None
    else:
        assert error.given == given
