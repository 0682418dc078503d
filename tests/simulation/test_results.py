"""Results as values: JSON and back, rerun, frames, files."""

from __future__ import annotations

import json
import math
import os
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from quickswap.files import write_text, write_with
from quickswap.simulation import simulate
from quickswap.statistics import estimates, measure
from verification.known import FOUR, one_or_all
from verification.systems import every_distribution, shared

ONE_OR_ALL = one_or_all(4, 1.35, 0.15)


def unstable() -> qs.Result:
    """Its estimates are nan."""
    return qs.simulate(FOUR.with_rate(4.0), "fcfs", jobs=100_000)


def with_everything() -> qs.Result:
    """Phases, some of which never occur; a trajectory; infinite slowdowns."""
    return qs.simulate(ONE_OR_ALL, "msfq:threshold=2", jobs=20_000, trajectory=30, warmup="mser5")


def plain() -> qs.Result:
    return qs.simulate(shared(0.4), "msf", jobs=20_000)


def tiny() -> qs.Result:
    """So few jobs that some classes have none and most half-widths are unknown."""
    return qs.simulate(every_distribution(0.4), "msf", jobs=4)


MAKERS = [unstable, with_everything, plain, tiny]
everyone = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
Maker = Callable[[], qs.Result]


@everyone
class TestJSON:
    def test_it_comes_back_equal(self, make: Maker) -> None:
        result = make()
        again = qs.Result.from_json(result.to_json())
        assert again.to_json() == result.to_json()
        assert again == result

    def test_it_is_strict_json(self, make: Maker) -> None:
        def reject(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        json.loads(make().to_json(), parse_constant=reject)

    def test_rerun_gives_the_same(self, make: Maker) -> None:
        result = make()
        again = qs.rerun(qs.Result.from_json(result.to_json()), threads=1)
        assert again.to_json() == result.to_json()
        assert again == result


def test_results_of_different_seeds_differ() -> None:
    one, other = (qs.simulate(ONE_OR_ALL, "msf", jobs=2000, seed=seed) for seed in (1, 2))
    assert one != other
    assert one != replace(one, completed=one.completed + 1)
    assert one == replace(one, seconds=math.inf)  # wall-clock time is not part of the value


def test_the_engine_that_was_chosen_is_kept() -> None:
    assert plain().inputs.engine == "jumps"
    assert qs.simulate(ONE_OR_ALL, "server-filling", jobs=1000).inputs.engine == "events"
    result = qs.simulate(ONE_OR_ALL, "msf", jobs=1000, engine="events")
    assert qs.rerun(qs.Result.from_json(result.to_json())).inputs.engine == "events"


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", "3", '{"quickswap_result": 99}', '{"quickswap_result": 1}'],
)
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(qs.QuickswapError):
        qs.Result.from_json(text)
    with pytest.raises(qs.QuickswapError):
        qs.Comparison.from_json(text.replace("result", "comparison"))


def test_a_result_with_a_key_too_few_or_too_many_is_refused() -> None:
    data = json.loads(plain().to_json())
    with pytest.raises(qs.QuickswapError):
        qs.Result.from_json(json.dumps({k: v for k, v in data.items() if k != "jain_index"}))
    data["inputs"]["colour"] = "blue"
    with pytest.raises(qs.QuickswapError):
        qs.Result.from_json(json.dumps(data))


def test_infinite_slowdown_is_exact_and_survives_json() -> None:
    """An exponential size has no mean inverse, so its mean slowdown is infinite."""
    slowdown = plain().overall.slowdown
    assert slowdown.mean == qs.Estimate(math.inf, 0.0)
    assert slowdown.p50.value >= 1
    again = qs.Result.from_json(plain().to_json()).overall.slowdown
    assert again.mean == qs.Estimate(math.inf, 0.0)


def test_a_result_keeps_no_more_than_it_shows() -> None:
    """The sums of the batches are kept for differences; blocks and histograms are not."""
    result = qs.simulate("borg-b:load=0.8", "msf", jobs=20_000)
    assert len(pickle.dumps(result)) < 100_000


