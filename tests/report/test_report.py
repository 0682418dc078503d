"""The report of a replay: one page that is whole, safe and small, whatever the log."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from logs_helpers import written
from quickswap import Policy, ServerFilling, logs, write_report
from quickswap.errors import QuickswapError
from quickswap.replays import ReplayComparison, replay_all
from quickswap.report.gains import by_class, by_user
from quickswap.report.model import Told
from quickswap.report.words import common_unit, significant, unit_of
from quickswap.statistics.estimates import Estimate

POLICIES = ("easy", "first-fit")
"""Of most tests; each drawing and each replay takes a while."""
HOUR, DAY = 3600.0, 86400.0
Row = tuple[float, int, float, str, str, float]
"""Submission, need, size, user, group, wait as logged."""


def rows(jobs: int, span: float, servers: int = 8, load: float = 0.8, users: int = 5) -> list[Row]:
    random = np.random.default_rng(3)
    submit = np.sort(np.rint(random.uniform(0, span, jobs)))
    need = random.integers(1, servers + 1, jobs)
    size = np.rint(random.exponential(1.0, jobs) * load * servers * span / need.sum()) + 1
    owner = random.integers(0, users, jobs)
    return [
        (float(a), int(n), float(s), f"u{o}", f"g{o % 3}", float(a % 50))
        for a, n, s, o in zip(submit, need, size, owner, strict=True)
    ]


def log_of(folder: Path, jobs: Iterable[Row], servers: int = 8, but: str = "") -> logs.JobLog:
    """Read a log of some jobs; `but` names columns that it lacks."""
    names = ["submit", "need", "size", "user", "group", "wait"]
    kept = [i for i, name in enumerate(names) if name not in but.split()]
    lines = [",".join(str(row[i]) for i in kept) for row in jobs]
    text = "\n".join([",".join(names[i] for i in kept), *lines]) + "\n"
    return logs.read(written(folder, text, "jobs.csv"), servers=servers)


def compared(
    log: logs.JobLog, *policies: Policy | str, loads: tuple[float, ...] = (1.0,)
) -> ReplayComparison:
    return replay_all(log, policies or POLICIES, load_factors=loads)


def page_of(comparison: ReplayComparison, folder: Path, **options: str) -> str:
    path = folder / "report.html"
    write_report(comparison, path, **options)
    text = path.read_text(encoding="utf-8")
    check_page(text)
    return text


class Outline(HTMLParser):
    """Checks that elements are closed in order, and collects what stands in them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(str(value))
            if key in ("href", "src", "data", "action"):
                self.links.append(str(value))
            assert not key.startswith("on"), key
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    found.close()
    return found


def check_page(text: str) -> None:
    """Every page is well formed, complete, and asks nothing of the network."""
    found = outline(text)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert all(link.startswith("#") for link in found.links)
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    assert text.startswith("<!DOCTYPE html>")
    assert '<html lang="en">' in text
    assert found.tags.count("h1") == 1
    parts = ["summary", "policies", "gains", "waits", "queue", "mix", "gantt", "quality"]
    at = [found.ids.index(part) for part in [*parts, "caveats", "computed"]]
    assert at == sorted(at)
    words = "".join(found.text)
    assert not re.search(r"\bnan\b|\bNone\b(?!\))", words)


def words_of(text: str) -> str:
    return " ".join("".join(outline(text).text).split())


def spaced(folder: Path) -> str:
    """Return the words of the report in a folder, those of different elements apart."""
    return " ".join(" ".join(outline((folder / "report.html").read_text()).text).split())


def told_of(comparison: ReplayComparison, policy: str) -> str:
    """Return the mean wait of a policy at the first load, as the page tells it."""
    wait = next(r for r in comparison.points[0] if r.policy_label == policy).mean_waiting_time
    return common_unit(comparison).told(wait).replace("\xa0", " ")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> ReplayComparison:
    return compared(log_of(tmp_path_factory.mktemp("usual"), rows(200, 30 * DAY)))


