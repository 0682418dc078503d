"""Take what `quickswap reproduce all` wrote into the pages: `python docs/reproduced.py FOLDER`.

Writes the verdicts to docs/measured/claims.md, a table of what was simulated to
docs/measured/reproduced.md, and the figures to docs/_static/paper/.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import polars as pl

from quickswap.reproduction import draining
from quickswap.reproduction.catalogue import EXPERIMENTS
from quickswap.reproduction.experiment import Experiment

DOCS = Path(__file__).parent
FIGURES = DOCS / "_static" / "paper"


def main(folder: Path) -> None:
    """Copy figures and verdicts; tell how far each figure is from its precision."""
    FIGURES.mkdir(exist_ok=True)
    lines = [
        "| figure | jobs a point, at most | points | stable | unstable | too short | wider |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in EXPERIMENTS:
        shutil.copyfile(folder / f"{name}.svg", FIGURES / f"{name}.svg")
        text = (folder / f"{name}.json").read_text(encoding="utf-8")
        record, more = Experiment.from_json(text)
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
        most = f"{more['effort']['jobs']:,}" if len(points) else "-"
        page = "backfilling" if EXPERIMENTS[name] in draining.FIGURES else "paper"
        lines.append(f"| [{name}]({page}.md#{name}): {record.title} | {most} | {cells} |")
    (DOCS / "measured" / "reproduced.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copyfile(folder / "claims.md", DOCS / "measured" / "claims.md")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
