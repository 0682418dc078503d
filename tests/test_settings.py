"""Every setting of every verb and command counts: one table, which a new parameter must join.

A legal value that is not the default changes the result, its inputs, or the effect documented; an
illegal one is rejected before anything runs.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap import logs
from quickswap._words import count_of
from quickswap.cli.app import build
from quickswap.engine.settings import (
    PointSettings,
    ReplayInputs,
    ReplaySettings,
    Settings,
    SimulationSettings,
)
from quickswap.logs.options import Options, ReadOptions
from replay_helpers import random_log
from verification.known import FOUR, one_or_all

BASE: dict[str, Any] = {"jobs": 2000}
TUNED: dict[str, Any] = {"policies": ["msf", "fcfs"], "jobs": 100_000}
COMPARED: dict[str, Any] = {"policies": ["msf"], "jobs": 2000}
GRID: dict[str, Any] = {"engine": "jumps", "jobs": 2000}
REPLAYED: dict[str, Any] = {"policies": ["easy"]}
SAME = object()
"""Instead of what changes: the setting says how the work is done, not what comes out."""

SIMULATION: dict[str, tuple[Any, Any]] = {
    "jobs": (4000, 0),
    "precision": (0.5, 1.0),
    "precision_of": ("weighted", "bogus"),
    "seed": (2, -1),
    "engine": ("events", "bogus"),
    "replications": (2, 0),
    "warmup": (0.5, 1.0),
    "slowdown_bound": (1.0, 0.0),
    "plain_estimates": (True, "yes"),
    "confidence": (0.99, 1.0),
    "percentiles": ("95", "0"),
    "trajectory": (10, -1),
    "max_in_system": (3, 0),
    "allow_unstable": (True, "yes"),
}
"""Per setting a legal value that is not the default, and an illegal one."""
HOW: dict[str, tuple[Any, Any]] = {
    "threads": (1, 0),
    "debug": (True, "yes"),
    "progress": (lambda *_: None, 3),
}
"""Settings that leave the result as it is."""


LIMITS: dict[str, tuple[Any, Any]] = {
    "confidence": SIMULATION["confidence"],
    "percentiles": SIMULATION["percentiles"],
    "pool_policies": (SAME, "bogus"),  # of logs with pools: see tests/replays/test_pools.py
    "user_limit": (1, 0),
    "queue_limit": (SAME, "bogus"),  # of logs with queues: see tests/replays/test_limits.py
    "preemptible": (SAME, "bogus"),  # of logs with queues: see tests/replays/test_preemption.py
    "preempt_mode": (SAME, "bogus"),  # the same
    "end_at_limit": (SAME, "yes"),
}


@cache
def log() -> logs.JobLog:
    return random_log(Path(mkdtemp()), count=300)


@cache
def log_file() -> Path:
    random_log(Path(folder := mkdtemp()), count=300)
    return Path(folder) / "random.parquet"


@cache
def results() -> tuple[qs.Result, qs.Result]:
    one, other = qs.compare(FOUR, ["msf", "first-fit"], engine="events", jobs=2000).results
    return one, other


def _swept(**changes: Any) -> object:
    sweep = qs.sweep(
        **({"grid": qs.Grid(FOUR, ["msf", "fcfs"], loads=[0.3, 0.4], **BASE)} | changes)
    )
    return [each.to_json() for each in sweep.outcomes.results], sweep.outcomes.store.path is None


VERBS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, tuple[Any, Any]]]] = {
    "simulate": (
        qs.simulate,
        lambda **changes: qs.simulate(FOUR, "msf", **(BASE | changes)).to_json(),
        SIMULATION | HOW,
    ),
    "compare": (
        qs.compare,
        lambda **changes: qs.compare(FOUR, **(COMPARED | changes)).to_json(),
        {
            "policies": (["fcfs"], ["bogus"]),
            "rates": ([1.0], [-1.0]),
            "loads": ([0.5], [-1.0]),
            **SIMULATION,
            **HOW,
        },
    ),
    "Point": (
        qs.Point.of,
        lambda **changes: qs.Point.of(FOUR, "msf", **(BASE | changes)).key,
        SIMULATION,
    ),
    "Grid": (
        qs.Grid,
        lambda **changes: [each.key for each in qs.Grid(FOUR, "msf", **(GRID | changes)).points()],
        {
            "loads": ([0.5], [-1.0]),
            "rates": ([1.0], [-1.0]),
            "seeds": ([1, 2], [-1]),
            **{name: ([legal], [illegal]) for name, (legal, illegal) in SIMULATION.items()},
        },
    ),
    "sweep": (
        qs.sweep,
        _swept,
        {
            "grid": (qs.Grid(FOUR, "msf", **BASE), 3),
            "store": (Path(mkdtemp()) / "s.db", 3),
            "shard": ("1/4", "bogus"),
            "budget": (SAME, 0),  # of grids with a precision: see test_a_budget_counts
            "executor": (SAME, 3),
            "threads": HOW["threads"],
            "progress": HOW["progress"],
        },
    ),
    "tune": (
        qs.tune,
        lambda **changes: qs.tune(FOUR.with_load(0.3), **(TUNED | changes)).to_json(),
        {
            "policies": (["msf"], ["bogus"]),
            "metric": ("mean", "bogus"),
            "jobs": (200_000, 0),
            "indifference": (0.5, -1.0),
            "seed": (2, -1),
            "refine": (SAME, "yes"),  # it only adds candidates between those of a grid
            "store": (SAME, 3),
            "executor": (SAME, 3),
            "threads": HOW["threads"],
            "progress": HOW["progress"],
        },
    ),
    "replay": (
        qs.replay,
        lambda **changes: str(qs.replay(log(), "first-fit", **changes).to_frame().to_dicts()),
        {
            "servers": (20, 0),
            "load_factor": (1.2, 0.0),
            "estimate": (SAME, "bogus"),  # First-Fit reads none: see test_estimates_count
            "classes": ("1,2-", "bogus"),
            "warmup": (0.2, 1.0),
            "cooldown": (0.2, 1.0),
            "slowdown_bound": (1e5, 0.0),
            "confidence": (0.99, 1.0),
            "percentiles": ("95", "0"),
            "seed": (2, -1),
            **LIMITS,
            "debug": HOW["debug"],
            "progress": HOW["progress"],
        },
    ),
    "replay_all": (
        qs.replay_all,
        lambda **changes: str(qs.replay_all(log(), **(REPLAYED | changes)).to_frame().to_dicts()),
        {
            "policies": (["first-fit"], ["bogus"]),
            "load_factors": ([1.2], [0.0]),
            "servers": (20, 0),
            "estimate": ("exact", "bogus"),
            "classes": ("1,2-", "bogus"),
            "warmup": (0.2, 1.0),
            "cooldown": (0.2, 1.0),
            "slowdown_bound": (1e5, 0.0),
            "confidence": (0.99, 1.0),
            "percentiles": ("95", "0"),
            "seed": (2, -1),
            **LIMITS,
            "debug": HOW["debug"],
            "progress": HOW["progress"],
        },
    ),
    "difference": (
        qs.difference,
        lambda **changes: qs.difference(*results(), **changes),
        {"quantity": ("jain_index", "bogus"), "cls": (FOUR.names[0], "bogus")},
    ),
    "fit": (
        logs.fit,
        lambda **changes: str(logs.fit(log(), **changes)),
        {"classes": ("1-2,3-", "bogus"), "size": ("empirical", "bogus"), "at_most": (3, 0)},
    ),
}
SUBJECTS = {"system", "model", "models", "policy", "log", "first", "second", "path", "cls_"}
"""What a verb is about, instead of a setting of it; tests of each verb cover them."""
TYPED = {
    "simulate": SimulationSettings,
    "compare": SimulationSettings,
    "Point": PointSettings,
    "Grid": PointSettings,
    "replay": ReplaySettings,
    "replay_all": ReplaySettings,
}


def _parameters(verb: str) -> set[str]:
    """Return all settings that a verb takes by name."""
    named = inspect.signature(VERBS[verb][0]).parameters
    extra = set(TYPED[verb].__annotations__) if verb in TYPED else set()
    return (set(named) - {"settings"}) | extra


@pytest.mark.parametrize("verb", VERBS)
def test_every_setting_is_in_the_table(verb: str) -> None:
    wanted = _parameters(verb) - SUBJECTS - ({"policies"} if verb == "Grid" else set())
    assert wanted == set(VERBS[verb][2])


ROWS = [(verb, name) for verb, (_, _, table) in VERBS.items() for name in table]


@cache
def _base(verb: str) -> object:
    return VERBS[verb][1]()


@pytest.mark.parametrize(("verb", "name"), ROWS, ids=lambda each: str(each))
def test_a_legal_value_counts(verb: str, name: str) -> None:
    _, call, table = VERBS[verb]
    legal = table[name][0]
    if legal is SAME:
        pytest.skip("it says how the work is done")
    if name == "precision_of":  # it needs a precision
        assert call(precision=0.3, precision_of=legal) != call(precision=0.3)
        return
    same = name in HOW
    assert (call(**{name: legal}) == _base(verb)) is same


@pytest.mark.parametrize(("verb", "name"), ROWS, ids=lambda each: str(each))
def test_an_illegal_value_is_refused(verb: str, name: str) -> None:
    _, call, table = VERBS[verb]
    illegal = table[name][1]
    with pytest.raises(qs.QuickswapError) as caught:
        call(**{name: illegal})
    if name in SIMULATION | HOW and verb in ("simulate", "compare", "Point"):
        error = caught.value
        assert (error.argument, error.given) == (name, illegal)
        assert error.allowed


@pytest.mark.parametrize("verb", ["compare", "Point", "Grid", "replay_all"])
def test_a_misspelt_setting_names_the_verb(verb: str) -> None:
    with pytest.raises(qs.QuickswapError, match=r"unknown (setting|key) of .*did you mean"):
        VERBS[verb][1](**({"warmupp": 0.1}))


def test_the_precision_is_that_of_what_was_asked_for() -> None:
    """Heavy jobs are rare, and their mean is known later than that of all jobs."""
    system = one_or_all(4, 1.35, 0.015)
    runs = {
        of: qs.simulate(system, "msf", precision=0.03, precision_of=of, jobs=10_000_000)
        for of in ("mean", "weighted", "classes")
    }
    assert runs["mean"].completed < runs["classes"].completed
    assert all(each.mean_response_time.relative <= 0.03 for each in runs["classes"].classes)
    assert runs["weighted"].weighted_mean_response_time.relative <= 0.03


def test_a_budget_counts() -> None:
    grid = qs.Grid(FOUR, "msf", precision=0.5)
    (point,) = qs.sweep(grid, budget=150_000).outcomes.points
    assert point.inputs.jobs <= 150_000


ILLEGAL: dict[str, str] = {
    "--cost": "bogus",
    "--tolerance": "0",
    "--max-states": "0",
    **{f"--{name.replace('_', '-')}": str(wrong) for name, (_, wrong) in SIMULATION.items()},
    "--allow-unstable": "maybe",
    "--simulate": "maybe",
    "--metrics-port": "0",
    "--hold": "5",
    "--plain-estimates": "maybe",
    "--trajectory": "",
    "--threads": "0",
    "--debug": "maybe",
    "--policy": "bogus",
    "--policies": "bogus",
    "--rate": "-1",
    "--load": "-1",
    "--servers": "0",
    "--loads": "-1",
    "--rates": "-1",
    "--models": "bogus",
    "--seeds": "-1",
    "--store": "",
    "--merge": "nowhere.db",
    "--dask": "bogus",
    "--shard": "bogus",
    "--budget": "0",
    "--against": "bogus",
    "--metric": "bogus",
    "--indifference": "-1",
    "--refine": "maybe",
    "--threshold": "-1",
    "--classes": "bogus",
    "--at-most": "0",
    "--size": "bogus",
    "--format": "bogus",
    "--unit": "bogus",
    "--timezone": "bogus",
    "--time-unit": "bogus",
    "--delimiter": "bogus",
    "--from": "bogus",
    "--to": "bogus",
    "--scale-load": "0",
    "--smallest-need": "0",
    "--largest-need": "0",
    "--smallest-size": "-1",
    "--largest-size": "0",
    "--columns": "bogus",
    "--strict": "maybe",
    "--slurm-conf": "nowhere.conf",
    "--train": "2",
    "--no-worse": "110%",
    "--smallest-gain": "-1%",
    "--load-factors": "0",
    "--estimate": "bogus",
    "--cooldown": "1",
    "--groups": "bogus",
    "--partition": "unknown",
    "--partitions": "nowhere.txt",
    "--pool": "bogus",
    "--pools": "bogus",
    "--arrival": "bogus",
    "--pool-policies": "bogus",
    "--user-limit": "0",
    "--queue-limit": "bogus",
    "--preemptible": "bogus",
    "--preempt-mode": "bogus",
    "--end-at-limit": "maybe",
    "--sacct-format": "bogus",
    "--live": "maybe",
    "--interval": "0",
    "--depth": "0",
    "--most": "0",
    "--writes": "0",
    "--rest": "bogus",
    "--once": "maybe",
    "--explain": "bogus",
}
"""Per option of the command line a value that every command rejects."""
FILES = (
    *("--plot", "--csv", "--json", "--parquet", "--output", "--report", "--outcomes"),
    *("--log", "--metrics", "--undo"),
)
"""Options that name a file."""
SPECIAL = {("simulate", "--trajectory"), ("sweep", "--store"), ("tune", "--store")}
"""Those that name a file, unlike the settings of these names."""
FREE = {
    ("plot", name)
    for name in ("--metric", "--x", "--per-class", "--model", "--policies", "--loads", "--title")
} | {("plot", "--linear"), ("reproduce", "--quick"), ("reproduce", "--list")}
"""Options of `plot` need a store: tests/test_cli_plot.py; flags of `reproduce` stand alone."""
SUBJECT = {
    "simulate": ["four-class", "--jobs", "400"],
    "compare": ["four-class", "--jobs", "400", "--policies", "msf"],
    "tune": ["four-class", "--policies", "msf", "--jobs", "40000"],
    "show": ["four-class"],
    "analyze": ["one-or-all:k=4"],
    "optimum": ["one-or-all:k=4,load=0.5"],
    "reproduce": ["figure-1"],
    "govern": ["all", "--rest", "unix:nowhere"],
}


def _options() -> list[tuple[str, str]]:
    app = build()
    found = []
    for command in app:
        if command.startswith("-"):
            continue
        names = [each.name for each in app[command].assemble_argument_collection()]
        found += [(command, name) for name in names if name.startswith("--")]
    return found


OPTIONS = _options()


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda each: str(each))
def test_an_illegal_option_is_refused(
    command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if (command, option) in FREE:
        pytest.skip("it has no illegal value without a store")
    nowhere = str(tmp_path / "nowhere" / "file.svg")
    file = option in FILES or (command, option) in SPECIAL
    assert file or option in ILLEGAL, f"{option} of {command} is new: give an illegal value"
    grid = tmp_path / "grid.toml"
    grid.write_text('models = "four-class"\npolicies = "msf"\njobs = 400\nloads = [0.3]\n')
    files = {
        "sweep": [str(grid)],
        "fit": [str(log_file()), "--servers", "16"],
        "replay": [str(log_file()), "--servers", "16", "--policies", "fcfs"],
        "plot": [str(tmp_path / "store.db")],
    }
    words = [*SUBJECT.get(command, files.get(command, []))]
    if option in words:
        at = words.index(option)
        del words[at : at + 2]
    value = nowhere if file else ILLEGAL[option]
    code, _, err = run(capsys, command, *words, f"{option}={value}")
    assert code == 2, err
    assert len(err.strip().splitlines()) == 1


def test_the_typed_names_are_those_of_the_settings() -> None:
    """Type checkers cannot derive keyword arguments from a dataclass, so they are written twice."""
    kinds = {each.name: each.type for each in dataclasses.fields(Settings)}
    typed = PointSettings.__annotations__
    assert {name: kind.__forward_arg__ for name, kind in typed.items()} == kinds
    replayed = {each.name for each in dataclasses.fields(ReplayInputs)}
    replayed -= {"source", "policy", "load_factor", "version"}
    assert set(ReplaySettings.__annotations__) == replayed | {"debug"}
    read = {each.name for each in dataclasses.fields(Options)}
    assert set(ReadOptions.__annotations__) == read - {"format"}


def test_every_setting_is_an_option_and_a_column() -> None:
    names = {each.name for each in dataclasses.fields(Settings)}
    assert all(each.metadata["help"] for each in dataclasses.fields(Settings))
    for command in ("simulate", "compare", "sweep"):
        options = {name[2:].replace("-", "_") for each, name in OPTIONS if each == command}
        assert names - options <= {"trajectory", "seed" if command == "sweep" else ""}
    store = qs.sweep(qs.Grid(FOUR, "msf", **BASE)).outcomes.store
    assert names - set(store.to_frame().columns) == {"trajectory"}  # it is an output


MISTYPED: dict[str, tuple[Callable[..., Any], str, str]] = {
    "simulate": (lambda **wrong: qs.simulate(FOUR, "msf", **wrong), "progres", "progress"),
    "compare": (lambda **wrong: qs.compare(FOUR, **wrong), "load", "loads"),
    "sweep": (lambda **wrong: qs.sweep("grid.toml", **wrong), "thread", "threads"),
    "tune": (lambda **wrong: qs.tune(FOUR, **wrong), "indiference", "indifference"),
    "replay": (lambda **wrong: qs.replay(log(), "fcfs", **wrong), "load_facto", "load_factor"),
    "replay_all": (lambda **wrong: qs.replay_all(log(), **wrong), "serverz", "servers"),
    "reproduce": (lambda **wrong: qs.reproduce("fig1", **wrong), "quik", "quick"),
    "rerun": (lambda **wrong: qs.rerun(results()[0], **wrong), "polici", "policy"),
    "difference": (lambda **wrong: qs.difference(*results(), **wrong), "quantiti", "quantity"),
    "write_report": (lambda **wrong: qs.write_report(None, "r.html", **wrong), "group", "groups"),  # type: ignore[arg-type]  # it is not used
    "stability": (lambda **wrong: qs.stability(FOUR, "msf", **wrong), "simulat", "simulate"),
    "fit": (lambda **wrong: logs.fit(log(), **wrong), "clases", "classes"),
    "goodness": (lambda **wrong: logs.goodness(log(), FOUR, **wrong), "clases", "classes"),
    "read": (lambda **wrong: logs.read("x.csv", **wrong), "time_zone", "timezone"),
}


@pytest.mark.parametrize("verb", MISTYPED)
def test_a_mistyped_keyword_is_answered_with_the_right_one(verb: str) -> None:
    call, wrong, right = MISTYPED[verb]
    with pytest.raises(qs.QuickswapError, match=f"of {verb}: '{wrong}'.*did you mean '{right}'"):
        call(**{wrong: 1})


def test_whole_numbers_are_written_as_in_python() -> None:
    """With underscores if one likes, in policies, settings and options alike."""
    written = {"1_000": 1000, "7": 7, "-1": None, "1.5": None, "1__0": None, "": None, "x": None}
    assert {text: count_of(text) for text in written} == written
    assert qs.parse("msfq:threshold=1_0") == qs.MSFQ(10)
