"""What a governor leaves for others: a table of the jobs, and metrics for Prometheus."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from quickswap.errors import LogError, QuickswapError
from quickswap.governing.controller import JobState, Snapshot

__all__ = ["JobTable", "metrics_text", "serving_metrics"]

COLUMNS = (
    *("job", "submit", "eligible", "start", "end", "need", "estimate", "user", "group", "queue"),
)
COUNTS = (
    *("decisions", "writes", "holds", "lost", "rejected", "postponed", "busy", "unreachable"),
)


class JobTable:
    """A CSV table of the jobs that have ended, which `quickswap.logs.read` reads.

    Args:
        path: the file, which is continued.

    Raises:
        LogError: the file cannot be read or written, or is another kind of file.
    """

    def __init__(self, path: Path) -> None:
        try:
            with path.open("a+", newline="", encoding="utf-8") as file:
                file.seek(0)
                rows = list(csv.reader(file))
                if not rows:
                    csv.writer(file).writerow(COLUMNS)
        except (OSError, UnicodeDecodeError) as error:
            raise LogError(f"{path} cannot be read and continued: {error}.") from None
        if rows and tuple(rows[0]) != COLUMNS:
            message = f"{path} is not a table of quickswap govern"
            raise LogError(message, given=str(path), advice="give {outcomes} a new file")
        self._path = path
        self._known = {tuple(row[:2]) for row in rows}

    def add(self, snapshot: Snapshot) -> None:
        """Append the jobs that have ended, each once."""
        with self._path.open("a", newline="", encoding="utf-8") as file:
            for job in snapshot.jobs:
                key = (job.id, f"{job.submit:.0f}")
                ran = job.state is JobState.ENDED and job.end >= job.start
                if key in self._known or not ran:
                    continue
                self._known.add(key)
                times = (job.submit, job.arrival, job.start, job.end)
                texts = (job.user, job.group, job.queue)
                row = [job.id, *(f"{time:.0f}" for time in times), job.need, f"{job.limit:.0f}"]
                csv.writer(file).writerow([*row, *texts])


def metrics_text(partition: str, counts: Mapping[str, int], snapshot: Snapshot) -> str:
    """Return metrics in the text format of Prometheus."""
    waits: dict[int, list[float]] = defaultdict(list)
    for job in snapshot.jobs:
        if job.startable:
            waits[job.need].append(max(0.0, snapshot.time - job.arrival))
    label = partition.replace("\\", "\\\\").replace('"', '\\"')
    of_all = f'{{partition="{label}"}}'
    lines = []
    for name in COUNTS:
        metric = f"quickswap_govern_{name}_total"
        lines += [f"# TYPE {metric} counter", f"{metric}{of_all} {counts.get(name, 0)}"]
    gauges: dict[str, dict[int, float]] = {
        "waiting_jobs": {need: len(each) for need, each in waits.items()},
        "mean_wait_seconds": {need: math.fsum(each) / len(each) for need, each in waits.items()},
        "longest_wait_seconds": {need: max(each) for need, each in waits.items()},
    }
    for name, values in gauges.items():
        metric = f"quickswap_govern_{name}"
        lines.append(f"# TYPE {metric} gauge")
        lines += [
            f'{metric}{{partition="{label}",need="{need}"}} {value:g}'
            for need, value in sorted(values.items())
        ]
    lines += [
        "# TYPE quickswap_govern_decision_timestamp_seconds gauge",
        f"quickswap_govern_decision_timestamp_seconds{of_all} {snapshot.time:.3f}",
    ]
    return "\n".join(lines) + "\n"


@contextmanager
def serving_metrics(port: int, text: Callable[[], str]) -> Iterator[None]:
    """Serve metrics at http://127.0.0.1:PORT/metrics meanwhile, to programs on this machine only.

    Args:
        port: the port.
        text: returns the present metrics.

    Raises:
        QuickswapError: the port cannot be used.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/metrics":
                self.send_error(404)
                return
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Requests are not logged."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise QuickswapError(
            f"port {port} of 127.0.0.1 cannot be used ({error.strerror})",
            argument="metrics_port",
            given=port,
            advice="give another {metrics_port}",
        ) from None
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
