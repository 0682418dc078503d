"""Errors: the sentence is composed from the fields, in Python and for the command line."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import quickswap as qs
from quickswap import QuickswapError
from quickswap.cli.options import option

SOURCE = Path(qs.__file__).parent


def test_a_sentence_without_a_message() -> None:
    error = QuickswapError(argument="end", given=-1, allowed="a date", advice="omit {end}")
    assert str(error) == "end is -1; it must be a date; omit end=."
    assert error.calling(option) == "--to is -1; it must be a date; omit --to."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_message_is_completed_by_the_advice() -> None:
    advice = "give {unit:node}, {columns:size=...} or {servers}"
    error = QuickswapError("{a} has no unit", advice=advice).within("file: ")
    expected = 'unit="node", columns={"size": ...} or servers=.'
    assert str(error) == f"file: {{a}} has no unit; give {expected}"
    expected = "--unit node, --columns size=... or --servers."
    assert error.calling(option) == f"file: {{a}} has no unit; give {expected}"


def test_a_message_may_contain_the_advice() -> None:
    error = QuickswapError("seed is {x}: give 1.", argument="seed", advice="give 1")
    assert str(error) == "seed is {x}: give 1."
    assert error.calling(option) == "--seed is {x}: give 1."


def test_an_argument_within_a_message_is_not_its_name() -> None:
    error = QuickswapError("no number of servers", argument="servers", advice="give {servers}")
    assert error.calling(option) == "no number of servers; give --servers."


def _advised() -> Iterator[tuple[str, str, str]]:
    """Return the place, message and advice of each error in the source that has both as text."""
    for path in sorted(SOURCE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Error")):
                continue
            advice = [each.value for each in call.keywords if each.arg == "advice"]
            if call.args and advice and not isinstance(advice[0], ast.Name):
                place = f"{path.relative_to(SOURCE)}:{call.lineno}"
                yield place, ast.unparse(call.args[0]), ast.unparse(advice[0])


def test_an_advice_is_not_in_other_words_what_the_message_has_said() -> None:
    places = list(_advised())
    assert len(places) > 40
    for place, message, advice in places:
        said, adds = (set(re.findall(r"[\w{}]{4,}", text)) for text in (message, advice))
        inside = advice.strip("f\"'") in message
        assert inside or adds - said, place


@pytest.mark.parametrize(
    "call",
    [
        lambda: qs.JobClass(1, size=qs.Exponential(mean=1.0)),  # type: ignore[call-overload]  # no rate
        lambda: qs.load("one-or-all:load=.5,rate=3"),
        lambda: qs.MSFQ(believed=(1.0, 2.0)),
        lambda: qs.parse("smash"),
    ],
)
def test_a_message_with_advice_is_one_sentence(call: object) -> None:
    with pytest.raises(QuickswapError) as caught:
        call()  # type: ignore[operator]
    text = str(caught.value)
    assert caught.value.advice
    assert text.endswith(f"; {caught.value.advice}.")
    assert ".;" not in text


@pytest.mark.parametrize(
    "call",
    [
        lambda: qs.load("bogus"),
        lambda: qs.load("four-class:bogus=1"),
        lambda: qs.parse("bogus"),
        lambda: qs.parse("msfq:bogus=1"),
        lambda: qs.System.from_dict({"bogus": 1}),
        lambda: qs.simulate("four-class", "msf", bogus=1),  # type: ignore[call-arg]  # wrong on purpose
        lambda: qs.Grid("four-class", "msf", bogus=1),
    ],
)
def test_an_unknown_name_has_all_fields(call: Callable[[], object]) -> None:
    with pytest.raises(QuickswapError, match=r"^unknown .*bogus.*; known: ") as caught:
        call()
    error = caught.value
    assert error.argument
    assert error.given == "bogus"
    assert error.allowed in str(error)
