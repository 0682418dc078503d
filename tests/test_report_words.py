"""What a report says first: whether the log decides, what it lacks, and how many gain or lose."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from quickswap import logs
from quickswap.estimates import Estimate
from quickswap.replays import replay_all
from quickswap.report.counting import counted_at
from quickswap.report.deciding import decided, effective
from quickswap.report.doubts import doubts
from quickswap.report.forest import _ticks, forest
from quickswap.report.gains import Gain
from quickswap.report.model import Told
from quickswap.report.words import UNITS

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
