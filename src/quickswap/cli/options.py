"""Options that several commands share: numbers, lists, settings, the model and files; names.

The options of settings are built from the fields of `Settings`, their only definition.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from cyclopts import Parameter

from quickswap.engine.settings import ReplayInputs, Settings
from quickswap.errors import ModelError, QuickswapError
from quickswap.files import check_file, same_file
from quickswap.model.files import load, presets
from quickswap.model.system import System

if TYPE_CHECKING:
    from cyclopts import Token

__all__ = [
    "GRID",
    "MODEL",
    "Debug",
    "File",
    "Model",
    "Numbers",
    "Output",
    "Overrides",
    "Quantities",
    "ReplayOptions",
    "Scale",
    "Seeds",
    "SettingOptions",
    "Threads",
    "Whole",
    "Words",
    "check_writable",
    "chosen",
    "files_of_stores",
    "given",
    "option",
    "options_of",
]

NAMES = {"start": "--from", "end": "--to"}
"""Options whose name differs from that of the argument."""


def option(argument: str) -> str:
    """Return the option that sets an argument of a function."""
    if not argument.isidentifier():
        return argument
    return NAMES.get(argument, "--" + argument.replace("_", "-"))


def given(options: object | None) -> list[str]:
    """Return the options that differ from their defaults, as written: `--unit node`.

    `options` is an instance of a dataclass of options with defaults, or None.
    """
    if options is None:
        return []
    defaults, words = vars(type(options)()), []
    for name, value in vars(options).items():
        if value != defaults[name]:
            words += [
                option(name) if each is True else f"{option(name)} {shlex.quote(str(each))}"
                for each in (value if isinstance(value, list) else [value])
            ]
    return words


def _whole(_: Any, tokens: Sequence[Token]) -> int:
    """Read a whole number, written as in 1000000, 1_000_000 or 1e6."""
    text = tokens[0].value
    with suppress(ValueError):
        return int(text)  # exactly, however large
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError("it must be a whole number, as in 100 or 1e6")
    return int(number)


def _numbers(_: Any, tokens: Sequence[Token]) -> tuple[float, ...]:
    """Read positive numbers that are separated by commas or blanks."""
    text = tokens[0].value
    with suppress(ValueError):
        values = tuple(map(float, text.split("," if "," in text else None)))
        if values and all(0 < value < math.inf for value in values):
            return values
    raise ValueError("give numbers above 0 separated by commas, as in 0.5,0.7,0.9")


def _seeds(_: Any, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Read whole numbers that are separated by commas or blanks."""
    with suppress(ValueError):
        if values := tuple(map(int, tokens[0].value.replace(",", " ").split())):
            return values
    raise ValueError("give whole numbers separated by commas, as in 1,2,3")


