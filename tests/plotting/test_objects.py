"""`plot` of results, comparisons, sweeps and stores: one figure on one pair of axes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import quickswap as qs
from replay_helpers import random_log

POLICIES, LOADS, JOBS = ["msf", "first-fit"], [0.3, 0.5], 4000


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(matplotlib.rcParams, "backend", "agg")
    yield
    pyplot.close("all")


def shown(axes: Axes) -> tuple[str, str, list[str]]:
    legend = axes.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    return axes.get_xlabel(), axes.get_ylabel(), labels


def test_a_comparison() -> None:
    found = qs.compare("four-class", POLICIES, loads=LOADS, jobs=JOBS)
    axes = found.plot()
    assert shown(axes) == ("load", "weighted mean response time [s]", ["MSF", "First-Fit"])
    own = pyplot.figure().add_subplot()
    assert found.plot(own, metric="jain") is own
    assert shown(own)[1] == "Jain's fairness index"
    with pytest.raises(qs.QuickswapError, match="unknown metric"):
        found.plot(metric="jane")


def test_a_sweep_and_its_store() -> None:
    store = qs.Store()
    qs.sweep(qs.Grid("four-class", "lsf", loads=[0.3], jobs=JOBS), store)
    found = qs.sweep(qs.Grid("four-class", POLICIES, loads=LOADS, jobs=JOBS), store)
    assert set(shown(found.plot(metric="mean"))[2]) == {"MSF", "First-Fit"}
    assert set(shown(store.plot(x="rate"))[2]) == {"MSF", "First-Fit", "LSF"}


def test_replays(tmp_path: Path) -> None:
    log = random_log(tmp_path, 300)
    found = qs.replay_all(log, ["easy", "server-filling"], load_factors=[0.8, 1.0])
    axes = found.plot(metric="slowdown")
    label, _, policies = shown(axes)
    assert (label, set(policies)) == ("load", {"as logged", "EASY", "ServerFilling"})
    easy, filling = found.points[0]
    assert easy.plot().get_ylabel() == "waiting work [hours of the machine]"
    with pytest.raises(qs.QuickswapError, match="a replay has no waste"):
        found.plot(metric="waste")
    with pytest.raises(qs.QuickswapError, match="ServerFilling is preemptive"):
        filling.plot()


def test_a_trajectory() -> None:
    axes = qs.simulate("one-or-all", "msf", jobs=JOBS, trajectory=100).plot()
    assert shown(axes) == ("time [s]", "number in system", ["light", "heavy"])
    with pytest.raises(qs.QuickswapError) as error:
        qs.simulate("one-or-all", "msf", jobs=JOBS).plot()
    assert error.value.argument == "trajectory"
