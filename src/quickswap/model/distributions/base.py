"""The interface of a distribution: exact moments, tail, scaling, and a dictionary form."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Self

from quickswap._check import check_keys, items, number, numbers, positive
from quickswap.errors import ModelError, inside, invalid, shown, unknown

DISTRIBUTIONS: dict[str, type[Distribution]] = {}
"""Every distribution by its name in files; each is registered when its module is imported."""


class Distribution(ABC):
    """A distribution of random times in seconds: the size of a job, or the time between two
    arrivals.

    Distributions are frozen values: equal parameters make equal objects, `repr` gives an
    expression that builds the same distribution, and `to_dict` and `from_dict` are each other's
    inverse. The concrete distributions are final; nothing else derives from this class.
    """

    __slots__ = ()

    kind: ClassVar[str]
    """Name of the distribution in files."""
    forms: ClassVar[tuple[tuple[str, ...], ...]]
    """The sets of parameters that describe the distribution; the first is the one stored and
    written.
    """

    def __init_subclass__(cls) -> None:
        DISTRIBUTIONS[cls.kind] = cls  # slots create a dataclass twice: the second remains

    @property
    @abstractmethod
    def mean(self) -> float:
        """E[S] in seconds, finite and positive."""

    @property
    @abstractmethod
    def var(self) -> float:
        """Var S in seconds squared; `inf` when it does not exist."""

    @property
    @abstractmethod
    def mean_inverse(self) -> float:
        """E[1/S] per second; `inf` when it does not exist: then the mean slowdown is infinite."""

    @abstractmethod
    def moment(self, order: int) -> float:
        """Return E[S^order] for an order of at least 1; `inf` when it does not exist."""

    @abstractmethod
    def isf(self, probability: float) -> float:
        """Return the least x with P(S > x) <= `probability`, in seconds; 0 < `probability` < 1."""

    @abstractmethod
    def sf(self, x: float) -> float:
        """Return P(S > x) for `x` >= 0 seconds."""

    @property
    def second_moment(self) -> float:
        """E[S^2] in seconds squared; `inf` when it does not exist."""
        return self.var + self.mean * self.mean

    @property
    def scv(self) -> float:
        """Var S / E[S]^2, the squared coefficient of variation: 0 if constant, 1 if exponential."""
        return self.var / (self.mean * self.mean)

    @abstractmethod
    def _scaled(self, factor: float) -> Self:
        """Return the distribution of `factor * S` for a checked factor."""

    def scaled(self, factor: float) -> Self:
        """Return the distribution of `factor * S`, of the same kind; `factor` is positive and
        finite.
        """
        return self._scaled(positive(factor, "scaling factor"))

    def to_dict(self) -> dict[str, object]:
        """Return the form written to JSON and TOML, e.g. `{"distribution": "exponential", "mean":
        1.0}`.
        """
        data: dict[str, object] = {"distribution": self.kind}
        for name in self.forms[0]:
            data[name] = plain(getattr(self, name))
        return data

    @staticmethod
    def from_dict(data: Mapping[str, object]) -> Distribution:
        """Build a distribution from the form of `to_dict` or any other of its forms (`mean`, ...).

        Raises:
            ModelError: an unknown distribution or key, or a value out of range.
        """
        if not isinstance(data, Mapping) or "distribution" not in data:
            form = "a table with its parameters and the key distribution"
            raise invalid("the distribution", data, f"{form}, one of {', '.join(DISTRIBUTIONS)}")
        name = data["distribution"]
        if not isinstance(name, str) or name not in DISTRIBUTIONS:
            unknown("distribution", name, DISTRIBUTIONS, where=("distribution",))
        distribution = DISTRIBUTIONS[name]
        parameters = {key: value for key, value in data.items() if key != "distribution"}
        allowed = list(dict.fromkeys(name for form in distribution.forms for name in form))
        check_keys(parameters, f"the distribution {distribution.kind}", allowed)
        distribution._form(**parameters)
        if "distributions" in parameters:
            with inside("distributions"):
                parameters["distributions"] = _parts(parameters["distributions"])
        build: Callable[..., Distribution] = distribution
        return build(**parameters)

    @classmethod
    def _form(cls, **given: object) -> tuple[str, ...]:
        """Return the form that consists of the given parameters (those not None)."""
        names = {name for name, value in given.items() if value is not None}
        for form in cls.forms:
            if names == set(form):
                return form
        ways = ", or ".join(" and ".join(form) for form in cls.forms)
        got = " and ".join(sorted(names)) or "nothing"
        raise ModelError(
            f"{cls.__name__} takes {ways}, not {got}.",
            argument=f"parameters of {cls.__name__}",
            given=tuple(sorted(names)),
            allowed=ways,
        )

    @classmethod
    def _positive(cls, name: str, value: object) -> float:
        with inside(name):
            return positive(value, f"{name} of {cls.__name__}")

    @classmethod
    def _number(cls, name: str, value: object, low: float = -math.inf) -> float:
        with inside(name):
            return number(value, f"{name} of {cls.__name__}", low)

    def _store(self, **values: object) -> None:
        """Set the fields of a frozen distribution; reject a mean that overflows or underflows."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if not 0 < self.mean < math.inf:
            raise invalid(f"the mean of {shown(self)}", self.mean, "positive and finite")


def _parts(given: object) -> list[Distribution]:
    """Return the distributions of a list of their forms."""
    parts = items(given)
    if parts is None:
        raise invalid("distributions", given, "a list of distributions")
    result = []
    for position, part in enumerate(parts):
        with inside(position):
            if not isinstance(part, Mapping):
                raise invalid("an item of distributions", part, "a distribution")
            result.append(Distribution.from_dict(part))
    return result


def plain(value: object) -> object:
    """Return the value of a parameter with lists for tuples, and dictionaries for distributions."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value.to_dict() if isinstance(value, Distribution) else value


def exp(x: float) -> float:
    """e^x, with `inf` where a float overflows."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def probabilities_of(kind: str, given: object) -> tuple[float, ...]:
    """Return a list of probabilities that add up to 1."""
    with inside("probabilities"):
        result = numbers(given, f"probabilities of {kind}", 0.0)
        if abs((total := math.fsum(result)) - 1) > 1e-9:
            raise invalid(f"sum of the probabilities of {kind}", total, "1")
    return result


def expm1(x: float) -> float:
    """e^x - 1, with `inf` where a float overflows."""
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


def power(x: float, order: int) -> float:
    """x^order of a nonnegative number, with `inf` where a float overflows."""
    try:
        return float(x) ** order
    except OverflowError:
        return math.inf
