"""From experiments to data, figures and verdicts in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from quickswap._check import between, checks_keywords, flag, items, whole
from quickswap._progress import shows, work_bar
from quickswap.engine._core import VERSION
from quickswap.engine.settings import MOST_JOBS, check_progress
from quickswap.errors import Interrupted, QuickswapError, invalid, unknown
from quickswap.files import checked_path, same_file, write_text, write_with
from quickswap.paper import backfilling, beyond
from quickswap.paper import figures as paper
from quickswap.paper.claims import CLAIMS, as_markdown, judge
from quickswap.paper.experiment import Effort, Experiment, Saved, Series
from quickswap.paper.judging import Finding
from quickswap.paper.rows import Rows, chart_of_rows, rows_of
from quickswap.plotting.drawing import draw
from quickswap.simulation.result import Result, Stop
from quickswap.sweeps.point import Point
from quickswap.sweeps.run import Outcomes, SweepProgress, check_where, run_points
from quickswap.sweeps.store import Store

__all__ = ["EXPERIMENTS", "Reproduction", "reproduce"]

EXPERIMENTS = {each.name: each for each in (*paper.FIGURES, *beyond.FIGURES, *backfilling.FIGURES)}
"""All experiments by name: the paper's figures in its order, then those beyond it."""
Points = dict[tuple[Series, float], Point]
"""The simulations of a figure, by series and value of the axis."""
FORMATS = ("pdf", "svg", "png")


@dataclass(frozen=True)
class Reproduction:
    """The files and findings of a reproduction.

    Attributes:
        folder: with NAME.parquet, NAME.csv, NAME.pdf, NAME.svg, NAME.png and NAME.json of each
            figure, `claims.md` and `claims.json`, and the store of all results, `results.db`.
        figures: the numbers of each figure, by its name.
        findings: judgements on the claims whose figures are there.
        ran: points that this call simulated; the others were in the store.
        not_drawn: reasons of figures that could not be drawn, by name; their numbers are written.
    """

    folder: Path
    figures: dict[str, Rows]
    findings: tuple[Finding, ...]
    ran: int
    not_drawn: dict[str, str]


