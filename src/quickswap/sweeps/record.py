"""The record of a point in a store, as bytes that do not depend on the executor."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import msgspec

from quickswap.errors import QuickswapError
from quickswap.simulation.result import Result
from quickswap.statistics.pairing import Totals
from quickswap.sweeps.point import Point

__all__ = ["Failure", "Record"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A point without a result, and the reason.

    Attributes:
        point: the point.
        kind: name of the error, "UnstableError" where no policy is stable, or "Interrupted" if
            Ctrl-C came before the point had run.
        sentence, argument, advice: of the error.
    """

    point: Point
    kind: str
    sentence: str
    argument: str = ""
    advice: str = ""

    @property
    def message(self) -> str:
        """The error as one sentence."""
        return self.calling()

    def calling(self, option: Callable[[str], str] | None = None) -> str:
        """Return the error as one sentence; see `QuickswapError.calling`."""
        error = QuickswapError(self.sentence, argument=self.argument, advice=self.advice)
        return error.calling(option)

    @property
    def unstable(self) -> bool:
        """Whether the point was not simulated because no policy is stable there."""
        return self.kind == "UnstableError"

    @property
    def not_run(self) -> bool:
        """Whether the sweep was ended before the point had run."""
        return self.kind == "Interrupted"


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a store: plain bytes, which can be sent from process to process.

    Attributes:
        key: of the point, 32 bytes.
        inputs: JSON, compressed.
        result: JSON without the inputs, compressed; empty if it failed.
        totals: sums of the batches, for paired differences; empty if it failed.
        failure: JSON of the fields of `Failure` after the point; empty if it did not fail.
        seconds: run time; not compared.
    """

    key: bytes
    inputs: bytes
    result: bytes
    totals: bytes
    failure: bytes
    seconds: float

    @classmethod
    def of(cls, point: Point, outcome: Result | QuickswapError) -> Self:
        """Return the record of a result, or of the error with which a simulation ended."""
        key, inputs = bytes.fromhex(point.key), zlib.compress(point.to_json().encode())
        if isinstance(outcome, QuickswapError):
            error = type(outcome).__name__, outcome.sentence(), outcome.argument, outcome.advice
            return cls(key, inputs, b"", b"", json.dumps(error).encode(), 0.0)
        data = outcome.to_dict()
        del data["inputs"]
        totals = outcome._totals.to_bytes() if outcome._totals is not None else b""
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        return cls(key, inputs, zlib.compress(text.encode()), totals, b"", outcome.seconds)

    @property
    def point(self) -> Point:
        """The point."""
        return Point.from_json(zlib.decompress(self.inputs).decode())

    @property
    def outcome(self) -> Result | Failure:
        """The result, equal to the one recorded, or the failure."""
        if self.failure:
            return Failure(self.point, *json.loads(self.failure))
        data = msgspec.json.decode(zlib.decompress(self.result))
        data["inputs"] = msgspec.json.decode(zlib.decompress(self.inputs))
        result = Result.from_dict(data)
        totals = Totals.from_bytes(self.totals) if self.totals else None
        object.__setattr__(result, "_totals", totals)
        object.__setattr__(result, "seconds", self.seconds)
        return result

    @property
    def crc(self) -> int:
        """Check sum of all fields, 32 bits."""
        crc = zlib.crc32(struct.pack("<d", self.seconds))
        for part in (self.key, self.inputs, self.result, self.totals, self.failure):
            crc = zlib.crc32(part, zlib.crc32(struct.pack("<I", len(part)), crc))
        return crc

    def same_as(self, other: Self) -> bool:
        """Whether both contain the same, apart from compression and run time."""

        def plain(record: Record) -> list[bytes]:
            packed = (record.result, record.totals)
            return [zlib.decompress(part) if part else b"" for part in packed]

        return (self.key, self.failure) == (other.key, other.failure) and plain(self) == plain(
            other
        )
