"""Copy the output of `quickswap reproduce all` to the pages: `python docs/reproduced.py FOLDER`.

Writes the verdicts to docs/measured/claims.md, a table of the simulations to
docs/measured/reproduced.md, and the figures to docs/_static/paper/.
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


def main(folder: Path) -> None:
    """Copy figures and verdicts; count the points that miss their precision in each figure."""
    FIGURES.mkdir(exist_ok=True)
    lines = [
        "| figure | jobs a point, at most | points | stable | unstable | too short | wider |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in EXPERIMENTS:
        shutil.copyfile(folder / f"{name}.svg", FIGURES / f"{name}.svg")
        saved = Saved.from_json((folder / f"{name}.json").read_text(encoding="utf-8"))
        frame = pl.read_parquet(folder / f"{name}.parquet").filter(pl.col("method") == "simulated")
        points = frame.unique(["series", "policy", "x"])
        stable = points.filter(pl.col("verdict") == "stable")
        counts = [
            len(points),
            len(stable),
            *(len(points.filter(pl.col("verdict") == v)) for v in ("unstable", "too short")),
            len(stable.filter(~pl.col("reached"))),
        ]
        cells = " | ".join(str(count) if count else "-" for count in counts)
        effort = saved.effort or saved.experiment.full
        most = f"{effort.jobs:,}" if len(points) else "-"
        page = "backfilling" if EXPERIMENTS[name] in backfilling.FIGURES else "paper"
        lines.append(f"| [{name}]({page}.md#{name}): {saved.experiment.title} | {most} | {cells} |")
    (DOCS / "measured" / "reproduced.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copyfile(folder / "claims.md", DOCS / "measured" / "claims.md")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
