"""Refresh the outputs that the pages show: `python docs/outputs.py`, about a minute.

A Python or shell block may be followed by a block of the language `text` with its output. The
script runs the blocks of each page in order, in an empty folder, and rewrites these outputs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path

from quickswap.cli import main as quickswap

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(
    r"(?P<skip><!-- skip: next [^\n]*-->\n+)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.M | re.S
)


def ran(kind: str, body: str, names: dict[str, object]) -> str:
    """Run a block and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if kind == "python":
            file = re.match(r"# (\S+\.py)\n", body)
            if file:  # where the text of a compiled policy is looked up
                Path(file[1]).write_text(body, encoding="utf-8")
            exec(compile(body, Path(file[1]).resolve() if file else "docs", "exec"), names)
        else:
            for line in body.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["quickswap"]:
                    with contextlib.suppress(SystemExit):
                        quickswap(words[1:])
    return "".join(line.rstrip() + "\n" for line in out.getvalue().rstrip().splitlines())


def refreshed(text: str) -> str:
    """Return a page with refreshed outputs."""
    names: dict[str, object] = {"__name__": "docs"}
    pieces, end, output = [], 0, None
    for block in BLOCK.finditer(text):
        between, kind, body = text[end : block.start()], block["kind"], block["body"]
        if kind == "text" and output is not None and not between.strip():
            pieces += [between, f"```text\n{output}```"]
        else:
            pieces += [between, block[0]]
        output = None
        if block["skip"] is None and kind in ("python", "bash"):
            output = ran(kind, body, names)
        elif kind == "toml" and (name := re.match(r"# (\S+\.toml)\n", body)):
            Path(name[1]).write_text(body, encoding="utf-8")
        end = block.end()
    return "".join([*pieces, text[end:]])


def main() -> None:
    """Refresh all pages."""
    os.environ["COLUMNS"] = "100"
    for page in sorted(DOCS.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            after = refreshed(before)
        if after != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