def _words(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Parse words that are separated by blanks or semicolons."""
    if words := tuple(tokens[0].value.replace(";", " ").split()):
        return words
    raise ValueError("give at least one name, with blanks between several")


def _file(_: Any, tokens: Sequence[Token]) -> Path:
    """Read the name of a file that is not text."""
    if tokens[0].value == "-":
        raise ValueError("give a file, as it is not text")
    return _output(_, tokens)


def _output(_: Any, tokens: Sequence[Token]) -> Path:
    """Read the name of a file, or -; another option is not taken for a name."""
    if tokens[0].value.startswith("-") and tokens[0].value != "-":
        raise ValueError("give a file; write ./ before a name that begins with -")
    return Path(tokens[0].value)


Whole = Annotated[int, Parameter(converter=_whole)]
Numbers = Annotated[
    tuple[float, ...],
    Parameter(converter=_numbers, n_tokens=1, allow_repeating=False, metavar="NUMBERS"),
]
Seeds = Annotated[
    tuple[int, ...],
    Parameter(converter=_seeds, n_tokens=1, allow_repeating=False, metavar="NUMBERS"),
]
Words = Annotated[
    tuple[str, ...], Parameter(converter=_words, n_tokens=1, allow_repeating=False, metavar="NAMES")
]
Output = Annotated[Path | None, Parameter(converter=_output, allow_leading_hyphen=True)]
"""A file to write, or - for standard output."""
File = Annotated[Path | None, Parameter(converter=_file, allow_leading_hyphen=True)]
"""A file to write that is not text."""

MODEL = (
    f"A preset ({', '.join(presets())}), with options as in one-or-all:k=8,p1=0.5, or a TOML file."
)
Model = Annotated[str, Parameter(help=MODEL)]
Threads = Annotated[
    Whole | None,
    Parameter(help="Threads to use; by default all cores. Does not change the result."),
]
Debug = Annotated[
    bool,
    Parameter(
        help="Check every event (slower): servers, conservation of jobs, order in class, "
        "Little's law."
    ),
]
Quantities = Annotated[
    Output,
    Parameter(help="Write all quantities to this file, one per row (- for standard output)."),
]
GRID = "Options that override the grid; by default its values apply"
"""The heading of these options in the help."""


KINDS: dict[Any, Any] = {
    int: Whole,
    int | None: Whole | None,
    Mapping[str, int] | None: Annotated[list[str] | None, Parameter(metavar="NAME=NUMBER")],
} | {kind: kind for kind in (bool, float, float | None, float | str)}
"""Types of settings and how an option reads them; any other is read as text."""


def options_of(
    definition: type,
    without: Collection[str] = (),
    *,
    overrides: bool = False,
    texts: Mapping[str, str] | None = None,
) -> Any:
    """Return a dataclass with an option for each setting of a definition that has a help text.

    Args:
        definition: the dataclass of the settings.
        without: settings with an option of their own.
        overrides: whether the options replace the values of a grid, and have no defaults.
        texts: the help texts; by default they are in the metadata of the fields.
    """
    kinds = get_type_hints(definition)
    options = []
    for each in fields(definition):
        text = each.metadata.get("help") if texts is None else texts[each.name]
        if each.name in without or not text:
            continue
        kind, default = kinds[each.name], each.default
        kind = KINDS.get(kind, str if default is not None else str | None)
        if overrides:
            kind, default = kind | None, None
        elif each.metadata.get("unset"):
            text += f" By default {each.metadata['unset']}."
        kind = Annotated[kind, Parameter(name=option(each.name))]
        options.append((each.name, kind, field(default=default, metadata={"help": text})))
    return make_dataclass("Options", options, frozen=True, namespace={"__module__": __name__})


if TYPE_CHECKING:
    SettingOptions = Settings
    Overrides = Settings
    ReplayOptions = ReplayInputs
else:
    SettingOptions = Parameter(name="*")(options_of(Settings, ["trajectory"]))
    Overrides = Parameter(name="*", group=GRID)(
        options_of(Settings, ["seed", "trajectory"], overrides=True)
    )
    ReplayOptions = Parameter(name="*")(options_of(ReplayInputs))


@Parameter(name="*")
@dataclass(frozen=True)
class Scale:
    """Changes to the model."""

    rate: float | None = None
    """Total arrivals per second; scales all classes by one factor. By default the model's rate."""
    load: float | None = None
    """Load, instead of a rate: the share of the servers that the jobs occupy."""
    servers: Whole | None = None
    """Number of servers, instead of the model's."""


def chosen(model: str, scale: Scale | None) -> System:
    """Return the system of a preset or a file, with the changes of the options.

    Raises:
        ModelError: the model is unknown or not valid, or the options do not apply to it.
    """
    system = load(model)
    if scale is None:
        return system
    if scale.rate is not None and scale.load is not None:
        raise ModelError("--rate and --load are both given: give one of them.")
    if (servers := scale.servers) is not None:
        least = max(system.needs)
        if 1 <= servers < least:
            advice = f"give {least} or more"
            if model.partition(":")[0].strip() == "one-or-all":
                fewer = max(servers, 2)  # the least of the preset
                advice = f"give one-or-all:k={fewer} instead, in which they need {fewer}"
            raise ModelError(
                f"--servers is {servers}, and jobs of the model need {least}: {advice}."
            )
        system = System(servers, system.classes)
    if scale.rate is not None:
        system = system.with_rate(scale.rate)
    if scale.load is not None:
        system = system.with_load(scale.load)
    return system


def check_writable(*paths: Path | None, sources: Iterable[str | Path | None]) -> None:
    """Reject files that cannot be written, before any long work.

    `sources` are the inputs and the store of the command: paths, which need not exist yet, or
    text, which may be the name of a preset.
    """
    read = [each for each in sources if isinstance(each, Path) or (each and os.path.exists(each))]
    taken: list[Path] = []
    for path in filter(None, paths):
        stream = str(path) == "-"
        if not stream and any(same_file(path, each) for each in read):
            raise QuickswapError(f"{path} is an input: give the output another file.")
        if any(path == each or (not stream and same_file(path, each)) for each in taken):
            raise QuickswapError(f"{path} is given for two outputs: give each its own file.")
        taken.append(path)
        if not stream:
            check_file(path)


def files_of_stores(*stores: Path | None) -> list[Path]:
    """Return the files of stores: each one and its journal, which exists during a write."""
    return [file for each in stores if each for file in (each, Path(f"{each}-journal"))]
