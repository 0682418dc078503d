"""Custom policies in points, grids, stores, processes and tuning, and those of other packages."""

from __future__ import annotations

import json
import textwrap
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest

import quickswap as qs
from quickswap.cli import main
from quickswap.policies.custom import described
from quickswap.policies.spelling import _parse
from verification.known import FOUR


class Reserve:
    """First-Fit, with servers that small jobs leave free."""

    parameters: ClassVar[dict[str, Any]] = {"kept": [0, 3], "small": 1}

    def __init__(self, kept: int, small: int = 1) -> None:
        self.kept, self.small = kept, small

    def start(self, view: qs.View) -> int | None:
        found = None
        for i, need in enumerate(view.needs):
            spare = self.kept if need <= self.small else 0
            if view.waiting[i] and need <= view.free - spare:
                older = found is None or (view.heads[i] or 0) < (view.heads[found] or 0)
                found = i if older else found
        return found


def source(text: str, folder: Path, **names: object) -> Any:
    """Return the class `Policy` of a text, which is in a file."""
    path = folder / f"policy_{abs(hash(text))}.py"
    path.write_text(textwrap.dedent(text))
    names["__name__"] = "policy"
    exec(compile(path.read_text(), path, "exec"), names)
    return names["Policy"]


class TestFingerprint:
    TEXT = """
    LIMIT = 3
    def fits(view, i):
        return view.waiting[i] > 0 and view.needs[i] <= view.free
    class Policy:
        def __init__(self, most=1):
            self.most = most
        def start(self, view):
            return next((i for i in range(LIMIT) if fits(view, i)), None)
    """

    def test_equal_policies_are_equal_points(self, tmp_path: Path) -> None:
        first, second = (source(self.TEXT, tmp_path)() for _ in range(2))
        assert described(first) == described(second)
        assert qs.Point.of(FOUR, first).key == qs.Point.of(FOUR, second).key

    @pytest.mark.parametrize(
        ("before", "after"),
        [("LIMIT = 3", "LIMIT = 2"), ("> 0", ">= 1"), ("range(LIMIT)", "range(4)"), ("=1", "=2")],
    )
    def test_a_change_makes_another_point(self, tmp_path: Path, before: str, after: str) -> None:
        changed = source(self.TEXT.replace(before, after), tmp_path)()
        assert described(changed) != described(source(self.TEXT, tmp_path)())

    def test_the_state_belongs_to_it(self) -> None:
        texts = {qs.spell(described(Reserve(kept))) for kept in (0, 1)}
        assert len(texts) == 2
        assert all(text.startswith("custom:Reserve#") for text in texts)


def test_a_sweep_in_processes_gives_the_results_of_simulate(tmp_path: Path) -> None:
    grid = qs.Grid(FOUR, [Reserve, "first-fit"], loads=[0.5], jobs=1000)
    with qs.Store(tmp_path / "a.db") as store:
        swept = qs.sweep(grid, store, threads=1)
        results = swept.outcomes.results
        labels = ["Reserve (kept 0, small 1)", "Reserve (kept 3, small 1)", "First-Fit"]
        assert [each.policy_label for each in results] == labels
        single = qs.simulate(FOUR.with_load(0.5), Reserve(0), jobs=1000, engine="events")
        assert results[0].classes == single.classes == results[2].classes
        assert qs.sweep(grid, store).outcomes.ran == 0
        stored = next(point for point in store.points() if "Reserve" in point.inputs.spelling)
    with ProcessPoolExecutor(1) as executor:
        assert qs.sweep(grid, executor=executor).outcomes.results == results
    with pytest.raises(qs.PolicyError, match=r"Reserve .* is custom"):
        stored.run()


def test_what_cannot_be_sent_to_a_process_is_an_error() -> None:
    policy = Reserve(1)
    policy.file = (line for line in "ab")  # type: ignore[attr-defined]
    with ProcessPoolExecutor(1) as executor:
        failures = qs.sweep(
            qs.Grid(FOUR, [policy], loads=[0.5], jobs=100), executor=executor
        ).outcomes.failures
    (failure,) = failures.values()
    assert "run it in threads" in failure.message


def test_tuning_searches_the_parameters() -> None:
    tuning = qs.tune(FOUR.with_load(0.5), [Reserve, "msf"], jobs=60_000)
    labels = {row.label for row in tuning.rows}
    assert {"Reserve (kept 0, small 1)", "Reserve (kept 3, small 1)", "MSF"} <= labels


class TestPackages:
    @pytest.fixture(autouse=True)
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Install a package with two policies."""
        info = tmp_path / "ours-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "[quickswap.policies]\nours = ours:Reserve\nbroken = ours:Nothing\n"
        )
        text = Path(__file__).read_text()
        body = text[text.index("class Reserve:") : text.index("def source(")]
        head = "from __future__ import annotations\nfrom typing import Any, ClassVar\n"
        (tmp_path / "ours.py").write_text(f"{head}import quickswap as qs\n\n\n{body}")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.chdir(tmp_path)
        _parse.cache_clear()

    def test_it_has_a_name_everywhere(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = qs.simulate(FOUR, "ours:kept=3", jobs=500)
        assert found.classes == qs.simulate(FOUR, Reserve(3), jobs=500).classes
        grid = qs.Grid(FOUR, ["ours:kept=[0,3]"], loads=[0.5], jobs=500)
        assert [each.label for each in grid.grid_points()] == ["ours (kept 0)", "ours (kept 3)"]
        with pytest.raises(SystemExit) as stop:
            main(
                [
                    "simulate",
                    "four-class",
                    "--load",
                    ".5",
                    "--jobs",
                    "500",
                    "--policy",
                    "ours:kept=3",
                ]
            )
        assert stop.value.code == 0
        assert "ours (kept 3)" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("spelling", "what"),
        [
            ("ours", "requires kept"),
            ("ours:keep=1", "did you mean kept|kept"),
            ("broken", "cannot be loaded"),
            ("our", "ours"),
        ],
    )
    def test_mistakes(self, spelling: str, what: str) -> None:
        with pytest.raises(qs.PolicyError, match=what):
            qs.parse(spelling)


@pytest.mark.parametrize("parameters", [{"nothing": [1]}, {"kept": []}])
def test_parameters_that_the_class_does_not_take(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reserve, "parameters", parameters)
    with pytest.raises(qs.PolicyError, match="Reserve"):
        qs.Grid(FOUR, [Reserve])


def test_results_as_json() -> None:
    result = qs.simulate(FOUR, Reserve(1), jobs=500)
    data = json.loads(result.to_json())
    assert data["inputs"]["policy"] == qs.spell(described(Reserve(1)))
