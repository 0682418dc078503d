"""Frozen values that hold nan and are still equal to their copies."""

from __future__ import annotations

import math
from dataclasses import Field, fields
from typing import Any, ClassVar

__all__ = ["Value"]


class Value:
    """A dataclass whose missing numbers are one and the same nan.

    Fields are compared by identity first, so two values with this nan are equal; pickling
    would make another one of it.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, float) and value != value:
                object.__setattr__(self, name, math.nan)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [each.name for each in fields(self) if each.init]
        return _rebuilt, (type(self), {name: getattr(self, name) for name in names})


def _rebuilt(kind: type, values: dict[str, Any]) -> Any:
    return kind(**values)
