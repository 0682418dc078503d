"""Descriptions of policies: the canonical form, the spelling, and what is rejected."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quickswap as qs
from quickswap.engine._core import POLICIES as NAMES_IN_CORE
from quickswap.errors import PolicyError
from quickswap.policies import POLICIES, Policy, parse, spell
from quickswap.simulation.simulate import _Session

UNIT = qs.Exponential(mean=1.0)
ONE_OR_ALL = qs.load("one-or-all")
FOUR = qs.load("four-class")
UNEVEN = qs.System(10, [qs.JobClass(need, 1, UNIT) for need in (3, 4, 10, 1)])

CANONICAL: list[tuple[str, Policy, qs.System, dict[str, object]]] = [
    ("fcfs", qs.FCFS(), FOUR, {}),
    ("first-fit", qs.FirstFit(), FOUR, {}),
    ("msf", qs.MSF(), FOUR, {}),
    ("lsf", qs.LSF(), FOUR, {}),
    ("easy", qs.EASY(), FOUR, {}),
    (
        "easy:patience=3,order=shortest",
        qs.EASY(patience=3, order="shortest"),
        FOUR,
        {
            "patience": {
                "order": "shortest",
                "reservation": "oldest",
                "least": 10_800.0,
                "factor": 3.0,
            }
        },
    ),
    (
        "easy:patience=inf",
        qs.EASY(patience=math.inf),
        FOUR,
        {"patience": {"order": "oldest", "reservation": "oldest", "least": None, "factor": 0.0}},
    ),
    (
        "easy:patience=0.5,least=60",
        qs.EASY(patience=0.5, least=60),
        FOUR,
        {"patience": {"order": "oldest", "reservation": "oldest", "least": 30.0, "factor": 0.5}},
    ),
    (
        "easy:age=43200,order=area",
        qs.EASY(age=43_200, order="area"),
        FOUR,
        {"patience": {"order": "area", "reservation": "oldest", "least": 43_200.0, "factor": 0.0}},
    ),
    (
        "easy:order=largest",
        qs.EASY(order="largest"),
        FOUR,
        {"patience": {"order": "largest", "reservation": "oldest", "least": 0.0, "factor": 0.0}},
    ),
    (
        "easy:order=wfp3,reservation=first",
        qs.EASY(order="wfp3", reservation="first"),
        FOUR,
        {"patience": {"order": "wfp3", "reservation": "first", "least": 0.0, "factor": 0.0}},
    ),
    ("easy:age=0", qs.EASY(age=0), FOUR, {}),
    ("conservative", qs.Conservative(), FOUR, {}),
    (
        "slurm:bf_interval=60.0,priority_weight_age=7,partitions=debug:10+batch:1",
        qs.Slurm(bf_interval=60, priority_weight_age=7, partitions=["debug:10", "batch:1"]),  # type: ignore[arg-type]  # any sequence
        FOUR,
        {
            "default_queue_depth": 100,
            "bf_interval": 60.0,
            "bf_window": 86400.0,
            "bf_resolution": 60.0,
            "bf_max_job_test": 500,
            "bf_max_job_user": 0,
            "bf_job_part_count_reserve": 0,
            "bf_min_age_reserve": 0.0,
            "bf_min_prio_reserve": 0,
            "priority_weight_age": 7,
            "priority_weight_fairshare": 0,
            "priority_weight_job_size": 0,
            "priority_max_age": 604800.0,
            "priority_decay_half_life": 604800.0,
            "priority_calc_period": 300.0,
            "priority_favor_small": False,
        },
    ),
    ("adaptive-quickswap", qs.AdaptiveQuickswap(), FOUR, {}),
    ("server-filling", qs.ServerFilling(), FOUR, {"order": "arrival"}),
    ("server-filling:order=srpt", qs.ServerFilling("srpt"), FOUR, {"order": "srpt"}),
    ("divisor-filling", qs.DivisorFilling(), FOUR, {}),
    (
        "divisor-filling:minimum=600",
        qs.DivisorFilling(minimum=600),
        FOUR,
        {"interruptions": {"overhead": 0.0, "minimum": 600.0, "restart": False}},
    ),
    ("max-weight", qs.MaxWeight(), UNEVEN, {}),
    (
        "max-weight:overhead=30,restart=true",
        qs.MaxWeight(overhead=30, restart=True),
        UNEVEN,
        {"interruptions": {"overhead": 30.0, "minimum": 0.0, "restart": True}},
    ),
    (
        "nmsr:cycle=8.5",
        qs.NMSR(cycle=8.5),
        ONE_OR_ALL.with_load(0.5),
        {
            "schedules": [[0, 1], [32, 0]],
            "times": [pytest.approx(8.5 * 32 / 41), pytest.approx(8.5 * 9 / 41)],
            "backfill": False,
        },
    ),
    (
        "nmsr:cycle=2.0,backfill=true",
        qs.NMSR(2, backfill=True),
        qs.System(5, [qs.JobClass(2, 1, UNIT)]),
        {"schedules": [[2]], "times": [2.0], "backfill": True},
    ),
    (
        "randomized-timers",
        qs.RandomizedTimers(),
        ONE_OR_ALL,
        {"rate": pytest.approx(1.0), "means": [1.0, 1.0]},
    ),
    (
        "randomized-timers:rate=0.5",
        qs.RandomizedTimers(0.5),
        UNEVEN,
        {"rate": 0.5, "means": [1.0] * 4},
    ),
    ("balanced-splitting", qs.BalancedSplitting(), UNEVEN, {"slots": [0, 0, 0, 0]}),
    (
        "balanced-splitting:reserved=0.8",
        qs.BalancedSplitting(0.8),
        qs.System(10, [qs.JobClass(need, 1, UNIT) for need in (3, 4, 1)]),
        {"slots": [1, 1, 1]},
    ),
    ("smash:window=4", qs.Smash(window=4), FOUR, {"window": 4}),
    ("smash:window=inf", qs.Smash(window=None), FOUR, {"window": None}),
    ("msfq", qs.MSFQ(), ONE_OR_ALL, {"threshold": 31, "drain": "on_demand"}),
    (
        "msfq:threshold=32",
        qs.MSFQ(threshold=32),
        ONE_OR_ALL,
        {"threshold": 32, "drain": "on_demand"},
    ),
    (
        "msfq:threshold=0,drain=always",
        qs.MSFQ(threshold=0, drain="always"),
        ONE_OR_ALL,
        {"threshold": 0, "drain": "always"},
    ),
    (
        "static-quickswap",
        qs.StaticQuickswap(),
        UNEVEN,
        {"drain": "overlap", "order": [2, 1, 0, 3], "thresholds": [2, 1, 0, 9]},
    ),
    (
        "static-quickswap:threshold=3,drain=exclusive",
        qs.StaticQuickswap(threshold=3, drain="exclusive"),
        UNEVEN,
        {"drain": "exclusive", "order": [2, 1, 0, 3], "thresholds": [1, 0, 0, 3]},
    ),
    (
        "static-quickswap:thresholds=0+1+0+2,order=3+2+1+0",
        qs.StaticQuickswap(thresholds=[0, 1, 0, 2], order=[3, 2, 1, 0]),
        UNEVEN,
        {"drain": "overlap", "order": [3, 2, 1, 0], "thresholds": [0, 1, 0, 2]},
    ),
    (
        "adaptive-quickswap:backfill=0.5",
        qs.AdaptiveQuickswap(backfill=0.5),
        qs.System(2, [qs.JobClass(1, 1, UNIT), qs.JobClass(2, 1, qs.Pareto(4.0, 1.0))]),
        {
            "backfilling": {
                "by": "ages",
                "horizons": pytest.approx([math.log(2), 2 ** (1 / 4)]),
                "residuals": pytest.approx([1.0, 0.75]),
                "sizes": [None, pytest.approx([math.exp(i / 16) for i in range(129)])],
                "step": 0.25,
            }
        },
    ),
    (
        "msfq:drain=always,backfill=0.25",
        qs.MSFQ(drain="always", backfill=0.25),
        qs.System(2, [qs.JobClass(1, 1, UNIT), qs.JobClass(2, 1, qs.Deterministic(3))]),
        {
            "threshold": 1,
            "drain": "always",
            "backfilling": {
                "by": "ages",
                "horizons": pytest.approx([math.log(4), 3]),
                "residuals": [1.0, 1.5],
                "sizes": [None, [3.0] * 129],
                "step": 0.25,
            },
        },
    ),
    (
        "static-quickswap:backfill=0.03",
        qs.StaticQuickswap(backfill=0.03),
        qs.System(2, [qs.JobClass(1, 1, qs.Exponential(mean=1.5))]),
        {
            "drain": "overlap",
            "order": [0],
            "thresholds": [1],
            "backfilling": {
                "by": "distributions",
                "horizons": [pytest.approx(1.5 * math.log(1 / 0.03))],
                "residuals": [1.5],
            },
        },
    ),
    (
        "static-quickswap:order=heavy+light",
        qs.StaticQuickswap(order=("heavy", "light")),
        ONE_OR_ALL,
        {"drain": "overlap", "order": [1, 0], "thresholds": [31, 0]},
    ),
]


@pytest.mark.parametrize(("text", "policy", "system", "rest"), CANONICAL)
def test_spelling_and_canonical_form(
    text: str, policy: Policy, system: qs.System, rest: dict[str, object]
) -> None:
    assert parse(text) == policy
    assert parse(spell(policy)) == policy
    assert policy.resolve(system) == {"name": text.partition(":")[0], **rest}
    names = {name: getattr(qs, name) for name in qs.__all__}
    assert eval(repr(policy), {**names, "inf": math.inf}) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert hash(policy) == hash(parse(text))
    assert dataclasses.replace(policy) == policy  # type: ignore[type-var]  # all are dataclasses


def test_every_policy_is_covered_documented_and_named_once() -> None:
    assert {type(policy) for _, policy, _, _ in CANONICAL} == set(POLICIES)
    assert sorted(kind.name for kind in POLICIES) == sorted(NAMES_IN_CORE)
    for kind in POLICIES:
        assert kind.__doc__
        assert kind.__bases__ == (Policy,)
        assert kind.preemptive == (kind in {qs.ServerFilling, qs.DivisorFilling, qs.MaxWeight})
        assert kind.random == (kind in {qs.NMSR, qs.RandomizedTimers})
        assert kind.estimates == (kind in {qs.EASY, qs.Conservative, qs.Slurm})


@pytest.mark.parametrize(
    ("policy", "system"), [each[1:3] for each in CANONICAL], ids=[each[0] for each in CANONICAL]
)
def test_the_loop_over_jumps_is_chosen_where_the_core_has_it(
    policy: Policy, system: qs.System
) -> None:
    result = qs.simulate(system, policy, jobs=40, allow_unstable=True)
    jumps = copy.copy(result.inputs)
    object.__setattr__(jumps, "engine", "jumps")  # which the inputs themselves would reject
    try:
        _Session(system, policy, jumps).core()
    except qs.QuickswapError:
        assert result.inputs.engine == "events"
    else:
        assert result.inputs.engine == "jumps"


@settings(suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(
    st.one_of(
        st.builds(qs.Smash, st.one_of(st.none(), st.integers(1, 99), st.just(math.inf))),
        st.builds(
            qs.EASY,
            patience=st.floats(0, exclude_min=True, allow_nan=False),
            least=st.floats(0, 1e9),
            order=st.sampled_from(qs.EASY.orders),
        ),
        st.builds(qs.BalancedSplitting, st.none() | st.floats(0, 1)),
        st.builds(qs.EASY, age=st.none() | st.floats(0, allow_nan=False)),
        st.builds(
            qs.MSFQ, st.one_of(st.none(), st.integers(0, 99)), st.sampled_from(qs.MSFQ.drains)
        ),
        st.builds(
            qs.StaticQuickswap,
            thresholds=st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=1)),
            order=st.one_of(
                st.none(),
                st.lists(
                    st.one_of(st.integers(0, 9), st.sampled_from(["need 1", "a:b", "x"])),
                    min_size=1,
                ),
            ),
            drain=st.sampled_from(qs.StaticQuickswap.drains),
        ),
    )
)
def test_parse_undoes_spell(policy: Policy) -> None:
    assert parse(spell(policy)) == policy


@pytest.mark.parametrize("name", ["3", "a+b", "a,b", "a=b", " a", "inf"])
def test_names_that_cannot_be_spelled_are_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="give its position"):
        spell(qs.StaticQuickswap(order=[name]))


def test_spelling_is_lenient_in_case_blanks_and_underscores() -> None:
    assert parse(" MSFQ: threshold = 3 , drain = always ") == qs.MSFQ(3, "always")
    assert parse("Adaptive_Quickswap") == qs.AdaptiveQuickswap()


def test_numbers_of_any_kind_are_taken() -> None:
    assert qs.MSFQ(np.int64(3)) == qs.MSFQ(3)  # type: ignore[arg-type]  # taken, not declared
    assert qs.StaticQuickswap(thresholds=np.array([1, 2])) == qs.StaticQuickswap(thresholds=(1, 2))
    assert qs.Smash(math.inf) == qs.Smash(None)


@pytest.mark.parametrize(
    ("policy", "label"),
    [
        (qs.MSF(), "MSF"),
        (qs.MSFQ(31), "MSFQ(31)"),
        (qs.MSFQ(), "MSFQ(k-1)"),
        (qs.MSFQ(3, "always"), "MSFQ(3, always)"),
        (qs.EASY(), "EASY"),
        (qs.EASY(patience=3, order="shortest"), "EASY(patience 3, shortest)"),
        (qs.EASY(patience=math.inf, least=60), "EASY(patience inf, least 60 s)"),
        (qs.EASY(age=43_200), "EASY(age 43200 s)"),
        (qs.EASY(order="expansion", reservation="first"), "EASY(expansion, first reserved)"),
        (qs.ServerFilling(), "ServerFilling"),
        (qs.ServerFilling("srpt"), "ServerFilling(srpt)"),
        (qs.ServerFilling("srpt", overhead=0.5), "ServerFilling(srpt, overhead 0.5 s)"),
        (qs.MaxWeight(minimum=60, restart=True), "MaxWeight(minimum 60 s, restart)"),
        (qs.NMSR(), "nMSR"),
        (qs.NMSR(50, backfill=True), "nMSR(50, backfill)"),
        (qs.RandomizedTimers(0.5), "Randomized Timers (0.5)"),
        (qs.Smash(8), "Smash(8)"),
        (qs.Smash(None), "Smash(inf)"),
        (qs.StaticQuickswap(), "Static Quickswap"),
        (qs.StaticQuickswap(5, drain="exclusive"), "Static Quickswap (5, exclusive)"),
    ],
)
def test_labels_for_tables(policy: Policy, label: str) -> None:
    assert policy.label == label


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: parse("msqf"), r"unknown policy: 'msqf' \(did you mean 'msf.?'\?\); known: fcfs, "),
    (lambda: parse(""), "unknown policy: ''"),
    (lambda: parse("smash"), "policy smash requires window"),
    (lambda: parse("msf:threshold=1"), "policy msf has no parameters"),
    (lambda: parse("server-filling:overhead=[0,1]"), "a list of values, which only grids and tu"),
    (lambda: parse("divisor-filling:order=srpt"), "'order'; known: overhead, minimum, restart"),
    (lambda: parse("msfq:treshold=1"), "unknown parameter .*did you mean 'threshold'"),
    (
        lambda: parse("msfq:threshold"),
        "an option of policy .* is 'threshold'; it must be key=value",
    ),
    (lambda: parse("msfq:threshold=1,threshold=2"), "threshold is given twice"),
    (lambda: parse("msfq:threshold=x"), "is 'x'; it must be a whole number of at least 0"),
    (lambda: parse("msfq:threshold="), "is ''; it must be"),
    (lambda: parse("msfq:drain=alway"), "unknown drain of MSFQ: 'alway' .did you mean 'always'"),
    (lambda: qs.MSFQ(-1), "threshold of MSFQ is -1; it must be a whole number of at least 0"),
    (lambda: qs.MSFQ(1.5), "is 1.5; it must be"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: qs.MSFQ(True), "is True; it must be"),
    (lambda: qs.MSFQ(33).resolve(ONE_OR_ALL), "is 33; it must be .*from 0 to 32"),
    (lambda: qs.MSFQ(32, "always").resolve(ONE_OR_ALL), "is 32; it must be .*from 0 to 31"),
    (lambda: qs.MSFQ().resolve(FOUR), "two classes, one that needs 1 .* use AdaptiveQuickswap"),
    (lambda: qs.Smash(0), "window of Smash is .*; it must be a whole number from 1"),
    (lambda: qs.Smash(1.5), "is 1.5; it must be"),
    (lambda: qs.EASY(patience=-1), "patience of EASY is -1; it must be a number of .*, or inf"),
    (lambda: parse("easy:patience=nan"), "patience of EASY is nan; it must be"),
    (lambda: parse("easy:patience=long"), "patience of EASY is 'long'; it must be"),
    (lambda: parse("easy:age=12h"), "age of EASY is '12h'; it must be a number of seconds"),
    (lambda: qs.EASY(patience=1, least=math.inf), "least of EASY is inf; it must be a finite"),
    (lambda: qs.EASY(least=60), "least of EASY requires patience; give patience too"),
    (lambda: qs.EASY(age=60, least=60), "least of EASY requires patience"),
    (lambda: qs.EASY(patience=1, age=60), "EASY takes patience or age, not both"),
    (lambda: qs.EASY(age=0, reservation="first"), "takes neither patience nor age"),
    (lambda: qs.EASY(order="wide"), "unknown order of EASY: 'wide'.*; known: oldest, shortest"),
    (lambda: qs.NMSR(cycle=0), "cycle of NMSR is .*; it must be a positive finite number"),
    (lambda: qs.NMSR(backfill=1), "backfill of NMSR is 1; it must be True or False"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: parse("nmsr:backfill=yes"), "is 'yes'; it must be"),
    (
        lambda: qs.RandomizedTimers(-1),
        "rate of RandomizedTimers is .*; it must be a positive finite number",
    ),
    (lambda: qs.ServerFilling("size"), "unknown order of ServerFilling: 'size'"),
    (lambda: qs.ServerFilling(overhead=-1), "overhead of ServerFilling is -1; it must be"),
    (lambda: parse("max-weight:minimum=10min"), "minimum of MaxWeight is '10min'; it must be"),
    (lambda: parse("divisor-filling:restart=1"), "restart of DivisorFilling is 1; it must be True"),
    (
        lambda: qs.DivisorFilling().resolve(UNEVEN),
        "needs that divide the 10 servers; class 'need 3' needs 3",
    ),
    (lambda: qs.StaticQuickswap(drain="always"), "unknown drain .*known: overlap, exclusive"),
    (lambda: qs.StaticQuickswap(1, [1]), "threshold or thresholds, not both"),
    (lambda: qs.StaticQuickswap(thresholds=3), "is 3; it must be a list"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: qs.StaticQuickswap(thresholds=b"12"), "is b'12'; it must be a list"),
    (lambda: qs.StaticQuickswap(order={}), "is {}; it must be a list"),
    (lambda: qs.StaticQuickswap(order="ab"), "is 'ab'; it must be a list"),
    (lambda: qs.StaticQuickswap(thresholds=[-1]), "is -1; it must be .*at least 0"),
    (lambda: qs.StaticQuickswap(11).resolve(UNEVEN), "is 11; it must be .*from 0 to 10"),
    (lambda: qs.StaticQuickswap(thresholds=[1]).resolve(UNEVEN), "4, one for each class"),
    (
        lambda: qs.StaticQuickswap(thresholds=[3, 0, 0, 0]).resolve(UNEVEN),
        "for class 'need 3' is 3; it must be a whole number from 0 to 2",
    ),
    (lambda: qs.StaticQuickswap(order=[0, 1]).resolve(UNEVEN), "an order of all 4 classes"),
    (lambda: qs.StaticQuickswap(order=[0, 1, 2, 2]).resolve(UNEVEN), "an order of all 4 classes"),
    (lambda: qs.StaticQuickswap(order=[0, 1, 2, 4]).resolve(UNEVEN), "an order of all 4 classes"),
    (lambda: qs.StaticQuickswap(order=["ned 3"]).resolve(UNEVEN), "did you mean 'need 3'"),
]


@pytest.mark.parametrize(("build", "sentence"), BAD)
def test_bad_input_is_answered_with_one_sentence(
    build: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(PolicyError, match=sentence) as caught:
        build()
    assert str(caught.value).endswith(".")
    assert caught.value.argument or caught.value.given is not None
