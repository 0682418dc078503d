"""The page of a report: complete, safe, and equal for equal comparisons."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from logs_helpers import written
from quickswap import ServerFilling, logs, write_report
from quickswap.errors import QuickswapError
from quickswap.replays import ReplayComparison, replay_all
from quickswap.report.data import ReportData
from quickswap.report.gantt import gantt
from quickswap.report.text import Clock, common_unit
from report_helpers import DAY, WEEK, Page, log_of, page_of, rows

POLICIES = ("easy", "first-fit")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> ReplayComparison:
    folder = tmp_path_factory.mktemp("usual")
    return replay_all(log_of(folder, rows(200, 30 * DAY)), POLICIES)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> ReplayComparison:
    log = log_of(tmp_path_factory.mktemp("compared"), rows(400, 8 * WEEK))
    policies = (*POLICIES, "adaptive-quickswap")
    return replay_all(log, policies, load_factors=(1.0, 1.1), percentiles=(95, 97.5))


@pytest.fixture(scope="module")
def page(compared: ReplayComparison, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(compared, tmp_path_factory.mktemp("page"))


def test_all_loads_and_policies_are_shown(compared: ReplayComparison, page: Page) -> None:
    tables = [page.tables[f"Policies at {name}; baseline: EASY"]
              for name in ("the log's own load", "load +10 %")]  # fmt: skip
    for table, results in zip(tables, compared.points, strict=True):
        head, *body = table
        assert [row[0] for row in body] == [each.policy_label for each in results]
        assert all(len(row) == len(head) for row in body)
        used = head.index("utilisation [%]")
        for row, each in zip(body, results, strict=True):
            assert row[used] == str(100 * each.utilisation)
            lagging = row[-1] in ("falls behind", "persistent backlog")
            assert lagging == (each.policy_label != "as logged" and each.verdict != "keeps up")
    assert len(page.source) < 600_000


def test_percentiles_of_choice_are_columns(compared: ReplayComparison, page: Page) -> None:
    head, *body = page.tables["Policies at the log's own load; baseline: EASY"]
    at = [head.index(f"P{level} of the wait [h]") for level in (95, 97.5)]
    unit = common_unit(compared)
    for row, each in zip(body, compared.points[0], strict=True):
        shown = [re.sub(r"[★≈] ", "", row[i]) for i in at]
        waits = each.overall.waiting_time
        known = (unit.number(waits.percentile(level)) for level in (95, 97.5))
        assert shown == [text.replace("\N{NO-BREAK SPACE}", " ") for text in known]


def test_the_lower_bound_is_shown_at_each_load(compared: ReplayComparison, page: Page) -> None:
    text = re.sub(r"\s+", " ", page.text["policies"])
    shown = re.findall(r"mean response time of these jobs below ([\d.]+) (\w+)", text)
    unit = common_unit(compared)
    bounds = [results[-1].lower_bound / unit.seconds for results in compared.points]
    assert [float(each) for each, _ in shown] == pytest.approx(bounds, rel=0.01)
    assert all(float(each) <= bound for (each, _), bound in zip(shown, bounds, strict=True))
    assert {name for _, name in shown} == {unit.name}


def test_figures_and_tables_can_be_read_aloud(page: Page) -> None:
    names = [tag for tag, _ in page.tags]
    assert names.count("figure") == names.count("figcaption") == names.count("svg")
    images = [each for _, each in page.tags if each.get("role") == "img"]
    assert len(images) >= names.count("figure") > 10
    assert all(each["aria-label"] for each in images)
    scopes = [each.get("scope") for tag, each in page.tags if tag == "th"]
    assert scopes.count("row") == sum(len(table) - 1 for table in page.tables.values())
    assert scopes.count("col") == sum(len(table[0]) for table in page.tables.values())


def test_no_line_breaks_between_a_number_and_its_unit(page: Page) -> None:
    hidden = r"<(script|style|pre|svg|title)\b.*?</\1>|<[^>]*>"
    text = re.sub(hidden, "", page.source, flags=re.DOTALL).replace("&nbsp;", "\N{NO-BREAK SPACE}")
    assert re.findall(r"\d[ \n](?:±|%|(?:h|s|min|days)\b)|±[ \n][\d?]", text) == []


def test_text_of_the_log_is_escaped(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>{{ 7 * 7 }}"
    names = [evil, "$a_{b$", "日本", "_x", 'q"&\x07']
    odd = [(*row[:3], names[i % 5], "", 1.0) for i, row in enumerate(rows(200, 30 * DAY))]
    comparison = replay_all(log_of(tmp_path, odd, without="group"), POLICIES)
    page = page_of(comparison, tmp_path, title=evil, command=f"quickswap replay {evil}")
    assert "<script>alert" not in page.source
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert evil in page.text[""]
    assert evil in page.text["computed"]
    for name in (evil, "$a_{b$", "日本", "_x", 'q"&\N{REPLACEMENT CHARACTER}'):
        assert name in page.text["gains"]
    assert page.data["users"] == list(dict.fromkeys(row[3] for row in odd))


def test_settings_repeat_the_report(tmp_path: Path, usual: ReplayComparison) -> None:
    code = page_of(usual, tmp_path).text["computed"].partition("repeat it:")[2]
    code = code.replace("logs.read('jobs.csv')", "logs.read('jobs.csv', servers=8)")
    code = code.replace("'jobs.csv'", repr(usual.results[0].log.source))
    names: dict[str, ReplayComparison] = {}
    exec(code.replace('"report.html"', repr(str(tmp_path / "again.html"))), names)
    assert names["comparison"] == usual
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "report.html").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["one job", "no users", "one hour", "a thousand needs", "overloaded", "short waits"],
)
def test_degenerate_logs(tmp_path: Path, name: str) -> None:
    log = {
        "one job": lambda: log_of(tmp_path, [(0.0, 2, 10.0, "a", "g", 1.0)]),
        "no users": lambda: log_of(tmp_path, rows(200, 30 * DAY), without="user group wait"),
        "one hour": lambda: log_of(tmp_path, rows(200, 3600.0)),
        "a thousand needs": lambda: log_of(tmp_path, rows(2000, 30 * DAY, 1000), 1000),
        "overloaded": lambda: log_of(tmp_path, rows(300, 30 * DAY, load=3.0)),
        "short waits": lambda: log_of(tmp_path, rows(100, 30 * DAY, load=0.001)),
    }[name]()
    page = page_of(replay_all(log, POLICIES), tmp_path)
    tables = [each for each in page.tables if each.startswith("Mean wait by")]
    assert len(tables) == {"one job": 0, "no users": 1}.get(name, 2)
    assert ("No job of the log was measured" in page.text["summary"]) == (name == "one job")
    assert len(page.source) < 800_000


@pytest.mark.parametrize("policies", [("fcfs",), ("fcfs", "msf")])
def test_baseline_without_easy(tmp_path: Path, policies: tuple[str, ...]) -> None:
    comparison = replay_all(log_of(tmp_path, rows(200, 30 * DAY)), policies, load_factors=(1.1,))
    page = page_of(comparison, tmp_path)
    assert "Policies at load +10 %; baseline: FCFS" in page.tables
    assert any(each.startswith("Mean wait by") for each in page.tables) == (len(policies) > 1)
    assert "own load" not in " ".join(page)


def test_preemptive_policies_have_no_schedule(tmp_path: Path) -> None:
    power = [(a, 2 ** (n % 4), s, u, g, w) for a, n, s, u, g, w in rows(200, 30 * DAY, load=0.4)]
    comparison = replay_all(log_of(tmp_path, power), (ServerFilling(), "fcfs"))
    page = page_of(comparison, tmp_path)
    assert len(page.data["waits"]) == 2  # FCFS, and as logged
    for section in ("queue", "schedule"):
        assert "ServerFilling may interrupt jobs" in page.text[section]


def test_dates_in_the_zone_of_the_log(tmp_path: Path) -> None:
    head = "; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm\n; MaxProcs: 4\n"
    body = "".join(
        f"{i + 1} {3600 * i} 5 {1800 + 7 * i} {1 + i % 4} -1 -1 {1 + i % 4} 9000 -1 1 {i % 3} "
        "1 -1 -1 -1 -1 -1\n"
        for i in range(300)
    )
    log = logs.read(written(tmp_path, head + body, "log.swf"))
    clock = Clock.of(log)
    dates = (clock.date(0.0), clock.date(log.duration))
    assert dates == ("23 Sep 1996", "6 Oct 1996")
    assert clock.name == "Europe/Stockholm"


def test_busiest_jobs_are_drawn(usual: ReplayComparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quickswap.report.gantt.MOST", 50)
    found = gantt(ReportData.of(usual, None, None))
    assert found is not None
    assert (found.jobs, found.shown, found.data["jobs"]) == (200, 50, 50)


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script with node")
def test_servers_of_the_schedule(tmp_path: Path) -> None:
    comparison = replay_all(log_of(tmp_path, rows(400, 30 * DAY, load=1.0)), "first-fit")
    schedules = gantt(ReportData.of(comparison, None, None))
    assert schedules is not None
    data = schedules.data
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


@pytest.mark.parametrize("given", ["a comparison", ReplayComparison(())])
def test_not_a_comparison(tmp_path: Path, given: object) -> None:
    with pytest.raises(QuickswapError, match=r"^comparison "):
        write_report(given, tmp_path / "r.html")  # type: ignore[arg-type] # wrong on purpose
    assert list(tmp_path.iterdir()) == []


def test_mistakes(tmp_path: Path, usual: ReplayComparison) -> None:
    for column, message in (("color", "it must be a column"), ("queue", "is empty in this log")):
        with pytest.raises(QuickswapError, match=f"groups is '{column}'.*{message}"):
            write_report(usual, tmp_path / "r.html", groups=column)
    with pytest.raises(QuickswapError, match="cannot be written"):
        write_report(usual, tmp_path / "nowhere" / "r.html")


def test_links_of_a_log_with_unusable_rows(tmp_path: Path) -> None:
    lines = (f"{100 * i},1,{'x' if i % 5 == 0 else 50}\n" for i in range(1, 300))
    path = written(tmp_path, "submit,need,size\n" + "".join(lines), "jobs.csv")
    page = page_of(replay_all(logs.read(path, servers=2), ["fcfs"]), tmp_path)
    assert "59 of the 299 rows" in page.text["summary"]


def test_pools_and_limits(tmp_path: Path) -> None:
    path = tmp_path / "pools.csv"
    lines = [f"{n * 600},{n % 3 + 1},4000,{3000 if n % 2 else 5000},{'ab'[n % 2]},u{n % 4},60"
             for n in range(400)]  # fmt: skip
    path.write_text("\n".join(["submit,need,size,estimate,partition,user,wait", *lines]) + "\n")
    log = logs.read(path, pool={"a": 12, "b": 8})
    limits: dict[str, Any] = {
        "user_limit": "observed",
        "end_at_limit": True,
        "pool_policies": "b=fcfs",
        "preemptible": "b",
    }
    page = page_of(replay_all(log, "easy", **limits), tmp_path)
    table = page.tables["Pools at the log's own load"]
    assert [row[:3] for row in table[1:]] == [
        ["a", "as logged", "12"], ["a", "EASY", "12"], ["b", "as logged", "8"], ["b", "FCFS", "8"],
    ]  # fmt: skip
    (row,) = page.tables["Preemptible jobs at the log's own load"][1:]
    assert row[:3] == ["EASY", "180", "0"]
    assert "Jobs of b run only on servers" in page.text["limits"]
    assert "in 2 pools" in page.text[""]
    assert "replayed as one machine" not in page.text["summary"]
    assert {"Logged waits by pool", "Logged waits by user"} <= set(page.tables)
    assert "200 jobs ran longer in the log" in re.sub(r"\s+", " ", page.text["limits"])
    assert "Most jobs of a user that ran at once" in page.text["causes"]
