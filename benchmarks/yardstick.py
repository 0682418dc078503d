"""The bare loop: built by cargo, run on the systems of quickswap, timed by itself."""

import json
import subprocess
import tempfile
from pathlib import Path

from quickswap import System

ROOT = Path(__file__).parent.parent


def build() -> Path:
    """Compile the bare loop and return the program."""
    command = ["cargo", "build", "--release", "--quiet", "--package", "quickswap-bare"]
    messages = subprocess.run(
        [*command, "--message-format", "json"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    built = [json.loads(line).get("executable") for line in messages.splitlines()]
    return Path(next(program for program in built if program))


def nanoseconds(program: Path, system: System, policy: str, events: int, seed: int) -> float:
    """Time of one event in nanoseconds. `policy` is in the words of the bare loop: `msfq:31`."""
    rows = [f"{each.need} {each.arrival_rate!r} {each.size.mean!r}" for each in system.classes]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join([str(system.servers), *rows]))
        file.flush()
        line = subprocess.run(
            [program, file.name, policy, str(events), str(seed)],
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    return float(json.loads(line)["ns_per_event"])
