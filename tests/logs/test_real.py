"""What the reports say of three real logs, where the files are."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from logs_helpers import KTH, NASA, XDMOD, XDMOD_FORMAT, consistent, counted, real
from quickswap import logs
from quickswap.logs import times, values


def test_kth() -> None:
    log = logs.read(real(KTH))
    consistent(log)
    assert (len(log), log.servers, log.report.rows) == (28_489, 100, 28_489)
    assert (log.origin, log.zone, log.duration) == (843_480_031, "Europe/Stockholm", 29_363_618)
    assert counted(log) == {"zero_size": 8, "overrun": 475, "other_need": 219}
    assert log.report.states == {"completed": 20_541, "failed": 7_948}
    header, servers = log.report.facts
    assert "28,490 jobs; the log has 28,489 rows" in header
    assert "0.0712 % of the time, up to 104" in servers
    assert log.load == pytest.approx(0.6895, abs=1e-4)
    assert len(log.needs) == 97


def test_nasa() -> None:
    log = logs.read(real(NASA))
    consistent(log)
    assert (len(log), log.servers, log.report.rows) == (18_239, 128, 18_239)
    assert counted(log) == {"zero_size": 173, "no_estimate": 18_239, "no_wait": 18_239}
    assert log.report.states == {"unknown": 18_239}
    [header] = log.report.facts
    assert "42,264 jobs; the log has 18,239 rows" in header
    assert log.load == pytest.approx(0.4661, abs=1e-4)
    assert [*log.needs] == [1, 2, 4, 8, 16, 32, 64, 128]


def test_xdmod() -> None:
    log = logs.read(real(XDMOD), sacct_format=XDMOD_FORMAT, servers=1159)
    consistent(log)
    assert (len(log), log.report.rows) == (11_285, 11_704)
    assert counted(log) == {"never_started": 419, "zero_size": 612, "overrun": 9, "held": 37}
    assert log.report.states == {
        "completed": 10_134,
        "failed": 1_007,
        "cancelled": 468,
        "preempted": 86,
        "timeout": 9,
    }
    kept = dict(log.jobs["state"].cast(str).value_counts().rows())
    assert kept["cancelled"] == 49  # cancelled while they ran: load
    assert kept["preempted"] == 86
    zone, held, partitions, begins = log.report.facts
    assert "time zone" in zone
    assert held.startswith("37 jobs became eligible after")
    assert partitions.startswith("7 partitions")
    assert "first 1 % of the jobs were submitted in 72.4 % of the time" in begins


def test_xdmod_fields_are_what_they_are_called() -> None:
    names = XDMOD_FORMAT.split(",")
    rows = [line.split("|") for line in real(XDMOD).read_text().splitlines()]
    jobs = pl.DataFrame(rows, schema=names, orient="row")
    seconds = {name: times.seconds(pl.col(name), "UTC") for name in ("Start", "End")}
    for first, second in (
        (seconds["End"] - seconds["Start"], values.duration(pl.col("Elapsed"), minutes=True)),
        (values.tres(pl.col("AllocTRES"), "cpu"), pl.col("NCPUS").cast(pl.Float64)),
        (values.tres(pl.col("ReqTRES"), "cpu"), pl.col("ReqCPUS").cast(pl.Float64)),
    ):
        same = jobs.select(first.alias("first"), second.alias("second"))
        assert same["first"].equals(same["second"], check_names=False)
        assert not same["first"].has_nulls()
    # a group has one number; an account is not a group, though as many of either occur
    assert jobs.select("Group", "GID").n_unique() == jobs["Group"].n_unique() == 7
    assert jobs.select("Account", "GID").n_unique() > jobs["Account"].n_unique()


def test_xdmod_one_partition_nodes_and_window() -> None:
    log = logs.read(
        real(XDMOD),
        sacct_format=XDMOD_FORMAT,
        servers=100,
        unit="node",
        partition="croutons",
        timezone="America/New_York",
        start="2016-12-31",
    )
    consistent(log)
    assert set(log.jobs["partition"].cast(str)) == {"croutons"}
    left_out = {"never_started": 419, "other_partition": 10_274, "outside_window": 370}
    assert counted(log) == left_out
    assert (len(log), log.needs) == (641, {1: 641})
    assert log.origin is not None
    assert log.origin >= 1_483_160_400  # midnight of New York


def test_xdmod_requires_fields_and_servers() -> None:
    path = real(XDMOD)
    with pytest.raises(logs.LogError, match="26 fields and no header"):
        logs.read(path)
    with pytest.raises(logs.LogError, match="largest need is 80; up to 1,159 "):
        logs.read(path, sacct_format=XDMOD_FORMAT)


@pytest.mark.parametrize(
    ("name", "options", "dispersion"),
    [
        (KTH, {}, 8.63),
        (NASA, {}, 16.58),
        (XDMOD, {"sacct_format": XDMOD_FORMAT, "servers": 1159}, 195.25),
    ],
)
def test_models(name: str, options: dict[str, Any], dispersion: float) -> None:
    log = logs.read(real(name), **options)
    for size in ("best", "empirical"):
        system = logs.fit(log, size=size)
        found = logs.goodness(log, system)
        assert len(system.classes) <= 10
        assert system.load == pytest.approx(log.load)
        assert sum(each.jobs for each in found.classes) == len(log)
        assert found.dispersion.value == pytest.approx(dispersion, rel=1e-3)
        if name == KTH:  # those of independent hours would be 0.26
            assert 1 < found.dispersion.half_width < 2
            assert "the sizes do not follow" in str(found) or size == "empirical"
        for each in found.classes:
            assert each.ks_chance <= 1 or each.jobs == 1
            assert each.mean.model == pytest.approx(each.mean.log.value)
            if size == "empirical":
                assert each.ks < 0.03 or each.jobs == 1
                assert each.scv.model == pytest.approx(each.scv.log.value, rel=0.02)
