"""`tune_log` and `quickswap tune LOG`: the winner, the limit on losses, slurm.conf, mistakes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import quickswap as qs
from cli_helpers import run
from quickswap.display.tuned_logs import log_tuning_page
from quickswap.logs import JobLog
from quickswap.tuning.for_logs import LogStanding, LogTuning, LogTuningRow, as_slurm
from replay_helpers import random_log


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> JobLog:
    return random_log(tmp_path_factory.mktemp("log"), 1500)


@pytest.fixture(scope="module")
def found(log: JobLog) -> LogTuning:
    return qs.tune_log(log, ["easy", "lsf"], baseline="fcfs")


def row(found: LogTuning, policy: str) -> LogTuningRow:
    return next(each for each in found.rows if each.policy == policy)


def test_a_candidate_that_is_clearly_better(log: JobLog, found: LogTuning) -> None:
    assert found.winner == "easy"
    assert found.baseline.policy == "fcfs"
    best = found.best
    assert best is not None
    assert best.rest is not None
    assert best.rest.change.high < 0
    assert not best.rest.violated
    # the figures of the rest are those of a replay of the whole log
    cut = log.jobs["submit"][int(0.6 * len(log))]
    share = (cut - log.jobs["submit"][0]) / log.duration
    own = qs.replay(log, "easy", warmup=share)
    assert best.rest.value == own.overall.waiting_time.mean
    assert best.rest.longest_wait == own.longest_wait
    # EASY is a setting of Slurm
    assert any("bf_job_part_count_reserve=1" in line for line in found.slurm_conf)
    assert found.requires == ""


def test_no_candidate_is_better(log: JobLog) -> None:
    found = qs.tune_log(log, "fcfs", baseline="easy", no_worse=1)
    assert (found.winner, found.slurm_conf, found.requires) == (None, (), "")
    assert row(found, "fcfs").rest is None
    assert row(found, "easy").standing is LogStanding.BASELINE


def test_waits_of_either_part_may_be_unexplained(log: JobLog) -> None:
    wait = qs.replay(log, "easy", warmup=0, cooldown=0).schedule.wait
    early = np.arange(len(log)) < 0.6 * len(log)
    for part, where in (("first part", early), ("rest", ~early)):
        jobs = log.jobs.with_columns(wait=pl.Series(wait + 1e6 * where))
        found = qs.tune_log(replace(log, jobs=jobs), "fcfs", no_worse=1)
        assert [each for each, waits in found.waits.items() if waits.unexplained] == [part]
        assert f"on the {part} of the log" in str(log_tuning_page(found)[0])


def test_a_log_in_which_no_job_waits(log: JobLog) -> None:
    short = replace(log, jobs=log.jobs[:20])
    found = qs.tune_log(short, "fcfs", servers=100_000)
    assert found.winner is None
    assert not found.rows[1].first.undecided
    answer = next(each for each in log_tuning_page(found) if str(each).startswith("Keep"))
    assert answer == "Keep EASY: no job of the first part waits."


def test_a_difference_that_the_rest_does_not_confirm(tmp_path: Path) -> None:
    policy = "easy:patience=inf,order=shortest"
    found = qs.tune_log(random_log(tmp_path, 800), policy)
    assert found.rows[1].first.change.value < 0
    assert found.rows[1].standing is LogStanding.UNCONFIRMED
    assert found.winner is None


def test_a_significant_gain_may_be_too_small(log: JobLog, found: LogTuning) -> None:
    assert found.best is not None
    assert found.best.rest is not None
    assert found.baseline.rest is not None
    gain = -found.best.rest.change.value / found.baseline.rest.value.value
    again = qs.tune_log(log, "easy", baseline="fcfs", smallest_gain=gain + 1e-9)
    assert (again.winner, again.slurm_conf) == (None, ())
    assert row(again, "easy").standing is LogStanding.SMALL
    assert row(again, "easy").rest == found.best.rest
    text = str(log_tuning_page(again)[0])
    assert text.startswith("Keep FCFS")
    assert f"by at least {100 * (gain + 1e-9):g} %" in text
    assert "EASY is significant, but smaller" in text


def test_the_limit_on_losses_rejects_a_policy(log: JobLog, found: LogTuning) -> None:
    lsf = row(found, "lsf")
    assert lsf.first.change.high < 0  # better, but not for the largest jobs
    assert lsf.standing is LogStanding.REJECTED
    assert lsf.rest is None
    worst = lsf.first.violated[0]
    assert (worst.column, worst.name) == ("need", "8")
    # the loss of that group, from the jobs of the first part alone
    first = log.jobs.filter(pl.col("submit") < log.jobs["submit"][int(0.6 * len(log))])
    waits: list[Any] = []
    for each in ("fcfs", "lsf"):
        replayed = qs.replay(JobLog(first, log.servers, log.report, log.source), each).outcomes()
        waits.append(replayed.filter("measured", pl.col("need") == 8)["wait"].mean())
    assert worst.wait == pytest.approx(waits[0])
    assert worst.change.value == pytest.approx(waits[1] - waits[0])


def test_every_group_is_judged(found: LogTuning) -> None:
    groups = row(found, "lsf").first.groups
    assert {each.name for each in groups if each.column == "user"} == {"ann", "bob", "cy"}
    assert [each.name for each in groups if each.column == "need"] == ["1", "2", "3", "4", "8"]
    for each in groups:
        assert each.violated == (each.excess.low > 0)
        assert not (each.violated and each.undecided)
        excess = each.change.value - max(0.1 * each.wait, 60)
        assert each.excess.value == pytest.approx(excess)


def test_json_and_frame_contain_everything(found: LogTuning) -> None:
    data = json.loads(found.to_json())
    assert (data["winner"], data["metric"]) == (found.winner, "waiting_time")
    assert [each["label"] for each in data["rows"]] == [each.label for each in found.rows]
    frame = found.to_frame()
    assert len(frame) == sum(1 + (each.rest is not None) for each in found.rows)
    assert frame["change"].is_finite().all()


@pytest.mark.parametrize("policy", ["easy", "easy:age=20000", "first-fit"])
def test_the_settings_of_slurm_take_the_same_decisions(log: JobLog, policy: str) -> None:
    slurm = as_slurm(qs.parse(policy))
    assert slurm is not None
    one, other = (qs.replay(log, each).schedule.start for each in (policy, slurm))
    late = np.abs(one - other)
    # a cycle is up to a second late, and one late start may change later ones
    assert np.mean(late > 2) < 0.02


@pytest.mark.parametrize("policy", ["easy:patience=3", "easy:order=shortest", "conservative"])
def test_policies_that_slurm_does_not_offer(policy: str) -> None:
    assert as_slurm(qs.parse(policy)) is None


def test_what_a_scheduler_without_the_setting_must_do(log: JobLog) -> None:
    found = qs.tune_log(log, "easy:patience=3,order=shortest", baseline="fcfs", no_worse=1)
    assert found.winner is not None
    assert found.slurm_conf == ()
    assert "3 times its time limit" in found.requires


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bf_interval": None},
        {"bf_interval": 60, "bf_min_age_reserve": 43200, "bf_window": 2880},
        {"priority_weight_job_size": 10_000, "priority_favor_small": True},
        {"priority_weight_age": 1000, "priority_max_age": 1440, "priority_weight_qos": 7},
    ],
)
def test_lines_of_slurm_conf_are_read_back(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = tmp_path / "slurm.conf"
    policy = qs.Slurm(**settings)
    path.write_text("\n".join(policy.to_conf()))
    assert qs.Slurm.from_conf(path) == policy


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"metric": "bogus"}, "metric"),
        ({"train": 1}, "train"),
        ({"train": "half"}, "train"),
        ({"no_worse": -0.1}, "no_worse"),
        ({"no_worse": 2}, "no_worse"),
        ({"smallest_gain": -0.1}, "smallest_gain"),
        ({"train": 0.97}, "log"),
        ({"warmup": 2}, "warmup"),
        ({"policies": []}, "policies"),
        ({"policies": "bogus"}, "name of the policy"),
        ({"baseline": 3}, "policy"),
    ],
)
def test_mistakes(log: JobLog, settings: dict[str, Any], argument: str) -> None:
    with pytest.raises(qs.QuickswapError) as caught:
        qs.tune_log(log, **({"policies": "fcfs"} | settings))
    assert caught.value.argument == argument


def test_a_log_without_duration(log: JobLog) -> None:
    with pytest.raises(qs.QuickswapError, match="one of the parts is empty"):
        qs.tune_log(JobLog(log.jobs[:1], 16, log.report, log.source), "fcfs")
    with pytest.raises(qs.QuickswapError, match="log"):
        qs.tune_log("kth.swf", "fcfs")  # type: ignore[arg-type]  # wrong on purpose


def test_the_command(log: JobLog, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    conf, out, page = (tmp_path / each for each in ("slurm.conf", "found.json", "page.html"))
    conf.write_text("SchedulerParameters=bf_interval=60\nPriorityType=priority/basic\n")
    words = ("tune", log.source, "--servers", "16", "--policies", "fcfs", "--no-worse", "30%")
    code, text, err = run(
        capsys, *words, "--slurm-conf", str(conf), "--json", str(out), "--report", str(page)
    )
    assert (code, err) == (0, "")
    data = json.loads(out.read_text())
    assert (data["no_worse"], data["servers"]) == (0.3, 16)
    assert data["rows"][0]["policy"] == "slurm:bf_interval=60"
    assert "Keep Slurm" in text
    assert "Slurm" in page.read_text(encoding="utf-8")
    for each in data["rows"]:
        assert any(line.startswith(each["label"]) for line in text.splitlines())


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("LOG", "--jobs", "1e6"), "--jobs"),
        (("LOG", "--load", "0.5"), "--load"),
        (("LOG", "--no-refine"), "--no-refine"),
        (("LOG", "--no-worse", "200%"), "--no-worse"),
        (("LOG", "--no-worse", "10%%"), "--no-worse"),
        (("LOG", "--train", "all"), "--train"),
        (("LOG", "--servers", "16", "--metric", "p99"), "--metric"),
        (("four-class", "--no-worse", "0.2"), "--no-worse"),
        (("four-class", "--timezone", "UTC"), "--timezone"),
        (("four-class", "--warmup", "0.2"), "--warmup"),
        (("four-class", "--metric", "slowdown"), "--metric"),
    ],
)
def test_mistakes_of_the_command(
    log: JobLog, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], option: str
) -> None:
    tokens = [log.source if each == "LOG" else each for each in words]
    code, out, err = run(capsys, "tune", *tokens)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert option in err or (option == "--no-refine" and "--refine" in err)


def test_a_model_file_of_any_name_is_a_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "model.txt"
    path.write_text('servers = 4\n[[classes]]\nneed = 1\nrate = 1\nsize = "bogus"\n')
    code, _, err = run(capsys, "tune", str(path))
    assert code == 2
    assert "size" in err
