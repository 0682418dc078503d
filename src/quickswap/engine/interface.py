"""What the code of a compiled policy refers to: the view as Numba sees it.

`quickswap_policy.h` declares the same structs for C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]  # carray has no type
from numba.extending import intrinsic, overload, overload_attribute

__all__ = ["VIEW", "address", "carray", "cfunc", "draw", "encoded", "goes_on", "moment", "njit"]

VIEW = np.dtype(
    [
        ("version", "i8"),
        ("time", "f8"),
        ("servers", "i8"),
        ("free", "i8"),
        ("classes", "i8"),
        ("needs_at", "u8"),
        ("waiting_at", "u8"),
        ("running_at", "u8"),
        ("heads_at", "u8"),
        ("waiting_jobs", "i8"),
        ("queue_at", "u8"),
        ("jobs_in_service", "i8"),
        ("in_service_at", "u8"),
        ("words", "i8"),
        ("state_at", "u8"),
        ("random_at", "u8"),
        ("head_needs_at", "u8"),
    ]
)
JOB = np.dtype(
    [
        ("number", "i8"),
        ("cls", "i8"),
        ("need", "i8"),
        ("arrival", "f8"),
        ("estimate", "f8"),
        ("start", "f8"),
        ("place", "i8"),
    ]
)


def _address(_: Any, number: Any) -> Any:
    """Return an integer as a pointer."""
    if isinstance(number, types.Integer):
        return types.voidptr(number), lambda context, builder, _, arguments: builder.inttoptr(
            arguments[0], context.get_value_type(types.voidptr)
        )
    return None


address: Any = intrinsic(_address)


def _list(name: str, length: str, dtype: Any) -> None:
    """Give views an attribute: the array of this length at the address in a field."""
    at = f"{name}_at"

    @overload_attribute(types.Record, name)
    def attribute(record: Any) -> Any:
        def array(record: Any) -> Any:
            return carray(address(record[at]), record[length], dtype)

        return array if at in record.fields else None


for _name in ("needs", "waiting", "running", "heads", "head_needs"):
    _list(_name, "classes", np.int64)
_list("queue", "waiting_jobs", JOB)
_list("in_service", "jobs_in_service", JOB)


def encoded(answer: Any) -> int:
    """Return the answer of a policy as a number: see `quickswap_policy.h`."""
    raise NotImplementedError  # compiled code calls the overload below


@overload(encoded)
def _encoded(answer: Any) -> Any:
    # an answer below 0 is no class, and must not be taken for a job
    def none(answer: Any) -> Any:
        return -1

    def job(answer: Any) -> Any:
        return -2 - answer.place

    def job_or_none(answer: Any) -> Any:
        return -1 if answer is None else -2 - answer.place

    def cls(answer: Any) -> Any:
        return answer if answer >= 0 else -(2**62)

    def cls_or_none(answer: Any) -> Any:
        return -1 if answer is None else (answer + 0 if answer >= 0 else -(2**62))

    optional = isinstance(answer, types.Optional)
    kind = answer.type if optional else answer
    if isinstance(kind, types.NoneType):
        return none
    if isinstance(kind, types.Record) and "place" in kind.fields:
        return job_or_none if optional else job
    if isinstance(kind, types.Integer) and not isinstance(kind, types.Boolean):
        return cls_or_none if optional else cls
    return None


def moment(answer: Any) -> float:
    """Return the time of the next decision, seconds; infinite for None."""
    raise NotImplementedError  # compiled code calls the overload below


@overload(moment)
def _moment(answer: Any) -> Any:
    def none(answer: Any) -> Any:
        return np.inf

    def time(answer: Any) -> Any:
        return answer

    def time_or_none(answer: Any) -> Any:
        return np.inf if answer is None else answer + 0.0

    optional = isinstance(answer, types.Optional)
    kind = answer.type if optional else answer
    if isinstance(kind, types.NoneType):
        return none
    if isinstance(kind, types.Number) and not isinstance(kind, types.Complex):
        return time_or_none if optional else time
    return None


TURNS = 10**8
"""Most turns of a `while` loop, about a tenth of a second; native code cannot be interrupted."""


@njit
def goes_on(turns: int) -> bool:
    """Raise an error if a loop has made too many turns."""
    if turns > TURNS:
        raise RuntimeError
    return True


@njit
def draw(view: Any) -> float:
    """Return the next uniform number in [0, 1) of the replication (SplitMix64)."""
    state = carray(address(view.random_at), 1, np.uint64)
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
