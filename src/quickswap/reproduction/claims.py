"""The paper's claims, each judged by the figures that bear on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quickswap.reproduction import borg_claims, four_class_claims, one_or_all_claims
from quickswap.reproduction.judging import Claim, Finding
from quickswap.reproduction.table import Rows

__all__ = ["CLAIMS", "as_markdown", "judged"]

CLAIMS: tuple[Claim, ...] = (
    *one_or_all_claims.CLAIMS,
    *four_class_claims.CLAIMS,
    *borg_claims.CLAIMS,
)
"""In the order of the paper."""


def judged(figures: Mapping[str, Rows]) -> tuple[Finding, ...]:
    """Return the verdict on each claim for which all figures are there."""
    return tuple(
        claim.judge({name: figures[name] for name in claim.figures})
        for claim in CLAIMS
        if all(name in figures for name in claim.figures)
    )


def as_markdown(findings: Sequence[Finding]) -> str:
    """Write the verdicts as a table in Markdown."""
    lines = ["| claim | where | measured | verdict | why |", "|---|---|---|---|---|"]
    lines += [
        f"| {each.claim} | {each.where} | {each.measured} | **{each.verdict}** | {each.why} |"
        for each in findings
    ]
    return "\n".join(lines) + "\n"