def test_a_short_run_computes_its_statistics_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All intervals come from five arrays, however many classes there are."""
    calls: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return function(*arguments, **options)

        return call

    for module, name in (
        (estimates, "half_widths"),
        (measure, "half_widths"),
        (simulate, "judge"),
        (simulate, "known_stability"),
    ):
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    for system in ("one-or-all:rate=5", "borg-b:load=0.5"):
        calls.clear()
        qs.simulate(system, "adaptive-quickswap", jobs=1000)
        assert calls == {"half_widths": 4, "judge": 1, "known_stability": 1}


class TestFrame:
    def test_shape_and_columns(self) -> None:
        frame = plain().to_frame()
        assert frame.columns == [
            *("policy", "arrival_rate", "load", "class", "quantity", "value", "half_width"),
            *("verdict", "servers"),
        ]
        # 8 of the whole; for each class and all: 4 metrics x 6, 3 rates
        assert frame.shape == (8 + 5 * (4 * 6 + 3), 9)

    def test_values_are_those_of_the_result(self) -> None:
        result = plain()
        frame = result.to_frame()
        by = {(row["class"], row["quantity"]): row["value"] for row in frame.iter_rows(named=True)}
        assert len(by) == frame.height  # no two rows have the same key
        third = result.classes[2]
        assert by[third.name, "mean_response_time"] == third.mean_response_time.value
        assert by["all", "p99_waiting_time"] == result.overall.waiting_time.p99.value
        assert by["all", "jain_index"] == result.jain_index.value
        assert set(frame["verdict"]) == {"stable"}

    def test_msfq_adds_its_phases(self) -> None:
        names = with_everything().to_frame()["quantity"]
        assert sum(name.startswith("mean_duration_of_phase_") for name in names) == 5

    def test_an_unstable_result_has_no_response_times(self) -> None:
        rows = unstable().to_frame().iter_rows(named=True)
        times = [row["value"] for row in rows if row["quantity"].endswith("response_time")]
        assert times
        assert all(map(math.isnan, times))


class TestFiles:
    def test_save_and_read(self, tmp_path: Path) -> None:
        path, result = tmp_path / "r.json", plain()
        path.write_text("old", encoding="utf-8")
        result.save(path)
        assert qs.Result.from_json(path.read_text(encoding="utf-8")).to_json() == result.to_json()
        assert os.listdir(tmp_path) == ["r.json"]

    def test_permissions_are_those_of_any_new_file(self, tmp_path: Path) -> None:
        write_text(tmp_path / "ours", "x")
        (tmp_path / "plain").write_text("x", encoding="utf-8")
        modes = {(tmp_path / name).stat().st_mode for name in ("ours", "plain")}
        assert len(modes) == 1

    @pytest.mark.parametrize(
        "error", [OSError("disk full"), ValueError("a mistake"), KeyboardInterrupt()]
    )
    def test_a_failure_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, error: BaseException
    ) -> None:
        path = tmp_path / "r.json"
        path.write_text("old", encoding="utf-8")

        def half(temporary: Path) -> None:
            temporary.write_text("half", encoding="utf-8")
            raise error

        with pytest.raises((qs.QuickswapError, type(error))):
            write_with(path, half)
        assert path.read_text(encoding="utf-8") == "old"
        assert os.listdir(tmp_path) == ["r.json"]

    def test_a_folder_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(qs.QuickswapError, match=r"nowhere.*cannot be written"):
            plain().save(tmp_path / "nowhere" / "r.json")

    def test_a_long_path_is_shown_whole(self, tmp_path: Path) -> None:
        folder = tmp_path / ("x" * 100)
        with pytest.raises(qs.QuickswapError, match="x" * 100 + ".*cannot be written"):
            plain().save(folder / "r.json")

    def test_a_comparison_is_saved_the_same_way(self, tmp_path: Path) -> None:
        comparison = qs.compare(ONE_OR_ALL, ["msf", "fcfs"], jobs=2000)
        comparison.save(tmp_path / "c.json")
        text = (tmp_path / "c.json").read_text(encoding="utf-8")
        assert qs.Comparison.from_json(text).to_json() == comparison.to_json()


@pytest.mark.parametrize("given", ["result.json", None, {}])
def test_only_a_result_is_rerun(given: Any) -> None:
    with pytest.raises(qs.QuickswapError, match=r"Result\.from_json"):
        qs.rerun(given)
