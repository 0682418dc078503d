"""Phrases that do not belong in the pages, messages and comments of the project.

Each phrase is a case-insensitive regular expression with its replacement. Outputs and inline code
on the pages are skipped: their words come from the program, and are searched there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "examples")
CODE = ("src", "rust/src", "tests", "verification", "benchmarks")
CHECKED = PAGES + CODE
"""Files and folders that the test searches."""
READ = {".md", ".py", ".pyi", ".rs", ".toml", ".json", ".jinja", ".html"}

PHRASES = {
    # nouns of the field
    r"(?<!little's )(?<!conservation )(?<!power )(?<!a\. m\. )"
    r"\blaws?\b(?! and kelton)": "distribution",
    r"\b(?:your |their |its |an? )?own polic(?:y|ies)|ownpolicy": "custom policy",
    r"\bwith a word on\b|\bwithout a word\b": "with a report on",
    r"\bless (?:MSF|EASY|Adaptive)\b": "difference from",
    r"as what it has more": "ΔAIC from the best",
    r"\bknow this first\b": "Before you use these results",
    r"\busual (?:number|value)\b": "default",
    # persons
    r"\b(?:no|some|every)body\b|\bwhoever\b": "no job, a job, every job",
    r"\bhis\b": "their",
    r"\bbelieves?\b": "uses",
    r"\bmakes? users wait least\b|\bwaits? least\b": "has the shortest mean wait",
    # verbs of the field
    r"\btells?\b|\btold\b": "shows, reports, is inconclusive, is not significantly different",
    r"\bfinds\b": "computes, returns, selects",
    r"(?<!almost )\bsurely\b|\bfor sure\b": "significantly",
    r"\bfor ever\b": "never starts",
    r"\b(?:can|could) carry\b": "is stable",
    r"\btwo looks\b|\blooks on end\b": "two consecutive checks",
    r"\bknown too badly\b": "too imprecise",
    r"\bc[oa]mes? to rest\b": "converge",
    r"\bhas no word for\b": "non-finite",
    r"\bhas broken\b|\bfor want of\b": "failed, possibly out of memory",
    r"\bbehind for long\b": "persistent backlog",
    r"\brests? on\b": "uses",
    r"\bgo(?:es)? by\b": "depends on, uses",
    r"\bgo(?:es)? on where\b": "continues",
    r"\b(?:is|are) of (?:an?|the|all|that)\b": "has",
    r"\b(?:is|are) no (?:polic|rows?\b|kind|json|numbers?\b|estimates?\b)": "is not a",
    r"\bwhat is no\b": "unparsable values",
    # metaphors
    r"\bthe house\b": "data flows one way",
    r"\bput to work\b|\bemployer\b|\bemploy\b": "visitor",
    r"\b(?:hire|desk|rescued?)\b": "the name of the thing",
    r"\bswings?\b": "oscillations",
    # one word, one thing
    r"\bin place of\b": "instead of",
    r"\basked for\b": "requested",
    r"\brefus(?:e|es|ed|ing)\b": "reject",
    r"\b(?:its|the|file's) ending\b": "extension",
    r"\bleast (?:size|need|weighted|mean)\b": "smallest",
    r"\bwithout end\b": "without bound",
    r"\bcarr(?:y|ies) (?:an? |no |95 |the )?(?:intervals?|estimates?|half-width|what)\b": "has",
    # a policy serves jobs, and uses estimates
    r"\bsees? the same\b": "serves the same",
    r"\blooks? at (?:estimat|single|individual|sizes|jobs|them\b|it\b)": "uses",
    r"\bmakes? a mistake\b|\bmade a mistake\b": "fails, returns an invalid answer",
    r"\bgo(?:es)? first\b": "starts first, is first",
    r"\bfits? beside\b": "fits together with",
    # sentences
    r"\bthat of which\b": "a relative clause",
    r",\s+so that\b": ", so for a result; so that, without a comma, for a purpose",
    r"[,;] else\b": "otherwise",
    r"\. of (?:several|such|equal|these|those|users|runs|each|more|shell)\b": "subject first",
    r"\bone an? (?:line|row|point|simulation|replication|class|level|job)\b": "one per line",
    r"\b(?:at least|at most|after|of|to|with|in) so many\b": "this many",
    r"\b\w+n't\b|\b(?:it|that|there|what|here|let)'s\b|\b\w+'(?:re|ve|ll)\b": "no contraction",
}
SPELLING = {
    r"\b(?:behavior|color|favor|neighbor|center|labeled|modeling|gray)\w*": "British spelling",
    r"(?<!## )\b(?:utiliz|normaliz|optimiz|minimiz|maximiz|summariz|analyz)\w+": "British spelling",
    r"(?<!_)\b(?:lights|heavies)\b(?!\s*=)": "light jobs, heavy jobs",
    r"(?<![\w.)\]/:])(?<!\(overrun )(?<!\(backfill )\.\d": "0.9, not .9; labels are the program's",
}
"""Searched in prose only: code contains names of libraries and format specifications."""
REFERENCES = "papers.md"
"""Titles of papers keep their spelling."""


Glossary = list[tuple[re.Pattern[str], str]]


def compiled(phrases: dict[str, str]) -> Glossary:
    return [(re.compile(phrase, re.I), instead) for phrase, instead in phrases.items()]


GLOSSARY, PROSE = compiled(PHRASES), compiled(SPELLING)


def blank(left_out: re.Match[str]) -> str:
    """Keep the line breaks, so that line numbers remain right."""
    return "\n" * left_out[0].count("\n")


def hits(text: str, name: str) -> Iterator[str]:
    """Yield file, line, phrase and what to write instead, for each phrase in a text."""
    searched = [(GLOSSARY, text)]
    if name.endswith(".md"):
        text = re.sub(r"^```(?:text|\{code-block\}).*?^```$", blank, text, flags=re.M | re.S)
        text = re.sub(r"(?<!`)`[^`\n]+`(?!`)", blank, text)
        searched = [(GLOSSARY, text)]
        if not name.endswith(REFERENCES):
            prose = re.sub(r"^```.*?^```$", blank, text, flags=re.M | re.S)
            searched.append((PROSE, prose))
    for glossary, part in searched:
        for phrase, instead in glossary:
            for hit in phrase.finditer(part):
                line = part.count("\n", 0, hit.start()) + 1
                yield f"{name}:{line}: {hit[0]!r}; instead: {instead}"


def files(place: str) -> list[Path]:
    """Return the files of a folder that people read."""
    if (ROOT / place).is_file():
        return [ROOT / place]
    paths = (path for path in (ROOT / place).rglob("*") if path.suffix in READ)
    return sorted(path for path in paths if path.is_file() and path != Path(__file__).resolve())


@pytest.mark.parametrize("place", CHECKED)
def test_no_phrase_of_the_glossary(place: str) -> None:
    found: list[str] = []
    for path in files(place):
        found += hits(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It tells nobody.", 2),
        ("Little's law, and the law of the sizes", 1),
        ("a load of .9, not 0.9", 1),
        ("It isn't stable.", 1),
        ("```text\nnot told\n```\nand `not told`\n", 0),
        ("It starts, so that jobs wait. Of several jobs the oldest goes first, else none.", 4),
        ("Keep the heap small so that it fits the cache.", 0),
        ("The run converges; differences are significant at load 0.9.", 0),
    ],
)
def test_the_search(text: str, count: int) -> None:
    assert len(list(hits(text, "page.md"))) == count
