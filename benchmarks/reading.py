"""How fast a log is read, and in how much memory: a million jobs in SWF, plain and compressed."""

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import zstandard

from measures import PEAK, Row

SECONDS, BYTES = 0.6, 300.0
"""What a million rows may take, and bytes a job at the peak."""
ENDINGS = ("", ".gz", ".zst")
ONE = "1 0 0 9 1 -1 -1 1 9 -1 1 1 1 -1 1 1 -1 -1\n"

READ = f"""{PEAK}
import json, time
from quickswap import logs
logs.read(sys.argv[1])  # a log of one job: what is loaded once
before, begin = peak(), time.perf_counter()
log = logs.read(sys.argv[2])
seconds = time.perf_counter() - begin
print(json.dumps({{"seconds": seconds, "bytes": (peak() - before) / len(log), "jobs": len(log)}}))
"""


def swf(count: int) -> bytes:
    """A log of this many jobs as an archive would publish it, each field known or -1."""
    rng = np.random.default_rng(1)
    need = rng.integers(1, 65, count)
    known = {
        1: np.arange(count),
        2: np.cumsum(rng.integers(0, 60, count)),
        3: rng.integers(0, 9999, count),
        4: rng.integers(1, 99_999, count),
        5: need,
        8: need,
        9: np.full(count, 100_000),
        11: np.ones(count, int),
        12: rng.integers(1, 500, count),
        13: rng.integers(1, 30, count),
        15: rng.integers(1, 5, count),
    }
    fields = {str(i): known.get(i, np.full(count, -1)) for i in range(1, 19)}
    rows = pl.DataFrame(fields).write_csv(separator=" ", include_header=False)
    return b"; MaxProcs: 64\n" + rows.encode()


def write(folder: Path, count: int) -> None:
    """Write the log, plain and compressed, and a log of one job."""
    text = swf(count)
    for ending, data in zip(
        ENDINGS, (text, gzip.compress(text), zstandard.compress(text)), strict=True
    ):
        Path(folder, f"log.swf{ending}").write_bytes(data)
    Path(folder, "one.swf").write_text(f"; MaxProcs: 64\n{ONE}")


def reading(count: int, repeats: int) -> Iterator[Row]:
    """Seconds and peak memory, each the median over processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, folder, str(count)], check=True)
        for ending in ENDINGS:
            runs = [_run(Path(folder), ending) for _ in range(repeats)]
            detail = {name: median(run[name] for run in runs) for name in runs[0]}
            what = f"an SWF log of {count:,} jobs{f' ({ending})' if ending else ''}"
            yield Row(f"reading {what}", detail["seconds"], "s", SECONDS, detail)
            yield Row(f"peak memory per job of {what}", detail["bytes"], "B", BYTES, detail)


def _run(folder: Path, ending: str) -> dict[str, float]:
    logs = (str(folder / "one.swf"), str(folder / f"log.swf{ending}"))
    command = [sys.executable, "-c", READ, *logs]
    result: dict[str, float] = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    )
    return result


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
