"""Grids: what a description stands for, and what is said about mistakes in it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from quickswap.sweeps.costs import expected_work, read_shard, shard_of
from quickswap.sweeps.parameters import expand_parameters
from quickswap.sweeps.run import grid_points_of
from verification.known import FOUR, one_or_all


class TestSpread:
    @pytest.mark.parametrize(
        ("given", "spellings"),
        [
            ("msf", ["msf"]),
            (qs.MSFQ(3), ["msfq:threshold=3"]),
            (
                "msfq:threshold=[0, 8,31]",
                ["msfq:threshold=0", "msfq:threshold=8", "msfq:threshold=31"],
            ),
            ("smash:window=[1..3]", [f"smash:window={i}" for i in (1, 2, 3)]),
            ("smash:window=[1,4..8..2]", [f"smash:window={i}" for i in (1, 4, 6, 8)]),
            (
                "msfq:threshold=[1,2],drain=[always,on_demand]",
                [
                    "msfq:threshold=1,drain=always",
                    "msfq:threshold=1",
                    "msfq:threshold=2,drain=always",
                    "msfq:threshold=2",
                ],
            ),
            (
                {"name": "msfq", "threshold": [1, 2], "drain": "always"},
                ["msfq:threshold=1,drain=always", "msfq:threshold=2,drain=always"],
            ),
            ({"name": "smash", "window": "1..2"}, ["smash:window=1", "smash:window=2"]),
            ({"name": "smash", "window": ["1..2", 9]}, [f"smash:window={i}" for i in (1, 2, 9)]),
            (
                {"name": "static-quickswap", "order": [3, 2, 1, 0]},
                ["static-quickswap:order=3+2+1+0"],
            ),
            (
                {"name": "static-quickswap", "order": [[3, 2, 1, 0], [0, 1, 2, 3]]},
                ["static-quickswap:order=3+2+1+0", "static-quickswap:order=0+1+2+3"],
            ),
            ({"name": "msf"}, ["msf"]),
        ],
    )
    def test_what_it_stands_for(self, given: object, spellings: list[str]) -> None:
        assert [qs.spell(each) for each in expand_parameters(given)] == spellings

    @pytest.mark.parametrize(
        ("given", "part"),
        [
            (3, "policy is 3"),
            ("msfq:threshold=[1", "bracket"),
            ("msfq:threshold=1]", "bracket"),
            ("msfq:threshold=[1,,2]", "empty item"),
            ("msfq:threshold=[]", "empty item"),
            ("smash:window=[5..1]", "not ascending"),
            ("smash:window=[1..5..0]", "not ascending"),
            ("smash:window=[0..999999999]", "1,000,000,000 values"),
            (f"smash:window=[1..{'9' * 5000}]", "window"),
            ("smash:window=[1..100000],window=[1..100000]", "expands to"),
            ({"threshold": 3}, "has no name"),
            ({"name": "msfq", "threshold": []}, "expands to 0"),
            ({"name": "msfq", "colour": "red"}, "unknown parameter"),
            ("mfs", "did you mean"),
        ],
    )
    def test_mistakes(self, given: object, part: str) -> None:
        with pytest.raises(qs.PolicyError, match=part):
            expand_parameters(given)


class TestGrid:
    def test_it_is_the_product(self) -> None:
        grid = qs.Grid(
            [FOUR, "borg-b"],
            ["msf", "fcfs"],
            loads=[0.3, 0.5],
            seeds=[1, 2, 3],
            jobs=[500, 900],
            warmup="mser5",
        )
        expected = [
            qs.Point.of(
                system.with_load(load),
                policy,
                jobs=jobs,
                warmup="mser5",
                seed=seed,
                engine="events",
            )
            for system, load in product((FOUR, qs.load("borg-b")), (0.3, 0.5))
            for seed, jobs in product((1, 2, 3), (500, 900))
            for policy in ("msf", "fcfs")
        ]
        assert len(grid) == len(expected) == 48
        assert set(grid.points()) == set(expected)
        assert [each.model for each in grid.grid_points()] == ["15 servers, 4 classes"] * 24 + [
            "borg-b"
        ] * 24
        assert {each.label for each in grid.grid_points()} == {"MSF", "FCFS"}

    def test_rates_or_the_models_as_they_are(self) -> None:
        (one,) = qs.Grid("four-class", "msf").points()
        assert one == qs.Point.of("four-class", "msf", engine="events")
        (other,) = qs.Grid("four-class", qs.MSF(), rates=2, seed=5, engine="auto").points()
        assert other == qs.Point.of(qs.load("four-class").with_rate(2), "msf", seed=5)

    def test_repetitions_count_once(self) -> None:
        grid = qs.Grid("four-class", ["msf", "MSF", qs.MSF()], loads=[0.5, 0.5], seeds=[1, 1])
        assert len(grid) == len(grid.points()) == 1
        assert len(grid_points_of([grid, grid])) == 1

    @pytest.mark.parametrize(
        ("build", "part"),
        [
            (
                lambda: qs.Grid("four-class", "msf", loads=0.5, rates=1),
                "loads and rates are both given",
            ),
            (lambda: qs.Grid("four-class", "msf", loads=[]), "empty list"),
            (lambda: qs.Grid("four-class", [], loads=[0.5]), "empty list"),
            (lambda: qs.Grid("four-class", "msf", loads=[0.5, -1]), "an item of loads"),
            (lambda: qs.Grid("four-class", "msf", loads="x"), "an item of loads"),
            (lambda: qs.Grid("four-class", "msf", threads=3), "unknown key of a grid"),
            (lambda: qs.Grid("nowhere", "msf"), "nowhere"),
            (lambda: qs.Grid("four-class", "msf", jobs=0).points(), "jobs is 0"),
            (lambda: qs.Grid("four-class", "msfq:threshold=3").points(), "MSFQ"),
            (
                lambda: qs.Grid(FOUR, "msf", seeds=range(1500), jobs=range(1, 900)).points(),
                "at most",
            ),
        ],
    )
    def test_mistakes(self, build: Callable[[], object], part: str) -> None:
        with pytest.raises(qs.QuickswapError, match=part):
            build()


COMMON = """
models = ["four-class"]
loads = [0.3, 0.5]
jobs = 500

