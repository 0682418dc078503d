"""`plot` of results, comparisons, sweeps and stores: one figure on one pair of axes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
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


def test_percentiles_of_choice(tmp_path: Path) -> None:
    found = qs.compare("four-class", POLICIES, loads=LOADS, jobs=JOBS, percentiles=(95,))
    store = qs.Store()
    qs.sweep(qs.Grid("four-class", "lsf", loads=[0.3], jobs=JOBS, percentiles="95"), store)
    replays = qs.replay_all(random_log(tmp_path, 900), ["easy"], percentiles=(95,))
    for each in (found, store, replays):
        for metric in ("p95", "p95_slowdown", "p99.0_response_time"):
            assert each.plot(metric=metric).get_ylabel().startswith(metric[:3].upper())
        with pytest.raises(qs.QuickswapError, match=r"no (result|point) has a value of p97\.5"):
            each.plot(metric="p97.5")
    line = np.asarray(found.plot(metric="p95").get_lines()[0].get_ydata())
    known = [each.overall.response_time.percentile(95).value for each, _ in found.points]
    assert line.tolist() == known
    # 900 jobs are too few for P99.9
    with pytest.raises(qs.QuickswapError, match="no result has a value of p999; simulate more"):
        replays.plot(metric="p999")
    for wrong in ("p0", "p100", "p95_wait"):
        with pytest.raises(qs.QuickswapError, match="unknown metric"):
            found.plot(metric=wrong)
    with pytest.raises(
        qs.QuickswapError, match="no result has a value of mean_duration_of_phase_1"
    ):
        found.plot(metric="mean_duration_of_phase_1")


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
    with pytest.raises(qs.QuickswapError, match="no result has a value of waste"):
        found.plot(metric="waste")
    with pytest.raises(qs.QuickswapError, match="ServerFilling is preemptive"):
        filling.plot()


def test_a_trajectory() -> None:
    axes = qs.simulate("one-or-all", "msf", jobs=JOBS, trajectory=100).plot()
    assert shown(axes) == ("time [s]", "number in system", ["light", "heavy"])
    with pytest.raises(qs.QuickswapError) as error:
        qs.simulate("one-or-all", "msf", jobs=JOBS).plot()
    assert error.value.argument == "trajectory"
