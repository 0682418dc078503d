"""The model: identical servers, and the classes of jobs that share them.

A job of a class holds `need` servers at once for its size, in seconds. Sizes are independent draws
from the distribution of the class. The arrival processes of the classes are independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Any, Self, final

from quickswap._check import check_keys, items, positive, whole
from quickswap._shown import Shown
from quickswap.errors import ModelError, inside, invalid
from quickswap.model.jobclass import JobClass

__all__ = ["JobClass", "System"]

KEYS = ("servers", "classes")
MOST_SERVERS = 2**24
"""Largest number of servers, for which the core has look-up tables."""


@final
@dataclass(frozen=True, init=False)
class System(Shown):
    """`servers` identical servers and the classes of jobs they serve.

    Classes without a name are named after their need, "need 4", and numbered if several share it,
    "need 4 (2)". Two systems are equal if their servers and classes are, names included.

    Args:
        servers: k, at least 1.
        classes: at least one; several may have the same need. Results have the same order.

    Raises:
        ModelError: no class, a need above the servers, or a name given twice.
    """

    servers: int
    classes: tuple[JobClass, ...]

    def __init__(self, servers: int, classes: Iterable[JobClass]) -> None:
        with inside("servers"):
            object.__setattr__(self, "servers", whole(servers, "servers", 1, MOST_SERVERS))
        with inside("classes"):
            object.__setattr__(self, "classes", _named(_fitting(classes, self.servers)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each class, no two the same."""
        return tuple(str(each.name) for each in self.classes)

    @cached_property
    def needs(self) -> tuple[int, ...]:
        """Servers needed by a job of each class."""
        return tuple(each.need for each in self.classes)

    @cached_property
    def arrival_rate(self) -> float:
        """Arrivals per second, all classes together."""
        return math.fsum(each.arrival_rate for each in self.classes)

    @cached_property
    def class_loads(self) -> tuple[float, ...]:
        """Share of all servers that each class keeps busy if all its jobs are served."""
        return tuple(each.work / self.servers for each in self.classes)

    @cached_property
    def load(self) -> float:
        """Share of the servers that the jobs keep busy, the sum of need x rate x mean size over k.

        It is below 1 if any policy is stable; see `capacity` for the exact limit.
        """
        return math.fsum(self.class_loads)

    @cached_property
    def load_shares(self) -> tuple[float, ...]:
        """Share of each class in the load."""
        loads = self.class_loads
        total = math.fsum(loads)
        return tuple(load / total for load in loads)

    @cached_property
    def job_shares(self) -> tuple[float, ...]:
        """Share of each class among the arrivals."""
        total = self.arrival_rate
        return tuple(each.arrival_rate / total for each in self.classes)

    @cached_property
    def capacity(self) -> float:
        """The total arrival rate, at this mix of classes, below which some policy is stable.

        No policy, preemptive or not, is stable above it. It is `arrival_rate / load` if the needs
        fill the servers without loss, for example if each divides k, and lower otherwise: see
        `quickswap.model.capacity`.
        """
        from quickswap.model.capacity import largest_rate

        sizes = (each.size.mean for each in self.classes)
        works = [share * size for share, size in zip(self.job_shares, sizes, strict=True)]
        return largest_rate(self.servers, self.needs, works)

    @property
    def mean_size(self) -> float:
        """Mean size of all jobs, seconds."""
        sizes = (each.size.mean for each in self.classes)
        return math.fsum(map(math.prod, zip(self.job_shares, sizes, strict=True)))

    @property
    def one_or_all(self) -> bool:
        """Whether there are two classes, one that needs one server and one that needs them all."""
        return sorted(self.needs) == [1, self.servers] and self.servers > 1

    def with_rate(self, total: float) -> System:
        """Return this system with all rates scaled in proportion to `total` arrivals per second."""
        return self._faster(positive(total, "rate") / self.arrival_rate)

    def with_load(self, rho: float) -> System:
        """Return this system with all rates scaled in proportion to the load `rho`, above 0."""
        return self._faster(positive(rho, "load") / self.load)

    def _faster(self, factor: float) -> System:
        faster = (each._faster(factor) for each in self.classes)
        return System(self.servers, faster)

    def to_dict(self) -> dict[str, object]:
        """Return the form that JSON results, TOML models and the core share."""
        return {"servers": self.servers, "classes": [each.to_dict() for each in self.classes]}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Build a system from the form of `to_dict`.

        Raises:
            ModelError: an unknown or missing key, or a value out of range.
        """
        if not isinstance(data, Mapping):
            raise invalid("the system", data, "a table")
        check_keys(data, "a system", KEYS, required=KEYS)
        classes: list[JobClass] = []
        with inside("classes"):
            for position, each in enumerate(_listed(data["classes"])):
                with inside(position):
                    classes.append(JobClass.from_dict(each))
        build: Callable[..., Self] = cls
        return build(data["servers"], classes)

    def to_toml(self) -> str:
        """Return the text of a model file of this system, which `quickswap.load` reads back."""
        import tomli_w

        return tomli_w.dumps(self.to_dict())


def _listed(classes: object) -> list[Any]:
    """Return classes as a list with at least one element."""
    result = items(classes)
    if result is None:
        raise invalid("classes", classes, "a list of job classes")
    if not result:
        raise invalid("classes", classes, "a list of at least one job class")
    return result


def _fitting(classes: object, servers: int) -> list[JobClass]:
    """Return classes as a list, checked to be job classes whose needs fit the servers."""
    result = _listed(classes)
    for position, each in enumerate(result):
        if not isinstance(each, JobClass):
            raise invalid("an item of classes", each, "a job class", where=(position,))
        if each.need > servers:
            what = f"need of class {each.name or position!r}"
            allowed = f"a whole number from 1 to {servers}, the servers of the system"
            raise invalid(what, each.need, allowed, where=(position, "need"))
    return result


def _named(classes: list[JobClass]) -> tuple[JobClass, ...]:
    """Return the classes, each with a name; reject a name given twice."""
    taken: set[str] = set()
    for position, each in enumerate(classes):
        if each.name in taken:
            raise ModelError(
                f"name {each.name!r} is given to two classes: use different names, or none.",
                (position, "name"),
                argument="name of a job class",
                given=each.name,
                advice="use different names, or none",
            )
        if each.name is not None:
            taken.add(each.name)
    sharing = Counter(each.need for each in classes if each.name is None)
    result = []
    for each in classes:
        if each.name is None:
            plain = f"need {each.need}"
            numbered = (f"{plain} ({number})" for number in count(1))
            choices = chain([plain] if sharing[each.need] == 1 else [], numbered)
            name = next(name for name in choices if name not in taken)
            taken.add(name)
            result.append(each._altered(name=name))
        else:
            result.append(each)
    return tuple(result)
