"""Errors: the sentence is composed from the fields, in Python and for the command line."""

from __future__ import annotations

import pickle

from quickswap import QuickswapError
from quickswap.cli.naming import option


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