[[grid]]
policies = ["msf", "smash:window=[1,2]"]

[[grid]]
model = "mine.toml"
rate = 1.0
policies = [{ name = "msfq", threshold = [0, 1] }]
seeds = [1, 2]
"""


class TestFile:
    def write(self, folder: Path, text: str) -> Path:
        (folder / "mine.toml").write_text(
            one_or_all(2, 1.0, 0.1).to_toml(),
            encoding="utf-8",
        )
        (folder / "g.toml").write_text(text, encoding="utf-8")
        return folder / "g.toml"

    def test_several_grids_with_what_they_share(self, tmp_path: Path) -> None:
        first, second = qs.Grid.load(self.write(tmp_path, COMMON))
        assert (len(first), len(second)) == (6, 4)
        assert (second.loads, second.rates) == (None, (1.0,))
        points = [*first.points(), *second.points()]
        assert {each.inputs.jobs for each in points} == {500}
        assert second.models[0][0] == "mine"
        assert [each.point for each in grid_points_of(tmp_path / "g.toml")] == points

    def test_one_grid(self, tmp_path: Path) -> None:
        text = (
            'model = "four-class"\npolicy = "msf"\nload = 0.5\nseed = 3\nwarmup = ["mser5", 0.1]\n'
        )
        (grid,) = qs.Grid.load(self.write(tmp_path, text))
        assert {each.inputs.warmup for each in grid.points()} == {"mser5", 0.1}
        assert {each.inputs.seed for each in grid.points()} == {3}

    @pytest.mark.parametrize(
        ("text", "part"),
        [
            ("model = ", "not valid TOML"),
            ('model = "four-class"', "requires policies"),
            ('policy = "msf"', "requires models"),
            ('model = "four-class"\nmodels = []\npolicy = "msf"', "models twice"),
            ('model = "four-class"\npolicy = "msf"\nlods = [1]', "did you mean 'loads'"),
            ('grid = 3\nmodel = "four-class"', "array of tables"),
            (
                'model = "four-class"\npolicy = "msf"\nload = 0.5\nrate = 1.0',
                "loads and rates are both given",
            ),
            ('model = "four-class"\npolicy = "mfs"', "did you mean 'msf'"),
        ],
    )
    def test_mistakes(self, tmp_path: Path, text: str, part: str) -> None:
        with pytest.raises(qs.QuickswapError, match=part) as caught:
            qs.Grid.load(self.write(tmp_path, text))
        assert "g.toml" in str(caught.value)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(qs.QuickswapError, match=r"no\.toml cannot be read"):
            qs.Grid.load(tmp_path / "no.toml")


class TestShards:
    def points(self) -> list[qs.Point]:
        jobs = [1000 * 2**i for i in range(6)]
        return qs.Grid(FOUR, ["msf", "fcfs"], loads=[0.3, 0.5], jobs=jobs, seeds=[1, 2]).points()

    @pytest.mark.parametrize("count", [1, 3, 10, 100])
    def test_each_point_is_in_one(self, count: int) -> None:
        points = self.points()
        parts = [shard_of(points, f"{i}/{count}") for i in range(1, count + 1)]
        assert sorted(each.key for part in parts for each in part) == sorted(p.key for p in points)
        again = [shard_of([*points[::-1], *points], f"{i}/{count}") for i in range(1, count + 1)]
        assert again == parts

    def test_all_take_about_as_long(self) -> None:
        sums = [sum(map(expected_work, shard_of(self.points(), f"{i}/4"))) for i in range(1, 5)]
        assert max(sums) < 1.1 * min(sums)

    def test_reading(self) -> None:
        assert read_shard(" 3 / 10") == (3, 10)
        for wrong in ("0/3", "4/3", "3", "a/b", "", None, 3, "1/9999999"):
            with pytest.raises(qs.QuickswapError, match="third of ten"):
                read_shard(wrong)


class TestBudget:
    def grid_points(self, budget: int, **settings: Any) -> list[qs.Point]:
        grid = qs.Grid(FOUR, ["msf", "fcfs"], loads=[0.3, 0.9], **{"precision": 0.01} | settings)
        return [each.point for each in grid_points_of(grid, budget)]

    def test_it_goes_where_it_is_needed(self) -> None:
        points = self.grid_points(1_000_000)
        jobs = [point.inputs.jobs for point in points]
        assert 990_000 < sum(jobs) <= 1_000_000
        assert jobs[0] == jobs[1] < jobs[2] == jobs[3]
        assert jobs[0] > 10_000

    def test_a_large_one_changes_nothing(self) -> None:
        assert {point.inputs.jobs for point in self.grid_points(10**13, jobs=5000)} == {5000}

    def test_mistakes(self) -> None:
        with pytest.raises(qs.QuickswapError, match="give 40000 or more"):
            self.grid_points(1000)
        with pytest.raises(qs.QuickswapError, match="give the grid a precision"):
            self.grid_points(10**6, precision=None)


@pytest.mark.parametrize("grid", [3, "no.toml", [], [3]])
def test_what_is_no_grid(grid: Any) -> None:
    with pytest.raises(qs.QuickswapError):
        qs.sweep(grid)


def test_a_mistake_names_its_model() -> None:
    grid = qs.Grid(["one-or-all", "four-class"], ["msfq"], loads=[0.5], jobs=1000)
    with pytest.raises(qs.PolicyError, match=r"^four-class: MSFQ serves"):
        list(grid.grid_points())


@pytest.mark.parametrize("noun", ["stretch", "class", "day", "box"])
def test_one_is_not_many(noun: str) -> None:
    from quickswap._words import counted

    assert counted(1, noun) == f"1 {noun}"
    assert counted(2, noun) in (f"2 {noun}s", f"2 {noun}es")
    assert counted(2, noun).endswith("es") == (noun != "day")
