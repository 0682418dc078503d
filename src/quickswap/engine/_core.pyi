"""The simulation core, written in Rust.

Invalid input and faults of a custom policy raise `ValueError`, faults of the core `RuntimeError`.

A row of counters contains `CLASS_COLUMNS` for each class, then `SYSTEM_COLUMNS`, then, if the
policy has phases, `PHASE_COLUMNS` for each of `PHASES`.
"""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

POLICIES: list[str]
METRICS: tuple[str, ...]
CLASS_COLUMNS: tuple[str, ...]
SYSTEM_COLUMNS: tuple[str, ...]
BLOCK_COLUMNS: tuple[str, ...]
PHASES: tuple[str, ...]
PHASE_COLUMNS: tuple[str, ...]
VERSION: str
ROUNDING: float

class ViewedJob:
    """A job in the view of a custom policy."""

    number: int
    cls: int
    need: int
    arrival: float
    estimate: float
    start: float

class View:
    """The system in the view of a custom policy: a copy."""

    time: float
    servers: int
    free: int
    needs: tuple[int, ...]
    waiting: tuple[int, ...]
    running: tuple[int, ...]
    heads: tuple[int | None, ...]
    head_needs: tuple[int, ...]
    queue: tuple[ViewedJob, ...] | None
    in_service: tuple[ViewedJob, ...] | None
    @property
    def random(self) -> Random: ...

class NativePolicy:
    """A policy in native code: addresses of its functions, and its initial state."""

    draws: bool
    def __init__(
        self,
        name: str,
        start: int,
        wake_at: int | None,
        state: bytes,
        *,
        sees_heads: bool,
        sees_jobs: bool,
        remembers_order: bool,
        memoryless: bool,
        draws: bool,
        original: object | None,
        code: object,
    ) -> None: ...

class Simulation:
    def __init__(self, spec: str, policy: object | None = None) -> None: ...
    def advance(
        self, completed: int, threads: int, progress: Callable[[int], object] | None = None
    ) -> list[str]: ...
    def fault(self) -> tuple[str, BaseException | None] | None: ...
    def little_gaps(self) -> list[float]: ...
    def totals(self) -> tuple[int, int]: ...
    def blocks(self) -> list[NDArray[np.float64]]: ...
    def sums(self, edges: Sequence[Sequence[int]]) -> NDArray[np.float64]: ...
    def segments(self) -> tuple[int, list[int]]: ...
    def quantiles(
        self, edges: Sequence[Sequence[int]], levels: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def trajectory(self) -> tuple[float, NDArray[np.uint32]]: ...

class Stepper:
    def __init__(self, spec: str, policy: object | None = None) -> None: ...
    def wait_until(self, now: float) -> None: ...
    def arrive(
        self, classes: Sequence[int], estimates: Sequence[float]
    ) -> tuple[list[int], list[int]]: ...
    def complete(self, jobs: Sequence[int]) -> list[int]: ...
    def resume(
        self, jobs: Sequence[Sequence[tuple[int, float, float]]], policy: Sequence[int]
    ) -> list[int]: ...
    def reserved(self) -> int | None: ...
    def first_running(self, cls: int) -> int | None: ...
    def ask(self) -> list[int]: ...
    def wake_at(self) -> float: ...
    @property
    def time(self) -> float: ...
    @property
    def free(self) -> int: ...
    def state(self) -> tuple[list[int], list[int], list[int] | None, list[int]]: ...
    def restore(
        self, state: tuple[Sequence[int], Sequence[int], Sequence[int] | None, Sequence[int]]
    ) -> None: ...
    def jobs(self) -> list[list[tuple[int, int]]]: ...

class Explorer:
    def __init__(self, spec: str, policy: object | None = None) -> None: ...
    def advance(self, states: int) -> bool: ...
    def progress(self) -> tuple[int, int]: ...
    def jumps(
        self,
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]: ...
    def counts(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]: ...

def replay(
    spec: str,
    arrival: NDArray[np.float64],
    cls: NDArray[np.uint32],
    size: NDArray[np.float64],
    policy: object | None = None,
    *,
    estimate: NDArray[np.float64] | None = None,
    predict: tuple[NDArray[np.uint32], NDArray[np.float64]] | None = None,
    user: NDArray[np.uint32] | None = None,
    priority: NDArray[np.float64] | None = None,
    groups: NDArray[np.uint32] | None = None,
    limits: Sequence[int] | None = None,
    debug: bool = True,
    progress: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint64], int]: ...
def serve_leftover(
    servers: int,
    time: NDArray[np.float64],
    left: NDArray[np.uint32],
    needs: Sequence[int],
    arrival: NDArray[np.float64],
    cls: NDArray[np.uint32],
    size: NDArray[np.float64],
    *,
    keeps_work: bool = False,
    groups: NDArray[np.uint32] | None = None,
    limits: Sequence[int] | None = None,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.uint64],
    NDArray[np.float64],
    NDArray[np.float64],
]: ...
def time_with_enough(
    length: NDArray[np.float64],
    free: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    need: NDArray[np.int64],
) -> NDArray[np.float64]: ...
def cheapest_service(
    edges: NDArray[np.float64],
    prices: NDArray[np.float64],
    arrival: NDArray[np.float64],
    need: NDArray[np.float64],
    size: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]: ...
def smallest_first(
    speed: float, arrival: NDArray[np.float64], work: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def bin_counts(
    values: NDArray[np.float64],
    cell: NDArray[np.int64],
    cells: int,
    edges: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def plain_rows(
    text: bytes,
) -> (
    tuple[
        list[NDArray[np.float64]],
        NDArray[np.int64],
        list[tuple[NDArray[np.int64], NDArray[np.uint32]]],
    ]
    | None
): ...
def half_widths(
    values: NDArray[np.float64],
    sizes: Sequence[int],
    level: float,
    reciprocal: NDArray[np.bool_],
) -> NDArray[np.float64]: ...
def student_t(freedom: float, level: float) -> float: ...
