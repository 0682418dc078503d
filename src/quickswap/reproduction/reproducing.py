"""From experiments to data, figures and verdicts in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from quickswap._core import VERSION
from quickswap._settings import between, check_progress, flag, whole
from quickswap.errors import QuickswapError, shown
from quickswap.experiments.outcomes import Advance, Outcomes
from quickswap.experiments.point import Point
from quickswap.experiments.record import Failure
from quickswap.experiments.running import check_where, run_points
from quickswap.experiments.store import Store
from quickswap.files import checked_path, same_file, write_text, write_with
from quickswap.reproduction.catalogue import EXPERIMENTS, chosen
from quickswap.reproduction.claims import CLAIMS, as_markdown, judged
from quickswap.reproduction.experiment import Effort, Experiment
from quickswap.reproduction.judging import Finding
from quickswap.reproduction.table import Rows, gathered
from quickswap.result import Result
from quickswap.simulation import Interrupted

__all__ = ["FORMATS", "STORE", "Reproduction", "reproduce"]

FORMATS = ("pdf", "svg", "png")
STORE = "results.db"
"""Where the folder keeps the results of all points."""


@dataclass(frozen=True)
class Reproduction:
    """What was reproduced.

    Attributes:
        folder: with NAME.parquet, NAME.csv, NAME.pdf, NAME.svg, NAME.png and NAME.json of each
            figure, `claims.md` and `claims.json`, and the store of all results.
        figures: the numbers of each figure, by its name.
        findings: verdicts on the claims for which there are figures.
        ran: points that were simulated now, and not found in the store.
        not_drawn: why a figure was not drawn, by its name; its numbers are there all the same.
    """

    folder: Path
    figures: dict[str, Rows]
    findings: tuple[Finding, ...]
    ran: int
    not_drawn: dict[str, str] = field(default_factory=dict)


def reproduce(
    figures: Iterable[str] | str = "all",
    folder: str | Path = "reproduction",
    *,
    quick: bool = False,
    precision: float | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Callable[[Advance], object] | None = None,
) -> Reproduction:
    """Simulate what the paper's figures show, and write data, figures and verdicts into a folder.

    Results are kept in the folder as they come: what was interrupted goes on where it was, and what
    is there already is not simulated again.

    Args:
        figures: names out of `fig1` to `fig8` and those beyond the paper, "all", or JSON files that
            an earlier run has written.
        folder: made if it is not there.
        quick: the effort of minutes in place of that of good intervals.
        precision: relative half-width to reach, in place of that of each figure.
        jobs: completions of a point at most, in place of those of each figure.
        executor, threads, progress: as in `run_points`.

    Raises:
        QuickswapError: an unknown figure, a setting out of range, or files that cannot be written.
        Interrupted: Ctrl-C; figures all of whose points are there have been written.
    """
    names = [figures] if isinstance(figures, str) else list(figures)
    if not names or not all(isinstance(name, str) for name in names):
        raise QuickswapError(f"figures are given by their names, not by {shown(figures)}.")
    efforts = {
        name: (record, _effort(record, wanted, flag(quick, "quick"), precision, jobs))
        for name, (record, wanted) in chosen(names).items()
    }
    threads = check_where(executor, threads)
    check_progress(progress)
    _check_apart(names, efforts, checked_path(folder))
    plan = {
        name: [point for _, _, point in record.points(effort)]
        for name, (record, effort) in efforts.items()
    }
    folder = _made(folder)
    with Store(folder / STORE) as store:
        try:
            outcomes = run_points(
                [point for points in plan.values() for point in points],
                store,
                executor=executor,
                threads=threads,
                progress=progress,
            )
        except Interrupted as interrupted:
            _written(folder, efforts, _complete(plan, interrupted.result))
            raise
        found, not_drawn = _written(folder, efforts, _complete(plan, outcomes))
    # a record that somebody has changed is not the paper's
    paper = {name: rows for name, rows in found.items() if rows.experiment == EXPERIMENTS.get(name)}
    findings = judged(paper)
    if findings:
        _write_claims(folder, findings)
    return Reproduction(folder, found, findings, outcomes.ran, not_drawn)


def _check_apart(names: Iterable[str], written: Iterable[str], folder: Path) -> None:
    """Refuse a file of an experiment that would be written over."""
    outputs = [folder / f"{name}.json" for name in (*written, "claims")]
    for name in names:
        if name.endswith(".json") and any(same_file(name, each) for each in outputs):
            raise QuickswapError(
                f"{name} is what is read, and would be written over: give another output folder."
            )


def _write_claims(folder: Path, findings: Sequence[Finding]) -> None:
    """Write the verdicts; those of earlier runs on other claims stay."""
    path = folder / "claims.json"
    known = {}
    if path.exists():
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))["claims"]
            known = {each["claim"]: Finding(**each) for each in kept}
        except (OSError, ValueError, KeyError, TypeError):  # damaged: it is written anew
            known = {}
    known |= {each.claim: each for each in findings}
    every = [known[claim.claim] for claim in CLAIMS if claim.claim in known]
    write_text(folder / "claims.md", as_markdown(every))
    data = {"quickswap": VERSION, "claims": [asdict(each) for each in every]}
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _effort(
    record: Experiment,
    wanted: Effort | None,
    quick: bool,
    precision: float | None,
    jobs: int | None,
) -> Effort:
    """Return how long to simulate: what is asked for now, or in the file, or the default."""
    effort = record.quick if quick else wanted or record.full
    if precision is not None:
        reached = between(precision, "precision", 0, 1)
        effort = replace(effort, precision=effort.precision and reached)
    if jobs is not None:
        most = whole(jobs, "jobs", 1)  # a path of some length is not made longer
        effort = replace(effort, jobs=most if effort.precision else min(most, effort.jobs))
    return effort


def _made(folder: str | Path) -> Path:
    path = checked_path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise QuickswapError(
            f"{repr(str(path))[1:-1]} cannot be made a folder ({error.strerror}): give another."
        ) from error
    return path


def _complete(plan: dict[str, list[Point]], outcomes: object) -> dict[str, list[Result | Failure]]:
    """Return the results of each figure all of whose points have ended."""
    if not isinstance(outcomes, Outcomes):
        return {}
    whole_figures = {}
    for name, points in plan.items():
        ended = [
            outcomes.failures.get(point.key) or outcomes.store[point]
            for point in points
            if point in outcomes.store or point.key in outcomes.failures
        ]
        cut = any(isinstance(each, Failure) and each.not_run for each in ended)
        if len(ended) == len(points) and not cut:
            whole_figures[name] = ended
    return whole_figures


def _written(
    folder: Path,
    efforts: dict[str, tuple[Experiment, Effort]],
    results: dict[str, list[Result | Failure]],
) -> tuple[dict[str, Rows], dict[str, str]]:
    """Write data and figures of what is complete; return it, and why some is not drawn."""
    from quickswap.plotting import plot_experiment

    found, not_drawn = {}, {}
    for name, each in results.items():
        record, effort = efforts[name]
        rows = gathered(record, effort, each)
        frame = rows.to_frame()
        write_with(folder / f"{name}.parquet", frame.write_parquet)
        write_with(folder / f"{name}.csv", frame.write_csv)
        text = record.to_json(effort=asdict(effort), version=VERSION)
        write_text(folder / f"{name}.json", text + "\n")
        found[name] = rows
        try:
            plot_experiment(rows, [folder / f"{name}.{ending}" for ending in FORMATS])
        except QuickswapError as error:
            not_drawn[name] = str(error)
    return found, not_drawn
