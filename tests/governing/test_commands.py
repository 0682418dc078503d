"""Slurm through its commands, which are scripts here."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from quickswap.errors import QuickswapError
from quickswap.governing.commands import PROGRAMS, Commands
from quickswap.governing.controller import JobState, RejectedError, UnreachableError

JOBS = """\
7_1|7|PENDING|2|4|1000|1001|N/A|N/A|1-02:03:04|Priority|101|ann|(null)|normal|
7_2|9|PENDING|2|4|1000|1001|N/A|N/A|3:00|Resources|108|ann|(null)|normal|
2|2|PENDING|8|8|1000|N/A|N/A|N/A|UNLIMITED|Dependency|100|bob|chemistry|normal|
1|1|RUNNING|4|16|900|900|950|1250|5:00|None|1|root|(null)|(null)|
5|5|COMPLETING|1|1|900|900|950|980|5:00|None|1|root|(null)|(null)|
6|6|TIMEOUT|1|1|900|900|950|980|5:00|TimeLimit|1|root|(null)|(null)|
"""
NODES = """\
allocated|4|16/0/0/16
idle~|3|0/12/0/12
planned|1|0/4/0/4
mixed#|2|3/5/0/8
idle*|1|0/4/0/4
drained|1|0/0/4/4
down*|1|0/0/4/4
"""
SCRIPT = """\
#!/bin/sh
PATH=/usr/bin:/bin
case "${{0##*/}} $*" in
*gone*) echo "slurm_update error: Unable to contact slurm controller" >&2; exit 1;;
*fail*) echo "slurm_update error: Invalid job id specified" >&2; exit 1;;
"scontrol show config") printf 'ClusterName = big\\nPriorityType    = priority/multifactor\\n';;
scontrol*) echo "$*" >> "{folder}/written";;
sinfo*partition=none*) ;;
sinfo*) cat "{folder}/nodes";;
squeue*states=pending*) printf '7_1|7|\\n7_2|9|\\n';;
squeue*) cat "{folder}/jobs"; echo "$SLURM_TIME_FORMAT" > "{folder}/format";;
sprio*) printf '7|-30\\n9|800\\n';;
sdiag*) printf 'Server thread count:  3\\nAgent queue size:     7\\n';;
esac
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobs").write_text(JOBS)
    (tmp_path / "nodes").write_text(NODES)
    for name in PROGRAMS:
        (tmp_path / name).write_text(SCRIPT.format(folder=tmp_path))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("nodes", "garbage"),
        ("nodes", "idle|x|0/4/0/4"),
        ("jobs", "7|7|PENDING"),
        ("jobs", JOBS.replace("PENDING|2", "PENDING|0")),
        ("jobs", JOBS.replace("|1000|", "|soon|")),
        ("jobs", "\x00\x1b[31m|"),
    ],
)
def test_an_answer_that_cannot_be_read_is_that_of_a_controller_that_fails(
    folder: Path, file: str, text: str
) -> None:
    (folder / file).write_text(text)
    with pytest.raises(UnreachableError, match="cannot be read"):
        Commands("node").snapshot("all")


def test_jobs_and_servers(folder: Path) -> None:
    snapshot = Commands("node").snapshot("all")
    assert (snapshot.servers, snapshot.free) == (10, 4)
    jobs = {each.id: each for each in snapshot.jobs}
    first = jobs["7_1"]
    assert (first.need, first.arrival, first.limit) == (2, 1001.0, 93_784.0)
    assert (first.priority, first.factor, first.user, first.group) == (101, -30, "ann", "")
    assert jobs["7_2"].factor == 800
    assert first.startable
    assert math.isnan(first.start)
    assert jobs["2"].limit > 1e7
    assert not jobs["2"].startable
    states = [each.state for each in snapshot.jobs]
    assert states == [JobState.PENDING] * 3 + [JobState.RUNNING] * 2 + [JobState.ENDED]
    assert (folder / "format").read_text() == "%s\n"


def test_processors_as_servers(folder: Path) -> None:
    snapshot = Commands("cpu").snapshot("all")
    assert (snapshot.servers, snapshot.free) == (40, 21)
    assert snapshot.jobs[3].need == 16


def test_other_answers(folder: Path) -> None:
    slurm = Commands("node")
    assert slurm.cluster().name == "big"
    assert slurm.cluster().settings["prioritytype"] == "priority/multifactor"
    usage = slurm.diagnostics()
    assert (usage.threads, usage.queue) == (3, 7)
    slurm.write("7_1", 900)
    assert (folder / "written").read_text() == "update JobId=7_1 SiteFactor=900\n"
    for seconds, time in ((60, "now+60"), (0, "now")):
        slurm.delay("7_1", seconds)
        written = (folder / "written").read_text()
        assert written.endswith(f"\nupdate JobId=7_1 StartTime={time}\n")
    assert slurm.factors(["7_1", "7_2", "5"]) == {"7_1": -30, "7_2": 800}
    with pytest.raises(UnreachableError):
        slurm.write("gone", 900)


def test_failures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = Commands("node")
    with pytest.raises(QuickswapError, match="none"):
        slurm.snapshot("none")
    with pytest.raises(RejectedError, match="Invalid job id"):
        slurm.write("fail", 1)
    with pytest.raises(UnreachableError, match="Invalid job id"):
        slurm.snapshot("fail")
    (folder / "sprio").unlink()
    with pytest.raises(UnreachableError, match="sprio"):
        slurm.snapshot("all")
    with pytest.raises(QuickswapError, match="sprio"):
        Commands("node")