def test_everything_is_told(tmp_path: Path) -> None:
    log = log_of(tmp_path, rows(400, 8 * 7 * DAY))
    comparison = compared(log, *POLICIES, "adaptive-quickswap", loads=(1.0, 1.1, 1.2))
    text = page_of(comparison, tmp_path)
    words = words_of(text)
    for policy in ("EASY", "First-Fit", "Adaptive Quickswap", "as logged"):
        assert policy in words
    for name in ("the log's own load", "load +10 %", "load +20 %"):
        assert name in words
    assert "400 rows read; 400 jobs kept" in words
    assert text.count("<figure") == text.count("<figcaption")
    for drawing in re.findall(r"<svg [^>]*>", text):
        assert 'role="img"' in drawing
        assert "aria-label=" in drawing
    best = comparison.best(0, "waiting_time")[0]
    assert f"is {told_of(comparison, best)} under {best}, the least" in words
    assert len(text) < 600_000


def test_the_answer_has_the_numbers_of_the_comparison(tmp_path: Path) -> None:
    comparison = compared(log_of(tmp_path, rows(600, 10 * 7 * DAY, load=0.95)))
    words = words_of(page_of(comparison, tmp_path))
    point = {each.policy_label: each for each in comparison.points[0]}
    best, base = comparison.best(0, "waiting_time")[0], point["EASY"]
    assert best != "EASY", "choose jobs for which the baseline is not the best"
    told = told_of(comparison, best)
    gap = point[best].difference(base)
    sure = gap.low > 0 or gap.high < 0
    assert (f"{best} makes users wait least: {told} a job on average" in words) == sure
    assert ("more than chance" in words) == sure
    assert ("In short This log cannot decide" in spaced(tmp_path)) == (not sure)


def test_same_comparison_same_bytes(tmp_path: Path, usual: ReplayComparison) -> None:
    assert page_of(usual, tmp_path) == page_of(usual, tmp_path)