@checks_keywords
@shows(work_bar, "reproducing")
def reproduce(
    figures: Iterable[str | Path] | str | Path = "all",
    folder: str | Path = "reproduction",
    *,
    quick: bool = False,
    precision: float | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Callable[[SweepProgress], object] | bool | None = None,
) -> Reproduction:
    """Reproduce the paper's figures: write data, figures and findings into a folder.

    Results are stored in the folder as they arrive, so an interrupted run can be continued and
    no point is simulated twice. When all points have ended, those that are too short, and those
    that miss their precision and may change the verdict on a claim, run again with more jobs.

    Args:
        figures: names, `fig1` to `fig8` or of a figure beyond the paper, "all", or JSON files of an
            earlier run.
        folder: created if it does not exist.
        quick: simulate for minutes, with wide intervals, instead of hours.
        precision: relative half-width to reach; by default that of each figure.
        jobs: completions of a point at most; by default those of each figure. With it no point runs
            a second time.
        executor, threads, progress: as in `run_points`.

    Raises:
        QuickswapError: an unknown figure, a setting out of range, or files that cannot be written.
        Interrupted: Ctrl-C; figures whose points are all in the store are written.
    """
    listed = [figures] if isinstance(figures, str | Path) else items(figures)
    if not listed or not all(isinstance(name, str | Path) for name in listed):
        raise invalid("figures", figures, "a name or a list of names", QuickswapError)
    names = [str(name) for name in listed]
    flag(quick, "quick", QuickswapError)
    plan: dict[str, tuple[Experiment, Effort]] = {}
    for saved in (each for name in names for each in _chosen(name)):
        record = saved.experiment
        effort = record.quick if quick else saved.effort or record.full
        planned = record, _limited(effort, precision, jobs)
        if plan.setdefault(record.name, planned) != planned:
            raise QuickswapError(
                f"two different figures are named {record.name}: give them in two calls, with a "
                "folder each.",
                argument="figures",
            )
    threads = check_where(executor, threads)
    progress = check_progress(progress)
    folder = checked_path(folder)
    outputs = [folder / f"{name}.json" for name in (*plan, "claims")]
    for name in names:
        if name.endswith(".json") and any(same_file(name, each) for each in outputs):
            raise QuickswapError(
                f"{name} is an input that would be overwritten: give another output folder.",
                given=folder,
                allowed="a folder other than that of the input",
            )
    points = {name: record.points(effort) for name, (record, effort) in plan.items()}
    longest = {name: record.points(effort.longest) for name, (record, effort) in plan.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise QuickswapError(
            f"{repr(str(folder))[1:-1]} cannot be a folder ({error.strerror}): give another.",
            given=folder,
            allowed="a folder that can be created",
        ) from error
    return _run(folder, plan, points, longest, executor, threads, progress)


def _run(
    folder: Path,
    plan: Mapping[str, tuple[Experiment, Effort]],
    points: dict[str, Points],
    longest: Mapping[str, Points],
    executor: Executor | None,
    threads: int | None,
    progress: Callable[[SweepProgress], object] | None,
) -> Reproduction:
    """Simulate and write figures and findings, then again with more jobs where they are needed."""
    with Store(folder / "results.db") as store:
        for name, longer in longest.items():
            points[name] |= {at: point for at, point in longer.items() if point in store}
        found: dict[str, Rows] = {}
        not_drawn: dict[str, str] = {}
        findings: tuple[Finding, ...] = ()
        ran, changed = 0, points
        while changed:
            try:
                outcomes = run_points(
                    [point for each in changed.values() for point in each.values()],
                    store,
                    executor=executor,
                    threads=threads,
                    progress=progress,
                )
            except Interrupted as interrupted:
                if isinstance(interrupted.result, Outcomes):
                    _write_figures(folder, plan, changed, interrupted.result)
                raise
            ran += outcomes.ran
            rows, reasons = _write_figures(folder, plan, changed, outcomes)
            found |= rows
            not_drawn = {n: each for n, each in not_drawn.items() if n not in rows} | reasons
            # the claims are about the paper's experiments, not about edited ones
            findings = judge(
                {n: each for n, each in found.items() if plan[n][0] == EXPERIMENTS.get(n)}
            )
            if findings:
                _write_claims(folder, findings)
            unsettled = {
                points[name][at] for name in rows for at in _unsettled(rows[name], findings)
            }
            changed = {}
            for name, each in points.items():
                longer = {at: longest[name][at] for at, point in each.items() if point in unsettled}
                if any(each[at] != point for at, point in longer.items()):
                    changed[name] = points[name] = each | longer
    return Reproduction(folder, found, findings, ran, not_drawn)


def _unsettled(rows: Rows, findings: Sequence[Finding]) -> list[tuple[Series, float]]:
    """Return the points of a figure that more jobs may settle.

    They ended at their number of jobs, and are too short or may change the verdict on a claim.
    """
    name = rows.experiment.name
    decisive = {each[1:] for finding in findings for each in finding.open if each[0] == name}
    return [
        (series, x)
        for (series, x), result in rows.results.items()
        if rows.experiment.estimates
        and isinstance(result, Result)
        and result.stop in (Stop.BUDGET, Stop.COMPLETED)
        and (result.verdict.status == "too short" or (series.label, x) in decisive)
    ]


def _chosen(name: str) -> list[Saved]:
    """Return the experiments of a name: "all", one experiment, or the JSON file of a run."""
    if name == "all":
        return [Saved(experiment=record) for record in EXPERIMENTS.values()]
    if name in EXPERIMENTS:
        return [Saved(experiment=EXPERIMENTS[name])]
    if not name.endswith(".json"):
        unknown("figure", name, ("all", *EXPERIMENTS), QuickswapError, argument="figures")
    try:
        return [Saved.from_json(Path(name).read_text(encoding="utf-8-sig"))]
    except OSError as error:
        reason = f" ({error.strerror})."
    except UnicodeDecodeError:
        reason = ": it is not UTF-8 text."
    except QuickswapError as error:
        raise error.within(f"{name}: ") from None
    raise QuickswapError(
        f"{name} cannot be read{reason}",
        argument="figures",
        given=name,
        allowed="a file of UTF-8 text",
    )


def _limited(effort: Effort, precision: float | None, jobs: int | None) -> Effort:
    """Return an effort with another precision, if it has one, and another limit of jobs."""
    if precision is not None:
        reached = between(precision, "precision", 0, 1, QuickswapError)
        effort = replace(effort, precision=effort.precision and reached)
    if jobs is not None:
        most = whole(jobs, "jobs", 1, MOST_JOBS, QuickswapError)
        # a fixed number of jobs is only lowered
        most = most if effort.precision else min(most, effort.jobs)
        effort = replace(effort, jobs=most, most=None)
    return effort


def _write_figures(
    folder: Path,
    plan: Mapping[str, tuple[Experiment, Effort]],
    points: Mapping[str, Points],
    outcomes: Outcomes,
) -> tuple[dict[str, Rows], dict[str, str]]:
    """Write data and figures of the experiments whose points have all ended.

    Returns:
        their rows, and the reasons of figures that could not be drawn, by name.
    """
    found, not_drawn = {}, {}
    for name in points:
        record, effort = plan[name]
        failures = [outcomes.failures.get(point.key) for point in points[name].values()]
        if any(each is not None and each.not_run for each in failures):
            continue
        ended = {
            key: failure or outcomes.store[point]
            for (key, point), failure in zip(points[name].items(), failures, strict=True)
        }
        rows = found[name] = rows_of(record, ended)
        frame = rows.to_frame()
        write_with(folder / f"{name}.parquet", frame.write_parquet)
        write_with(folder / f"{name}.csv", frame.write_csv)
        saved = Saved(version=VERSION, effort=effort, experiment=record)
        write_text(folder / f"{name}.json", saved.to_json())
        try:
            draw(chart_of_rows(rows), [folder / f"{name}.{ending}" for ending in FORMATS])
        except QuickswapError as error:
            not_drawn[name] = str(error)
    return found, not_drawn


class _Claims(Struct):
    """The content of `claims.json`."""

    quickswap: str = VERSION
    claims: list[Finding] = []


def _write_claims(folder: Path, findings: Sequence[Finding]) -> None:
    """Write the findings; those of earlier runs on other claims remain."""
    path = folder / "claims.json"
    try:
        earlier = msgspec.json.decode(path.read_bytes(), type=_Claims).claims
    except (OSError, msgspec.MsgspecError):  # none, or damaged
        earlier = []
    known = {each.claim: each for each in (*earlier, *findings)}
    every = [known[claim.claim] for claim in CLAIMS if claim.claim in known]
    write_text(folder / "claims.md", as_markdown(every))
    text = msgspec.json.format(msgspec.json.encode(_Claims(claims=every)), indent=1)
    write_text(path, text.decode() + "\n")
