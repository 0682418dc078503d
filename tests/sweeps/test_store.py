"""Stores: what is put in comes out, whatever happens to the file."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import warnings
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest

import quickswap as qs
from quickswap.sweeps.record import Record
from verification.known import FOUR, one_or_all

POLICIES = ("msf", "fcfs", "first-fit", "adaptive-quickswap")


def points(seeds: int = 1, jobs: int = 400) -> list[qs.Point]:
    systems = (FOUR.with_load(0.5), one_or_all(4, 1.0, 0.1))
    return [
        qs.Point.of(system, policy, jobs=jobs, engine="events", seed=seed)
        for system in systems
        for policy in POLICIES
        for seed in range(seeds)
    ]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """A hundred rows."""
    first = [(each, each.run()) for each in points()]
    made = [Record.of(*pair) for pair in first]
    for seed in range(100, 192):
        point, result = first[seed % len(first)]
        other = qs.Point.of(point.system, point.policy, **point.settings | {"seed": seed})
        fake = Record.of(point, result)
        made.append(
            Record(bytes.fromhex(other.key), fake.inputs, fake.result, fake.totals, b"", 1.0)
        )
    return made


@pytest.fixture
def path(tmp_path: Path, records: list[Record]) -> Path:
    """A store of a hundred rows."""
    with qs.Store(tmp_path / "s.db") as store:
        for each in records:
            store.add([each])
    return tmp_path / "s.db"


class TestValues:
    def test_results_come_back_equal(self, tmp_path: Path) -> None:
        given = points()
        fresh = [each.run() for each in given]
        with qs.Store(tmp_path / "s.db") as store:
            for point, result in zip(given, fresh, strict=True):
                assert point not in store
                store.put(point, result)
                assert point in store
                assert point.key in store
                assert store.seconds(point) == result.seconds
        with qs.Store(tmp_path / "s.db", create=False) as store:
            assert len(store) == len(given)
            assert list(store) == fresh
            assert list(store.points()) == given
            assert store.keys() == [each.key for each in given]
            for point, result in zip(given, fresh, strict=True):
                assert store[point.key].to_json() == result.to_json()
                assert store[point].seconds == result.seconds
        assert os.listdir(tmp_path) == ["s.db"]

    @pytest.mark.parametrize(
        "quantity", ["mean_response_time", "weighted_mean_response_time", "jain_index"]
    )
    def test_differences_are_those_of_fresh_results(self, quantity: str) -> None:
        given = points()[:2]
        fresh = [each.run() for each in given]
        store = qs.Store()
        for point, result in zip(given, fresh, strict=True):
            store.put(point, result)
        (a, b), (c, d) = (store[each] for each in given), fresh
        assert qs.difference(a, b, quantity) == qs.difference(c, d, quantity)
        assert qs.difference(a, d, quantity) == qs.difference(c, d, quantity)
        name = FOUR.names[2]
        assert qs.difference(a, b, cls=name) == qs.difference(c, d, cls=name)

    def test_a_point_is_kept_once(self) -> None:
        store, point = qs.Store(), points()[0]
        result = point.run()
        store.put(point, result)
        store.put(point, result)
        assert len(store) == 1
        assert repr(store) == "<Store in memory: 1 result>"

    def test_frame(self) -> None:
        store = qs.Store()
        assert store.to_frame().height == 0
        columns = store.to_frame().columns
        for point in points()[:2]:
            store.put(point, point.run())
        frame = store.to_frame()
        assert frame.columns == columns
        assert set(frame["key"]) == set(store.keys())
        assert set(frame["spelling"]) == set(POLICIES[:2])
        assert set(frame["jobs"]) == {400}
        plain = pl.concat([each.to_frame() for each in store])
        assert frame.select(plain.columns).equals(plain)

    def test_what_does_not_belong_is_refused(self) -> None:
        store, (point, other, *_) = qs.Store(), points()
        with pytest.raises(qs.QuickswapError, match="inputs"):
            store.put(point, other.run())
        with pytest.raises(qs.QuickswapError, match="takes a Point"):
            store.put(point, "result")  # type: ignore[arg-type] # no result: what is wrong on purpose
        with pytest.raises(KeyError):
            store[point]
        assert "no key" not in store
        assert 3 not in store


class TestMerge:
    def test_stores_become_one(self, tmp_path: Path, records: list[Record]) -> None:
        parts = [tmp_path / f"{i}.db" for i in range(3)]
        for i, part in enumerate(parts):
            with qs.Store(part) as store:
                store.add(records[i * 30 : i * 30 + 40])  # they overlap
        with qs.Store(tmp_path / "all.db") as store:
            assert store.merge(*parts) == 100
            assert store.merge(parts[0]) == 0
            assert sorted(store.keys()) == sorted(each.key.hex() for each in records)

    def test_another_result_of_the_same_point_is_refused(self) -> None:
        mine, other, (point, second, *_) = qs.Store(), qs.Store(), points()
        record = Record.of(point, point.run())
        mine.add([record])
        false = Record.of(second, second.run())
        other.add([Record(record.key, record.inputs, false.result, false.totals, b"", 1.0)])
        with pytest.raises(qs.QuickswapError, match="different results"):
            mine.merge(other)

    def test_there_must_be_a_file(self, tmp_path: Path) -> None:
        with pytest.raises(qs.QuickswapError, match="does not exist"):
            qs.Store().merge(tmp_path / "a.db")


class TestRefusals:
    def test_other_files(self, tmp_path: Path) -> None:
        text = tmp_path / "a.txt"
        text.write_text("no store" * 1000, encoding="utf-8")
        other = tmp_path / "other.db"
        connection = sqlite3.connect(other)
        connection.execute("CREATE TABLE t(a)")
        connection.close()
        before = [text.read_bytes(), other.read_bytes()]
        for each in (text, other):
            with pytest.raises(qs.QuickswapError, match="is not a store of results"):
                qs.Store(each)
        assert before == [text.read_bytes(), other.read_bytes()]
        with pytest.raises(qs.QuickswapError, match="is a folder"):
            qs.Store(tmp_path)
        with pytest.raises(qs.QuickswapError, match="does not exist"):
            qs.Store(tmp_path / "no" / "s.db")

    def test_another_format(self, path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 1")
        connection.close()
        with pytest.raises(qs.QuickswapError, match=r"format 1, and this version .* format 2"):
            qs.Store(path)

    def test_an_empty_file_is_a_new_store(self, tmp_path: Path) -> None:
        (tmp_path / "s.db").touch()
        assert len(qs.Store(tmp_path / "s.db")) == 0

    def test_a_closed_store(self, path: Path) -> None:
        store = qs.Store(path)
        store.close()
        with pytest.raises(qs.QuickswapError, match="is closed"):
            len(store)

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind")
    def test_a_file_that_is_read_only(self, path: Path) -> None:
        path.chmod(stat.S_IRUSR)
        with qs.Store(path) as store, pytest.raises(qs.QuickswapError, match="read-only"):
            store.add([Record.of(points(2)[1], points(2)[1].run())])


class TestFullDisk:
    def test_nothing_is_lost(self, path: Path, records: list[Record]) -> None:
        with qs.Store(path) as store:
            connection = store._database.connection
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
            point = points(2)[1]
            more = Record.of(point, point.run())
            copies = [
                Record(bytes([i]) * 32, more.inputs, more.result, more.totals, b"", 1.0)
                for i in range(50)
            ]
            with pytest.raises(qs.QuickswapError, match="the disk is full"):
                store.add(copies)
            assert len(store) == 100
        with qs.Store(path) as store:
            assert len(store) == 100


class TestDamage:
    @pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
    def test_a_file_that_is_cut_off_is_refused_and_left(self, path: Path, share: float) -> None:
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        before = path.read_bytes()
        with pytest.raises(qs.QuickswapError, match=r"damaged.*--merge"):
            qs.Store(path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("seed", range(12))
    def test_flipped_bytes_are_never_taken_for_results(
        self, path: Path, records: list[Record], seed: int
    ) -> None:
        noise = random.Random(seed)
        data = bytearray(path.read_bytes())
        for _ in range(3):
            data[noise.randrange(len(data))] ^= 1 << noise.randrange(8)
        path.write_bytes(data)
        original = {each.key: each for each in records}
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                store = qs.Store(path)
        except qs.QuickswapError:
            return
        with store:
            kept = {each.key: each for each in store._records()}
            assert all(original[key] == each for key, each in kept.items())
            assert len(kept) == len(records) or caught
            store.add(records)
            assert {each.key: each for each in store._records()} == original

    def test_a_row_that_does_not_match_its_check_sum_runs_again(
        self, path: Path, records: list[Record]
    ) -> None:
        connection = sqlite3.connect(path)
        connection.execute("UPDATE points SET seconds = seconds + 1 WHERE id IN (3, 100)")
        connection.commit()
        connection.close()
        with pytest.warns(UserWarning, match="2 rows"):
            store = qs.Store(path)
        with store:
            assert len(store) == 98
            assert store.add(records) == 2
            assert len(store) == 100

    @pytest.mark.parametrize(("first", "last"), [(0.5, 1.0), (0.5, 0.6)])
    def test_a_merge_takes_what_can_still_be_read(
        self, path: Path, records: list[Record], first: float, last: float
    ) -> None:
        data = bytearray(path.read_bytes())
        start, end = (int(share * len(data)) for share in (first, last))
        path.write_bytes(
            data[:start] if end == len(data) else data[:start] + bytes(end - start) + data[end:]
        )
        with qs.Store(path.with_name("recovered.db")) as store:
            with pytest.warns(UserWarning, match="is damaged"):
                kept = store.merge(path)
            assert 100 * (1 - last + first) - 10 < kept < 100
            assert store.add(records) == 100 - kept

    def test_damage_while_it_is_open(self, path: Path, records: list[Record]) -> None:
        with qs.Store(path) as store:
            connection = sqlite3.connect(path)
            connection.execute("UPDATE points SET seconds = seconds + 1")
            connection.commit()
            connection.close()
            with pytest.raises(qs.QuickswapError, match="open it again"):
                store[store.keys()[0]]


def _put(path: Path, first: int) -> None:
    store = qs.Store(path)
    point = points()[0]
    like = Record.of(point, point.run())
    for i in range(first, first + 40):
        key = i.to_bytes(32, "big")
        store.add([Record(key, like.inputs, like.result, like.totals, b"", float(i))])


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    context = get_context("spawn")
    workers = [context.Process(target=_put, args=(path, first)) for first in (0, 20, 60)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with qs.Store(path) as store:
        assert sorted(store.keys()) == [i.to_bytes(32, "big").hex() for i in range(100)]


def test_a_reader_sees_what_another_wrote(path: Path, records: list[Record]) -> None:
    point = points(2)[1]
    with qs.Store(path) as one, qs.Store(path) as other:
        one.put(point, point.run())
        assert point in other
        assert other[point] == one[point]
