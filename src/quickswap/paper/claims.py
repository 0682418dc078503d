"""All claims of the paper, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quickswap.paper import claims_borg, claims_four_classes, claims_one_or_all
from quickswap.paper.judging import Claim, Finding
from quickswap.paper.rows import Rows

__all__ = ["CLAIMS", "as_markdown", "judge"]

CLAIMS: tuple[Claim, ...] = (
    *claims_one_or_all.CLAIMS,
    *claims_four_classes.CLAIMS,
    *claims_borg.CLAIMS,
)


def judge(figures: Mapping[str, Rows]) -> tuple[Finding, ...]:
    """Return the finding on each claim for which all figures are given."""
    return tuple(claim.judge(figures) for claim in CLAIMS if set(claim.figures) <= figures.keys())


def as_markdown(findings: Sequence[Finding]) -> str:
    """Return the findings as a table in Markdown."""
    lines = ["| claim | where | measured | verdict | why |", "|---|---|---|---|---|"]
    lines += [
        f"| {each.claim} | {each.where} | {each.measured} | **{each.verdict}** | {each.why} |"
        for each in findings
    ]
    return "\n".join(lines) + "\n"
