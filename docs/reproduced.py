"""Copy the output of `quickswap reproduce` to the pages: `python docs/reproduced.py FOLDER`.

Writes the verdicts to docs/measured/claims.md, a table of the simulations to
docs/measured/reproduced.md, and the figures to docs/_static/paper/. Figures that the folder does
not contain remain as they are, with their lines of the table.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import polars as pl

from quickswap.paper import backfilling
from quickswap.paper.experiment import Saved
from quickswap.paper.run import EXPERIMENTS

DOCS = Path(__file__).parent
FIGURES = DOCS / "_static" / "paper"
TABLE = DOCS / "measured" / "reproduced.md"
HEAD = """\
| figure | jobs a point, at most | points | stable | unstable | too short | wider |
|---|---:|---:|---:|---:|---:|---:|"""


def main(folder: Path) -> None:
    """Copy figures and verdicts, and renew the lines of the table."""
    FIGURES.mkdir(exist_ok=True)
    head, *old = TABLE.read_text(encoding="utf-8").split("\n| [") if TABLE.exists() else [HEAD]
    lines = {line.split("]")[0]: f"| [{line.rstrip()}" for line in old}
    for name in EXPERIMENTS:
        if (folder / f"{name}.json").exists():
            shutil.copyfile(folder / f"{name}.svg", FIGURES / f"{name}.svg")
            lines[name] = line_of(folder, name)
    ordered = [lines[name] for name in EXPERIMENTS if name in lines]
    TABLE.write_text("\n".join([head, *ordered]) + "\n", encoding="utf-8")
    shutil.copyfile(folder / "claims.md", DOCS / "measured" / "claims.md")


def line_of(folder: Path, name: str) -> str:
    """Count the points of a figure by verdict, and those that miss their precision."""
    saved = Saved.from_json((folder / f"{name}.json").read_text(encoding="utf-8"))
    frame = pl.read_parquet(folder / f"{name}.parquet").filter(pl.col("method") == "simulated")
    points = frame.unique(["series", "policy", "x"])
    judged = points if saved.experiment.estimates else points.clear()
    stable = judged.filter(pl.col("verdict") == "stable")
    counts = [
        len(points),
        len(stable),
        *(len(judged.filter(pl.col("verdict") == v)) for v in ("unstable", "too short")),
        len(stable.filter(~pl.col("reached"))),
    ]
    cells = " | ".join(str(count) if count else "-" for count in counts)
    most = f"{max(points['jobs'].to_list()):,}" if len(points) else "-"
    page = "backfilling" if EXPERIMENTS[name] in backfilling.FIGURES else "paper"
    return f"| [{name}]({page}.md#{name}): {saved.experiment.title} | {most} | {cells} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