def test_text_of_the_log_is_escaped(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    odd = [(*row[:3], [evil, "$a_{b$", "日本", "_x", 'q"&\x07'][i % 5], "", 1.0)
           for i, row in enumerate(rows(200, 30 * DAY))]  # fmt: skip
    text = page_of(compared(log_of(tmp_path, odd, but="group")), tmp_path, title=evil)
    assert "<script>alert" not in text
    assert text.count("<script") == text.count("</script>") == 2
    words = words_of(text)
    for name in (evil, "$a_{b$", "日本", "_x"):
        assert name in words
    data = json.loads(text.split('id="gantt-data">')[1].split("</script>")[0])
    assert evil in data["users"]


def test_users_have_paired_intervals(tmp_path: Path) -> None:
    log = log_of(tmp_path, rows(500, 8 * 7 * DAY, load=0.95), but="group")
    comparison = compared(log)
    told = Told.of(comparison, None, None)
    gains = by_user(told)
    assert gains is not None
    other = gains.of("First-Fit")
    frames = {each.policy_label: each.outcomes() for each in comparison.points[0]}
    for row in other:
        means = [
            np.mean(
                frame.filter((frame["user"] == row.name) & frame["measured"])["wait"].to_numpy()
            )
            for frame in (frames["First-Fit"], frames["EASY"])
        ]
        assert row.gap is not None
        assert row.gap.value == pytest.approx(means[0] - means[1])
        assert row.base.value == pytest.approx(means[1])
        assert row.gap.half_width > 0
    assert sum(row.jobs for row in other) == pytest.approx(1)
    assert sum(row.work for row in other) == pytest.approx(1)


def test_one_group_of_all_jobs_has_the_difference_of_all(tmp_path: Path) -> None:
    log = log_of(tmp_path, rows(300, 8 * 7 * DAY, load=0.95), but="group")
    told = Told.of(compared(log), None, None)
    classes = by_class(told)
    whole = told.main.results[1].difference(told.main.baseline)
    total = sum(r.jobs * r.gap.value for r in classes.of("First-Fit") if r.gap is not None)
    assert total == pytest.approx(whole.value)


def test_many_users_are_the_heaviest_and_the_rest(tmp_path: Path) -> None:
    log = log_of(tmp_path, rows(400, 8 * 7 * DAY, users=40), but="group")
    gains = by_user(Told.of(compared(log), None, None))
    assert gains is not None
    names = [row.name for row in gains.of("First-Fit")]
    assert len(names) == 13
    assert names[-1] == "all 28 others"
    work = [row.work for row in gains.of("First-Fit")[:-1]]
    assert work == pytest.approx(sorted(work, reverse=True), abs=0.02)  # of jobs measured


@pytest.mark.parametrize(
    ("column", "noun", "names"), [(None, "group", 3), ("user", "user", 5), ("group", "group", 3)]
)
def test_column_of_the_groups(
    usual: ReplayComparison, column: str | None, noun: str, names: int
) -> None:
    gains = by_user(Told.of(usual, column, None))
    assert gains is not None
    assert gains.noun == noun
    assert len(gains.of("First-Fit")) == names


def degenerate(name: str, folder: Path) -> logs.JobLog:
    if name == "one job":
        return log_of(folder, [(0.0, 2, 10.0, "a", "g", 1.0)])
    if name == "two jobs at once":
        return log_of(folder, [(0.0, 2, 10.0, "a", "g", 1.0), (0.0, 8, 5.0, "b", "h", 2.0)])
    if name == "no users and no waits":
        return log_of(folder, rows(200, 30 * DAY), but="user group wait")
    if name == "one need":
        same = [(a, 8, s, u, g, w) for a, _, s, u, g, w in rows(200, 30 * DAY, load=0.1)]
        return log_of(folder, same)
    if name == "one hour":
        return log_of(folder, rows(200, HOUR))
    if name == "one user":
        return log_of(folder, rows(100, 30 * DAY, users=1))
    if name == "a thousand needs":
        return log_of(folder, rows(2000, 30 * DAY, servers=1000), servers=1000)
    if name == "overloaded":
        return log_of(folder, rows(300, 30 * DAY, load=3.0))
    assert name == "nobody waits"
    return log_of(folder, rows(100, 30 * DAY, load=0.001))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("one job", "No job of the log was measured"),
        ("two jobs at once", "No job of the log was measured"),
        ("no users and no waits", "does not tell users or groups apart"),
        ("one need", "± "),
        ("one hour", "± "),
        ("one user", "does not tell users or groups apart"),
        ("a thousand needs", "the largest need is"),
        ("overloaded", "No policy keeps up: at the log's own load, EASY falls behind: "),
        ("nobody waits", "hardly wait"),
    ],
)
def test_degenerate_logs(tmp_path: Path, name: str, said: str) -> None:
    text = page_of(compared(degenerate(name, tmp_path)), tmp_path)
    assert said in words_of(text)
    assert len(text) < 800_000


@pytest.mark.parametrize("policies", [("fcfs",), ("fcfs", "msf")])
def test_baseline_without_easy(tmp_path: Path, policies: tuple[str, ...]) -> None:
    comparison = compared(log_of(tmp_path, rows(200, 30 * DAY)), *policies)
    text = page_of(comparison, tmp_path)
    assert ("nobody gains or loses" in text) == (len(policies) == 1)


def test_only_raised_loads(tmp_path: Path) -> None:
    log = log_of(tmp_path, rows(200, 30 * DAY))
    words = words_of(page_of(compared(log, loads=(1.1,)), tmp_path))
    assert "At load +10 %" in words
    assert "own load" not in words


def test_preemptive_policies_have_no_picture(tmp_path: Path) -> None:
    power = [(a, 2 ** (n % 4), s, u, g, w) for a, n, s, u, g, w in rows(200, 30 * DAY, load=0.4)]
    comparison = compared(log_of(tmp_path, power), ServerFilling(), "fcfs")
    words = words_of(page_of(comparison, tmp_path))
    assert words.count("ServerFilling may stop jobs and resume them") == 2


