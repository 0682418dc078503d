"""Measure quickswap against its yardstick: `python benchmarks/run.py`, some minutes.

Writes benchmarks/results.json, a table of all measures for the documentation, and the tables
between the two marker comments of README.md. With `--long` also the memory of a run of 10^9 jobs, a
few minutes more; with `--peer` also the simulator of the paper's authors; `--quick` only shows that
everything runs, and writes nothing. Exit code 1 if a value is above its limit (not with `--quick`).
"""

import argparse
import json
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from measures import (
    Effort,
    Row,
    against_bare,
    compiled,
    growth,
    memory,
    short_runs,
    solutions,
    threads,
)
from precision import WHAT, to_one_percent
from reading import reading
from replaying import replaying

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
TABLE = HERE.parent / "docs" / "measured" / "benchmarks.md"
EFFORTS = (Effort(3_000_000, 30), Effort(5_000_000, 4), Effort(20_000_000, 9))
"""Turns are short beside what else a machine does; large systems take time to fill; what a call
costs beside its loop is little in a long run."""
BEGIN, END = "<!-- benchmark:begin -->", "<!-- benchmark:end -->"


def main() -> int:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small runs, nothing written")
    parser.add_argument("--long", action="store_true", help="also 10^9 jobs in one run")
    parser.add_argument("--peer", type=Path, help="the program `simulator_toml`; see peer.py")
    options = parser.parse_args()
    rows = []
    for row in measured(options.quick, options.long, options.peer):
        rows.append(row)
        print(" ".join([*cells(row), json.dumps(row.detail)]), flush=True)
    if not options.quick:
        write(rows)
    return int(not options.quick and any(too_high(row) for row in rows))


def measured(quick: bool, long: bool, program: Path | None) -> Iterator[Row]:
    """All rows, one after another."""
    bursts, runs, long_runs = (Effort(100_000, 1),) * 3 if quick else EFFORTS
    logs = reading(10_000, 1) if quick else reading(1_000_000, 5)
    replays = replaying(0.01, 1) if quick else replaying(1, 5)
    short = short_runs(3 if quick else 200)
    precise = to_one_percent(1, 20) if quick else to_one_percent(7, program=program)
    solved = solutions({64: 0.5} if quick else {1024: 0.5, 4096: 10.0})
    speed = chain(against_bare(bursts), compiled(runs), growth(runs), threads(long_runs), short)
    rows = chain(speed, solved, logs, replays, precise)
    return chain(rows, memory(10**9)) if long else rows


def too_high(row: Row) -> bool:
    """Whether the value is above its limit."""
    return row.limit is not None and row.value > row.limit


def cells(row: Row) -> tuple[str, str, str]:
    """What, value and limit, as text."""
    unit = "" if row.unit == "x" else f" {row.unit}"
    limit = "" if row.limit is None else f"{row.limit:g}{unit}"
    value = f"{row.value:.3g}{unit}"
    if row.quartiles is not None:
        value += f" ({row.quartiles[0]:.3g} to {row.quartiles[1]:.3g})"
    return row.what, value, limit


def markdown(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """A table; numbers are on the right."""
    rows = (head, ("---", *["---:"] * (len(head) - 1)), *lines)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def is_precise(row: Row) -> bool:
    """Whether it is one of `precision`, which has a table of its own."""
    return "plain_s" in row.detail


def short(rows: list[Row]) -> str:
    """What a user waits for."""
    bare = "`jumps` / bare loop, "
    events = [
        (f"one event, {row.what.removeprefix(bare)}", f"{row.detail['jumps_ns']:.3g} ns")
        for row in rows
        if row.what.startswith(bare)
    ]
    times = [
        (row.what, f"{row.value:.3g} {row.unit}")
        for row in rows
        if row.unit in ("s", "ms") and not is_precise(row)
    ]
    return markdown(("what", "time"), events + times)


def seconds(value: float) -> str:
    """Three digits, without powers of ten."""
    return f"{float(f'{value:.3g}'):,g} s"


def precise(rows: list[Row]) -> str:
    """Times to a precision: with control variates, without, and by another simulator if it ran."""
    columns = {"authors' simulator": "peer_s", "without control variates": "plain_s"}
    details = [row.detail for row in filter(is_precise, rows)]
    shown = {head: name for head, name in columns.items() if all(name in each for each in details)}
    times = [
        (row.what, *(seconds(row.detail[name]) for name in shown.values()), seconds(row.value))
        for row in filter(is_precise, rows)
    ]
    return markdown((f"processor time until {WHAT}", *shown, "with"), times)


def write(rows: list[Row]) -> None:
    """Keep the results, write the table of all, and splice the short one into the README."""
    machine = {"machine": platform.machine(), "python": platform.python_version()}
    results = machine | {"rows": [asdict(row) for row in rows]}
    (HERE / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    ratios = [cells(row) for row in rows if not is_precise(row)]
    TABLE.write_text(markdown(("measure", "value", "limit"), ratios) + "\n")
    text = README.read_text()
    if BEGIN not in text or END not in text:
        print(
            f"README.md has no markers {BEGIN} and {END}; the table is not written", file=sys.stderr
        )
        return
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    README.write_text(f"{before}{BEGIN}\n\n{short(rows)}\n\n{precise(rows)}\n\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
