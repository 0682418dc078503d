"""What a report says: the best policy, who waits less or more, and the limits of the log."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from quickswap import logs
from quickswap.replays import replay_all
from quickswap.report.cautions import Cautions, cautions
from quickswap.report.charts import forest, ticks
from quickswap.report.data import COLUMNS, ReportData, difference, marks, relative_saving
from quickswap.report.groups import (
    GroupChange,
    Grouping,
    by_need,
    by_user,
    check_filled,
    count_changes,
)
from quickswap.report.summary import (
    bounded_slowdown,
    concentration,
    decide,
    longest_waits,
    negligible,
    summarise,
)
from quickswap.report.text import UNITS, duration, listed, percent, share
from quickswap.statistics.estimates import Estimate
from report_helpers import DAY, WEEK, busy, log_of, page_of, replayed, rows, starved


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """A log that shows that EASY is better than FCFS."""
    return replayed(tmp_path_factory.mktemp("crowded"), busy(), "fcfs", "easy")


def test_conclusive(crowded: ReportData) -> None:
    decision = decide(crowded.main)
    assert decision.conclusive
    assert decision.first is crowded.main.baseline
    assert decision.rival is crowded.main.others[0]
    assert decision.gap == decision.rival.difference(decision.first)
    assert decision.candidates == ("EASY",)
    assert summarise(crowded, crowded.main).replacement is None


def test_saving_relative_to_the_rival(crowded: ReportData) -> None:
    easy, fcfs = crowded.main.baseline, crowded.main.others[0]
    saving = relative_saving(easy, fcfs)
    assert saving is not None
    means = [each.mean_waiting_time.value for each in (easy, fcfs)]
    assert saving.value == pytest.approx(1 - means[0] / means[1])
    assert 0 < saving.half_width < 1


def test_short_waits(tmp_path: Path) -> None:
    data = replayed(tmp_path, busy(load=0.02), "fcfs", "easy")
    decision = decide(data.main)
    assert not decision.conclusive
    assert decision.slowest is data.main.ranked[-1]
    assert decision.left_out == 0
    part = logs.read(tmp_path / "log.parquet", servers=8, largest_need=2)
    decision = decide(ReportData.of(replay_all(part, ["fcfs", "easy"]), None, None).main)
    assert decision.slowest is not None
    assert decision.left_out == len(busy(load=0.02).filter(pl.col("need") > 2))


def test_a_few_busy_periods(tmp_path: Path) -> None:
    data = replayed(tmp_path, busy(bursts=3, load=0.5), "fcfs", "easy")
    decision = decide(data.main)
    assert not decision.conclusive
    assert decision.concentrated == concentration(decision.first)
    assert decision.concentrated.effective < 3.5
    assert decision.concentrated.pieces <= 3
    assert decision.concentrated.share >= 0.9


def test_differences_that_may_be_chance(tmp_path: Path) -> None:
    data = replayed(tmp_path, busy(load=0.6), "easy", "conservative")
    decision = decide(data.main)
    assert decision.chance
    assert not decision.conclusive
    assert len(decision.tied) == 1


def test_marks_of_the_table(crowded: ReportData) -> None:
    column = {each.name: each for each in COLUMNS}
    assert marks(column["mean wait"], crowded.main) == ["", "best"]
    assert marks(column["longest wait"], crowded.main) == ["", ""]
    best, tied = bounded_slowdown(crowded) or (None, ())
    assert best is crowded.main.baseline
    assert tied == ()


def test_users_have_paired_intervals(tmp_path: Path) -> None:
    log = log_of(tmp_path, rows(500, 8 * WEEK, load=0.95), without="group")
    data = ReportData.of(replay_all(log, ["easy", "first-fit"]), None, None)
    users = by_user(data, data.main)
    assert users is not None
    changes = users.rows["First-Fit"]
    outcomes = {each.policy_label: each.outcomes() for each in data.main.policies}
    for row in changes:
        mine = pl.col("measured") & (pl.col("user") == row.name)
        waits = [outcomes[name].filter(mine)["wait"] for name in ("First-Fit", "EASY")]
        means = [float(np.mean(each.to_numpy())) for each in waits]
        assert row.change is not None
        assert row.change.value == pytest.approx(means[0] - means[1])
        assert row.baseline.value == pytest.approx(means[1])
        assert row.change.half_width > 0
    assert sum(row.jobs for row in changes) == pytest.approx(1)
    assert sum(row.work for row in changes) == pytest.approx(1)


def test_changes_by_need_are_those_of_the_classes(crowded: ReportData) -> None:
    base, other = crowded.main.baseline, crowded.main.others[0]
    found = by_need(crowded.main).rows["FCFS"]
    assert [row.name for row in found] == [each.name for each in base.classes]
    for row, each in zip(found, base.classes, strict=True):
        assert row.baseline.value == pytest.approx(each.mean_waiting_time.value)
        change = other.difference(base, cls=each.name)
        assert row.change is not None
        assert (row.change.low, row.change.high) == pytest.approx((change.low, change.high))
    total = sum(row.jobs * row.change.value for row in found if row.change is not None)
    assert total == pytest.approx(other.difference(base).value)


@pytest.mark.parametrize(
    ("column", "noun", "groups"), [(None, "group", 3), ("user", "user", 5), ("class", None, 0)]
)
def test_column_of_the_groups(
    tmp_path: Path, column: str | None, noun: str | None, groups: int
) -> None:
    log = log_of(tmp_path, rows(200, 30 * DAY))
    data = ReportData.of(replay_all(log, ["easy", "first-fit"]), column, None)
    found = by_user(data, data.main)
    assert (found and found.column, len(found.rows["First-Fit"]) if found else 0) == (noun, groups)


def test_an_empty_column(tmp_path: Path) -> None:
    jobs = log_of(tmp_path, rows(20, DAY), without="group").jobs
    check_filled(jobs, "user")
    with pytest.raises(ValueError, match=r"contains: user\.$"):
        check_filled(jobs, "group")


def test_users_and_jobs_are_counted(crowded: ReportData) -> None:
    counts = count_changes(crowded, crowded.main)["FCFS"]
    fcfs, easy = (each.outcomes().filter("measured") for each in crowded.main.policies)
    changes = (fcfs["wait"] - easy["wait"]).to_numpy()
    later, earlier = float((changes >= 60).mean()), float((changes <= -60).mean())
    assert (counts.later.value, counts.earlier.value) == pytest.approx((later, earlier))
    assert (counts.later.half_width > 0) == (0 < later < 1)
    assert (counts.column, counts.groups) == ("user", 3)
    assert counts.lose >= 2
    assert counts.gain == 0


def test_users_of_one_week_are_not_counted(tmp_path: Path) -> None:
    jobs = busy().with_columns(
        pl.when(pl.col("submit").is_between(30 * DAY, 37 * DAY))
        .then(pl.lit("guest"))
        .otherwise(pl.lit("home"))
        .alias("user")
    )
    data = replayed(tmp_path, jobs, "easy", "fcfs")
    counts = count_changes(data, data.main)["FCFS"]
    assert (counts.groups, counts.gain + counts.lose) == (2, 1)


def test_users_counted_and_users_shown_are_the_same(tmp_path: Path) -> None:
    jobs = busy()
    late = pl.Series([f"late{i}" for i in range(20)])  # who come when nothing is measured
    many = pl.Series([f"u{i % 40}" for i in range(len(jobs) - 20)])
    data = replayed(tmp_path, jobs.with_columns(user=pl.concat([many, late])), "easy", "fcfs")
    counts = count_changes(data, data.main)["FCFS"]
    users = by_user(data, data.main)
    assert users is not None
    found = users.rows["FCFS"]
    assert (counts.groups, len(found), found[-1].name) == (40, 13, "all 28 others")
    work = [row.work for row in found[:-1]]
    assert work == sorted(work, reverse=True)
    assert sum(row.jobs for row in found) == pytest.approx(1)


def test_a_short_mean_wait_has_its_price(tmp_path: Path) -> None:
    data = replayed(tmp_path, starved(), "fcfs", "first-fit")
    fcfs, first = data.main.policies
    found = summarise(data, data.main)
    assert found.decision is not None
    assert found.decision.first is first
    assert found.price is not None
    assert (found.price.name, found.price.kind) == ("8", "loss")
    longest = list(longest_waits(data.main, found.decision))
    assert found.longest == tuple(longest)
    assert [(each.policy, each.other) for each in longest] == [("First-Fit", "FCFS")]
    assert (longest[0].wait, longest[0].other_wait) == (first.longest_wait, fcfs.longest_wait)
    assert found.replacement is not None
    assert [row.name for _, row in found.replacement.longer][:1] == ["8"]
    assert found.replacement.counts == found.counts["First-Fit"]
    assert found.others == ()


def test_one_policy_is_not_compared(tmp_path: Path) -> None:
    data = replayed(tmp_path, busy(), "first-fit")
    found = summarise(data, data.main)
    assert found.decision is not None
    assert found.decision.conclusive
    assert found.decision.rival is None
    assert (found.needs.rows, found.counts, found.others) == ({}, {}, ())
    assert bounded_slowdown(data) is None


def test_replays_of_different_jobs_are_not_paired(tmp_path: Path) -> None:
    log = log_of(tmp_path, rows(300, 8 * WEEK))
    data = ReportData.of(replay_all(log, ["easy", "fcfs"]), None, None)
    other = ReportData.of(replay_all(log, ["easy", "fcfs"], seed=2), None, None)
    assert difference(data.main.baseline, other.main.baseline) is None


def test_negligible_differences(crowded: ReportData) -> None:
    than = crowded.main.baseline
    mean = than.mean_waiting_time.value
    assert mean > 6100  # so that the second is not the first
    assert negligible(Estimate(59, 1), than)
    assert negligible(Estimate(-0.009 * mean, 1), than)
    assert not negligible(Estimate(-max(61, 0.011 * mean), 1), than)


NOTHING = Cautions(False, "", 0.0, (), 0, 0, False, 0, 0.0, 0, 0)


def test_missing_data(tmp_path: Path) -> None:
    head = (
        "; MaxProcs: 9\n; Note: There is no information on wait times - the given submit\n"
        ";       times are actually start times\n; Note: users are numbers\n"
    )
    found = cautions(replayed(tmp_path, busy(), "easy", head=head))
    assert found.no_waits
    assert found.note.startswith("There is no information on wait times - the given submit times")
    assert "users are numbers" not in found.note
    assert (found.no_estimates, found.estimators) == (1.0, ("EASY",))
    assert (found.stated, found.unstated) == (9, False)


def test_every_policy_that_uses_estimates_is_named_without_them(tmp_path: Path) -> None:
    policies = ("easy", "first-fit", "adaptive-quickswap", "adaptive-quickswap:backfill=0.03")
    data = replayed(tmp_path, busy(), *policies, head="; MaxProcs: 8\n")
    users = tuple(each.policy_label for each in data.main.policies[::3])
    assert cautions(data).estimators == users
    exact = replay_all(data.log, policies, estimate="exact")
    assert cautions(ReportData.of(exact, None, None)).estimators == ()


def test_partitions_and_an_unknown_number_of_servers(tmp_path: Path) -> None:
    jobs = busy().with_columns(
        pl.lit(0.0).alias("wait"),
        pl.col("size").alias("estimate"),
        pl.Series("partition", ["a", "b", "c"] * 500),
    )
    found = cautions(replayed(tmp_path, jobs, "easy"))
    assert (found.no_waits, found.estimators, found.partitions) == (False, (), 3)
    assert (found.stated, found.unstated) == (0, True)
    assert found.peak > 8
    exact = cautions(replayed(tmp_path, jobs, "easy", servers=found.peak))
    assert exact.peak == found.peak
    assert (found.above > 0, exact.above) == (True, 0)


@pytest.mark.parametrize(("size", "peak"), [(1, 0), (102, 0), (110, 16)])
def test_rounded_times_do_not_exceed_the_servers(tmp_path: Path, size: int, peak: int) -> None:
    jobs = pl.DataFrame(
        {
            "submit": [100 * i for i in range(400)],
            "need": 8,
            "size": [size] * 400,
            "wait": 0,
            "estimate": 200,
        }
    )
    found = cautions(replayed(tmp_path, jobs, "easy"))
    assert (found.peak > 8) == (peak > 8)
    assert found.above == pytest.approx(max(0, size - 103) * 399 / (399 * 100 + size - 3), rel=0.01)


def test_a_complete_log_has_no_cautions(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    lines = (f"{i} {9000 * i} 5 600 2 -1 -1 2 900 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 400))
    path.write_text("; MaxProcs: 8\n" + "".join(lines))
    found = cautions(ReportData.of(replay_all(logs.read(path), ["easy"]), None, None))
    assert found == NOTHING
    assert not found


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-3.5, 0.6, [-3, -2, -1, 0]), (0, 0, [0]), (0, 55, [0, 10, 20, 30, 40, 50])],
)
def test_ticks(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_positions_of_the_changes() -> None:
    base = Estimate(1.0, 0.1)
    gaps = [Estimate(-120, 30), Estimate(60, 90), Estimate(240, 60), Estimate(600, math.nan)]
    groups = [GroupChange(f"<{i}", 0.1, 0.1, base, gap) for i, gap in enumerate(gaps)]
    picture = forest([*groups, GroupChange("x", 0.1, 0.1, base, None)], UNITS[1])
    assert [mark.kind for mark in picture.marks] == ["gain", "open", "loss", "open"]
    assert [mark.name for mark in picture.marks] == ["<0", "<1", "<2", "<3"]
    values = [mark.value for mark in picture.marks]
    assert values == sorted(values)
    assert values[0] < picture.zero < values[1]
    for mark, gap in zip(picture.marks, gaps, strict=True):
        assert mark.low <= mark.value <= mark.high
        assert (mark.low == mark.high) == math.isnan(gap.half_width)
        assert picture.left < mark.low <= mark.high < picture.right
    assert np.diff([mark.y for mark in picture.marks]) == pytest.approx(22)
    grouping = Grouping("user", {"A": tuple(groups)})
    assert grouping.largest("A", "gain") is groups[0]
    assert grouping.largest("A", "loss") is groups[2]
    assert grouping.largest("B", "loss") is None


def test_numbers_as_text() -> None:
    for seconds, text in ((30.0, "30 s"), (600.0, "10 min"), (36e3, "10 h"), (864e3, "10 days")):
        assert plain(duration(seconds)) == text
    assert plain(UNITS[2].text(Estimate(36e3, 1800.0))) == "10.00 ± 0.50 h"
    for value, text in ((0.0, "0"), (0.01234, "0.0123"), (7.004, "7.00"), (12.34, "12.3"),
                        (1240.4, "1,240"), (math.nan, "-")):  # fmt: skip
        assert UNITS[0].plain(value) == text
    assert plain(percent(Estimate(0.123, 0.015))) == "12.3 ± 1.5"
    shares = [plain(share(part)) for part in (0.0, 0.0004, 0.004, 0.4)]
    assert shares == ["0.0 %", "under 0.1 %", "0.4 %", "40 %"]
    unit = UNITS[0]
    signs = [plain(unit.signed(Estimate(value, 1.0))) for value in (-12.0, 0.0, 12.0)]
    assert signs == ["\N{MINUS SIGN}12.0 ± 1.0", "0.0 ± 1.0", "+12.0 ± 1.0"]
    assert (listed(["a"]), listed("abc"), listed("ab", "or")) == ("a", "a, b and c", "a or b")


@pytest.mark.parametrize(("wait", "unexplained"), [(7200, True), (0, False)])
def test_waits_that_the_replay_does_not_explain(
    tmp_path: Path, wait: float, unexplained: bool
) -> None:
    """Jobs hardly wait in the replay; if they did in the log, the report begins with that."""
    jobs = busy(load=0.02).with_columns(wait=pl.lit(float(wait)))
    jobs.write_parquet(tmp_path / "log.parquet")
    log = logs.read(tmp_path / "log.parquet", servers=8)
    for policies in (["fcfs", "easy"], ["easy"]):
        comparison = replay_all(log, policies, load_factors=[1.0, 1.1])
        data = ReportData.of(comparison, None, None)
        for level in data.levels:
            decision = decide(level)
            assert (decision.unexplained is not None) == unexplained
            assert decision.conclusive == (len(policies) == 1 and not unexplained)
            assert not (decision.slowest and unexplained)
    page = page_of(comparison, tmp_path)
    summary = page.text["summary"].strip().removeprefix("Summary").strip()
    assert summary.startswith("Limits, priorities, partitions, dep") == unexplained
    assert not (unexplained and "hardly" in summary)
    groups = page.tables["Logged waits by user"]
    assert {row[0] for row in groups[1:]} == {"ann", "bob", "cy"}
