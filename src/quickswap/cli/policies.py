"""`quickswap policies`: every policy with its parameters, and what is proven about it."""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

__all__ = ["policies"]


def policies(*, json: bool = False) -> None:
    """List all policies with their parameters, and what is proven about their stability.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    """
    from quickswap.cli.output import print_json, print_table
    from quickswap.policies.spelling import spelled
    from quickswap.theory.stability import PLAIN_QUEUE

    data = described()
    if json:
        print_json(data)
        return
    columns = ["policy", "parameters", "properties", "proven to be stable", "source"]
    rows = [
        [
            each["policy"],
            ", ".join(
                f"{name}={spelled(value)}" if value not in (None, []) else name
                for name, value in each["parameters"].items()
            )
            or "-",
            ", ".join(each["properties"]) or "-",
            each["stable"] or "-",
            each["source"] or "-",
        ]
        for each in data
    ]
    print_table(columns, rows, text=4)
    print(f"\n{PLAIN_QUEUE}")
    print(
        "A parameter without a value is empty, or depends on the system; smash requires a window. "
        "`quickswap show MODEL` prints the limits for a model."
    )


def described() -> list[dict[str, Any]]:
    """Return what `policies` prints.

    A required parameter is None. Of the policies of other packages, only the name is known.
    """
    from quickswap.model.distributions.base import plain
    from quickswap.policies.custom import registered_names
    from quickswap.policies.spelling import POLICIES, parameters_of
    from quickswap.theory.stability import RULES

    result = []
    for kind in POLICIES:
        rule = RULES.get(kind)
        parameters = parameters_of(kind)
        result.append(
            {
                "policy": kind.name,
                "title": kind.title,
                "parameters": {
                    name: None if default is MISSING else plain(default)
                    for name, default in parameters.items()
                },
                "required": [name for name, value in parameters.items() if value is MISSING],
                "properties": [
                    word
                    for word, holds in (
                        ("preemptive", kind.preemptive),
                        ("individual jobs", kind.individual),
                        ("estimates", kind.estimates),
                        ("random", kind.random),
                    )
                    if holds
                ],
                "stable": None if rule is None else rule.stable,
                "source": None if rule is None else rule.source,
            }
        )
    for name in registered_names():
        nothing: dict[str, Any] = {"parameters": {}, "required": [], "stable": None, "source": None}
        result.append({"policy": name, "title": name, "properties": ["other package"], **nothing})
    return result
