"""What a report says first: whether the log decides, what it lacks, and how many gain or lose."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from quickswap import logs
from quickswap.replays import replay_all
from quickswap.report.costs import starving
from quickswap.report.counting import counted_at
from quickswap.report.deciding import decided, effective, important
from quickswap.report.doubts import doubts
from quickswap.report.forest import _ticks, forest
from quickswap.report.gains import Gain, by_class, by_user
from quickswap.report.gains_section import Sides
from quickswap.report.markup import tag
from quickswap.report.model import Told
from quickswap.report.summary import summary
from quickswap.report.words import UNITS
from quickswap.statistics.estimates import Estimate

DAY = 86400.0


def busy(weeks: int = 12, load: float = 0.9, seed: int = 5, bursts: int = 0) -> pl.DataFrame:
    """Return jobs of a machine of 8 servers; with `bursts` all on so many days."""
    draw = np.random.default_rng(seed)
    jobs, span = 1500, weeks * 7 * DAY
    need = draw.choice([1, 2, 8], jobs, p=[0.7, 0.2, 0.1])
    size = draw.exponential(1.0, jobs)
    size = np.rint(size * load * 8 * span / (need * size).sum()) + 1
    submit = draw.uniform(0, span, jobs)
    if bursts:
        submit = np.floor(submit / span * bursts) * span / bursts + draw.uniform(0, DAY / 4, jobs)
    return pl.DataFrame(
        {
            "submit": np.rint(np.sort(submit)),
            "need": need,
            "size": size,
            "user": draw.choice(["ann", "bob", "cy"], jobs, p=[0.7, 0.25, 0.05]),
        }
    )


def told(
    folder: Path, jobs: pl.DataFrame, *policies: str, servers: int | None = 8, head: str = ""
) -> Told:
    """Return the replays of jobs, read as a table, or as SWF if there are lines of its header."""
    if head:
        path = folder / "log.swf"
        columns = jobs.select("submit", "size", "need").rows()
        rows = (f"{i} {a:.0f} -1 {s:.0f} {n} -1 -1 {n} -1 -1 1 {i % 3} 1 1 1 1 -1 -1"
                for i, (a, s, n) in enumerate(columns, 1))  # fmt: skip
        path.write_text(head + "\n".join(rows) + "\n")
    else:
        path = folder / "log.parquet"
        jobs.write_parquet(path)
    return Told.of(replay_all(logs.read(path, servers=servers), policies), None, None)


def test_a_log_that_decides(tmp_path: Path) -> None:
    found = told(tmp_path, busy(), "fcfs", "easy")
    decision = decided(found, found.main)
    assert decision.settled
    assert decision.first.policy_label == "EASY"
    assert decision.tied == ()


def test_nobody_waits(tmp_path: Path) -> None:
    found = told(tmp_path, busy(load=0.02), "fcfs", "easy")
    decision = decided(found, found.main)
    assert decision.reasons[0].startswith("Jobs hardly wait, whatever the policy: on average")
    assert "bring a log of a busier time" in decision.advice


def test_a_few_events(tmp_path: Path) -> None:
    found = told(tmp_path, busy(bursts=3, load=0.5), "fcfs", "easy")
    decision = decided(found, found.main)
    number, few, share = effective(decision.first)
    assert number < 3.5
    assert few <= 3
    assert share >= 0.9
    assert f"{100 * share:.0f} % of its jobs were submitted in {few} of its" in decision.reasons[0]
    assert decision.advice.startswith("Bring a longer log")


def test_what_may_be_chance(tmp_path: Path) -> None:
    found = told(tmp_path, busy(load=0.6), "easy", "conservative")
    decision = decided(found, found.main)
    assert not decision.settled
    assert decision.among == "which of these policies is best"
    assert "may well be chance" in decision.reasons[-1] or "wait the same" in decision.reasons[-1]


def test_what_a_log_lacks(tmp_path: Path) -> None:
    head = (
        "; MaxProcs: 9\n; Note: There is no information on wait times - the given submit\n"
        ";       times are actually start times\n; Note: users are numbers\n"
    )
    told_of = doubts(told(tmp_path, busy(), "easy", head=head))
    assert (
        "“There is no information on wait times - the given submit times are actually"
        in (told_of[0])
    )
    assert "users are numbers" not in told_of[0]
    assert told_of[1].startswith("The log gives no estimates of run times, on which EASY relies.")
    assert told_of[2] == (
        "The log says that the machine has 9 servers; 8 were given for the replay."
    )


def test_partitions_and_servers_that_are_not_known(tmp_path: Path) -> None:
    jobs = busy().with_columns(
        pl.lit(0.0).alias("wait"),
        pl.col("size").alias("estimate"),
        pl.Series("partition", ["a", "b", "c"] * 500),
    )
    machine, servers, peak = doubts(told(tmp_path, jobs, "easy"))
    assert machine.startswith("Its 3 partitions are taken as one machine")
    assert servers.startswith("The log does not say how many servers the machine has; 8 were")
    most = int(peak.split()[5])
    assert most > 8
    assert peak.startswith(f"The log shows up to {most} servers in use at once, more than the 8")
    _, exact = doubts(told(tmp_path, jobs, "easy", servers=most))
    assert f"{most} is the most that were ever in use at once" in exact


def test_a_log_that_tells_all_raises_no_doubt(tmp_path: Path) -> None:
    head = "; MaxProcs: 8\n"
    path = tmp_path / "log.swf"
    rows = (f"{i} {9000 * i} 5 600 2 -1 -1 2 900 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 400))
    path.write_text(head + "".join(rows))
    found = Told.of(replay_all(logs.read(path), ["easy"]), None, None)
    assert doubts(found) == []


def test_users_and_jobs_are_counted(tmp_path: Path) -> None:
    found = told(tmp_path, busy(), "easy", "fcfs")
    counted = counted_at(found, found.main)["FCFS"]
    easy, fcfs = (each.outcomes().filter("measured") for each in found.main.results)
    later = (fcfs["wait"] - easy["wait"] >= 60).mean()
    sooner = (fcfs["wait"] - easy["wait"] <= -60).mean()
    assert (counted.later, counted.sooner) == pytest.approx((later, sooner))
    assert (counted.noun, counted.people) == ("user", 3)
    assert counted.lose >= 2
    assert counted.gain == 0


def test_users_of_a_week_are_not_clear(tmp_path: Path) -> None:
    jobs = busy().with_columns(
        pl.when(pl.col("submit").is_between(30 * DAY, 37 * DAY))
        .then(pl.lit("guest"))
        .otherwise(pl.lit("home"))
        .alias("user")
    )
    found = told(tmp_path, jobs, "easy", "fcfs")
    counted = counted_at(found, found.main)["FCFS"]
    assert (counted.people, counted.gain + counted.lose) == (2, 1)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(-3.5, 0.6, [-3, -2, -1, 0]), (0, 0, [0]), (0, 55, [0, 10, 20, 30, 40, 50])],
)
def test_ticks(low: float, high: float, ticks: list[float]) -> None:
    assert _ticks(low, high) == pytest.approx(ticks)


def test_the_picture_of_gains() -> None:
    base = Estimate(1.0, 0.1)
    gaps = [Estimate(-120, 30), Estimate(60, 90), Estimate(240, 60), Estimate(600, math.nan)]
    rows = [Gain(f"<{i}", 0.1, 0.1, base, gap) for i, gap in enumerate(gaps)]
    drawn = forest(rows, "A & B", "words", UNITS[1])
    assert "A &amp; B" in drawn
    assert "&lt;3" in drawn
    zero = float(re.findall(r'<line x1="([0-9.]+)"[^>]*stroke="black"', drawn)[0])
    tips = [float(x) for x in re.findall(r'<polygon points="([0-9.]+),', drawn)]
    rings = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', drawn)]
    assert tips[0] < zero < rings[0] < tips[1] < rings[1]  # what has no interval is not clear


def text_of(page: str) -> str:
    """Return what a page says, with plain blanks."""
    return re.sub(r"<[^>]+>", " ", page).replace("\N{NO-BREAK SPACE}", " ")


def starved() -> pl.DataFrame:
    """Return jobs of which the few that need the whole machine starve where others may pass."""
    draw = np.random.default_rng(3)
    need = draw.choice([1, 2, 8], 1500, p=[0.6, 0.38, 0.02])
    size = draw.exponential(1.0, 1500)
    size = np.rint(size * 0.7 * 8 * 140 * DAY / (need * size).sum()) + 1
    return busy(weeks=20, seed=3).with_columns(need=need, size=size)


def test_the_headline_carries_the_price(tmp_path: Path) -> None:
    found = told(tmp_path, starved(), "fcfs", "first-fit")
    fcfs, first = found.main.results
    assert decided(found, found.main).first is first
    assert first.longest_wait > 2 * fcfs.longest_wait
    said = text_of(summary(found, [(by_class(found), None)]))
    price = r"but jobs that need 8 servers wait [^,]* h more, and one job waited [\d,.]+ h \(the"
    assert re.search(
        rf"First-Fit makes users wait least: .{{60,120}}, {price} longest under FCFS: ", said
    )
    assert starving(found, found.main, fcfs) == ""


def test_one_policy_is_not_the_best_of_anything(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    busy().write_parquet(path)
    comparison = replay_all(logs.read(path, servers=8), "first-fit", load_factors=(1, 1.1))
    found = Told.of(comparison, None, None)
    sides: list[Sides] = [(by_class(found, point), None) for point in found.points]
    assert "wait least" not in text_of(summary(found, sides))


def test_users_counted_and_users_shown_are_the_same(tmp_path: Path) -> None:
    jobs = busy()
    late = pl.Series([f"late{i}" for i in range(20)])  # who come when nothing is measured
    many = pl.Series([f"u{i % 40}" for i in range(len(jobs) - 20)])
    found = told(tmp_path, jobs.with_columns(user=pl.concat([many, late])), "easy", "fcfs")
    counted = counted_at(found, found.main)["FCFS"]
    users = by_user(found)
    assert users is not None
    rows = users.of("FCFS")
    assert (counted.people, rows[-1].name) == (40, "all 28 others")
    shares = [row.work for row in rows[:-1]]
    assert shares == sorted(shares, reverse=True)
    assert sum(row.jobs for row in rows) == pytest.approx(1)


def test_a_difference_of_no_importance(tmp_path: Path) -> None:
    found = told(tmp_path, busy(), "easy", "fcfs")
    than = found.main.baseline
    mean = than.mean_waiting_time.value
    assert not important(Estimate(59, 1), than)
    assert not important(Estimate(-0.009 * mean, 1), than)
    assert important(Estimate(-max(61, 0.011 * mean), 1), than)
    assert mean > 6100  # so that the second is not the first


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    hard = "\N{NO-BREAK SPACE}"
    assert tag("p", "5 % of 3 h and 2 ± 1 min") == (
        f"<p>5{hard}% of 3{hard}h and 2{hard}±{hard}1{hard}min</p>"
    )
    assert tag("code", "--classes 1 h") == "<code>--classes 1 h</code>"
