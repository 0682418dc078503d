"""The running of a command: executors, and partial results after Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from quickswap.errors import Interrupted

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["executor", "until_interrupted"]

Found = TypeVar("Found")


def until_interrupted(work: Callable[[], Found]) -> tuple[Found, Interrupted[Any] | None]:
    """Return the result of work, partial after Ctrl-C, and the interruption to raise later.

    Raises:
        Interrupted: Ctrl-C before there was any result.
    """
    try:
        return work(), None
    except Interrupted as interrupted:
        if interrupted.result is None:
            raise
        return cast("Found", interrupted.result), interrupted


@contextmanager
def executor(address: str | None) -> Iterator[Executor | None]:
    """Connect to a Dask scheduler while the block runs, if an address is given."""
    if address is None:
        yield None
        return
    from quickswap.errors import QuickswapError

    if not address.strip():
        raise QuickswapError("--dask is empty: give the address of a scheduler, host and port.")
    try:
        import distributed
    except ImportError:
        raise QuickswapError(
            "--dask requires the package distributed: install quickswap[distributed]."
        ) from None
    connect: Callable[..., Any] = distributed.Client  # the library has no types
    try:
        client = connect(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise QuickswapError(
            f"--dask is {address}, but no scheduler responds there: {error}."
        ) from None
    with client:
        yield client.get_executor()