def test_dates_in_the_zone_of_the_log(tmp_path: Path) -> None:
    head = "; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm\n; MaxProcs: 4\n"
    body = "".join(
        f"{i + 1} {3600 * i} 5 {1800 + 7 * i} {1 + i % 4} -1 -1 {1 + i % 4} 9000 -1 1 {i % 3} "
        "1 -1 -1 -1 -1 -1\n"
        for i in range(300)
    )
    log = logs.read(written(tmp_path, head + body, "log.swf"))
    words = words_of(page_of(compared(log), tmp_path))
    assert "submitted from 23 Sep 1996 to 6 Oct 1996 (Europe/Stockholm)" in words


def test_busiest_jobs_are_drawn(
    tmp_path: Path, usual: ReplayComparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quickswap.report.gantt.MOST", 50)
    text = page_of(usual, tmp_path)
    assert "Of 200 jobs, 50 are drawn" in words_of(text)
    assert json.loads(text.split('id="gantt-data">')[1].split("</script>")[0])["jobs"] == 50


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script with node")
def test_servers_of_the_picture(tmp_path: Path) -> None:
    comparison = compared(log_of(tmp_path, rows(400, 30 * DAY, load=1.0)), "first-fit")
    text = page_of(comparison, tmp_path)
    data = json.loads(text.split('id="gantt-data">')[1].split("</script>")[0])
    script = (
        files("quickswap.report").joinpath("assets", "plan.js").read_text()
        + """
    (async () => {
      const data = JSON.parse(require("fs").readFileSync(0));
      const jobs = await Plan.read(data.columns);
      const plan = Plan.arranged(jobs, await Plan.unpacked(data.waits.at(-1)), data.servers);
      console.log(JSON.stringify({ need: [...jobs.need], start: [...plan.start],
        end: [...plan.end], held: plan.held, top: plan.top,
        busy: Plan.upTo(plan.busy, plan.last) }));
    })();
    """
    )
    ran = subprocess.run(
        ["node", "-e", script], input=json.dumps(data), capture_output=True, text=True, check=True
    )
    found = json.loads(ran.stdout)
    schedule = comparison.points[0][-1].schedule
    assert found["start"] == pytest.approx(schedule.start, abs=0.5 + data["tick"])
    assert found["top"] == 8
    assert found["busy"] == pytest.approx((schedule.need * schedule.size).sum(), rel=1e-3)
    taken: list[tuple[int, int, float, float]] = []
    for need, start, end, held in zip(
        *(found[k] for k in ("need", "start", "end", "held")), strict=True
    ):
        parts = list(zip(held[::2], held[1::2], strict=True))
        assert sum(high - low for low, high in parts) == need
        assert 0 <= min(held) < max(held) <= 8
        taken += [(low, high, start, end) for low, high in parts]
    for i, (low, high, start, end) in enumerate(taken):
        for other in taken[:i]:
            apart = high <= other[0] or other[1] <= low or end <= other[2] or other[3] <= start
            assert apart, "a server holds two jobs at once"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("a comparison", "a report tells of what replays.replay_all returns, not 'a comparison'."),
        (ReplayComparison(()), "a report needs a replay under at least one policy."),
    ],
)
def test_no_comparison(tmp_path: Path, given: object, told: str) -> None:
    with pytest.raises(QuickswapError, match=re.escape(told)):
        write_report(given, tmp_path / "r.html")  # type: ignore[arg-type] # wrong on purpose
    assert list(tmp_path.iterdir()) == []


def test_mistakes(tmp_path: Path, usual: ReplayComparison) -> None:
    with pytest.raises(QuickswapError, match="groups is 'color'; it must be a column of the log"):
        write_report(usual, tmp_path / "r.html", groups="color")
    with pytest.raises(QuickswapError, match="cannot be written"):
        write_report(usual, tmp_path / "nowhere" / "r.html")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(30.0, "30.0 ± 1.5 s"), (600.0, "10.00 ± 0.50 min"), (36e3, "10.00 ± 0.50 h")],
)
def test_durations(seconds: float, told: str) -> None:
    estimate = Estimate(seconds, seconds / 20)
    assert unit_of([seconds]).told(estimate).replace("\xa0", " ") == told


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.0, "0"), (0.01234, "0.0123"), (7.004, "7.00"), (12.34, "12.3"), (1240.4, "1,240")],
)
def test_three_digits(value: float, told: str) -> None:
    assert significant(value) == told
