"""Pools of a log: their sizes, from the options, files of Slurm, the header, and the use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from logs_helpers import column, counted, written
from quickswap import logs
from quickswap.errors import LogError

ROWS = [  # submit, wait, size, need, queue, partition
    (0, 0, 50, 4, 1, 1),
    (10, 0, 50, 4, 1, 1),
    (20, 5, 50, 3, 2, 2),
    (30, 0, 50, 2, 1, 3),
]
SCONTROL = """\
PartitionName=1
   AllowGroups=ALL DenyAccounts=x
   Nodes=n[01-08],m1
   State=UP TotalCPUs=18 TotalNodes=9
   TRES=cpu=18,mem=100M,node=9,gres/gpu=4

PartitionName=2 Nodes={} State=UP TotalCPUs={} TotalNodes=4 TRES=cpu=8
PartitionName=3 Nodes=(null) TotalCPUs=10 TotalNodes=5
"""


def swf(folder: Path, *header: str, rows: Sequence[tuple[int, ...]] = ROWS) -> Path:
    lines = [
        f"{n} {a} {w} {s} {need} -1 -1 {need} 90 -1 1 1 1 1 {q} {p} -1 -1"
        for n, (a, w, s, need, q, p) in enumerate(rows, 1)
    ]
    return written(folder, "\n".join([*header, *lines]) + "\n", "pools.swf")


@pytest.mark.parametrize(
    ("options", "pools"),
    [
        ({}, {}),
        ({"pool": {"1": 8, "2": 4, "3": 2}}, {"1": 8, "2": 4, "3": 2}),
        ({"pool": {"1+3": 8, "2": 4}}, {"1+3": 8, "2": 4}),
        ({"pool": {"1": 20}}, {"1": 20, "2": 3, "3": 2}),
        ({"pools": "partition"}, {"1": 8, "2": 3, "3": 2}),
        ({"pools": "queue"}, {"1": 10, "2": 3}),
        ({"pools": "queue", "pool": {"2": 3}}, {"1": 10, "2": 3}),
        ({"pool": {"1": 9}, "partition": "1"}, {"1": 9}),
    ],
)
def test_pools(tmp_path: Path, options: dict[str, Any], pools: dict[str, int]) -> None:
    log = logs.read(swf(tmp_path, "; MaxProcs: 64"), **options)
    assert log.pools == pools
    assert log.servers == (sum(pools.values()) or 64)
    places = [None if each is None else str(each) for each in column(log, "pool")]
    assert set(places) == set(pools or [None])
    again = tmp_path / "log.parquet"
    log.write_parquet(again)
    assert logs.JobLog.read_parquet(again).pools == pools


HEADER = ("; Partition: 1 batch, 8 processors", "; Partition: 2 gpu, 4 processors",
          "; Partition: 3 debug, 2 processors")  # fmt: skip


@pytest.mark.parametrize(
    ("header", "options", "pools", "fact"),
    [
        (("; MaxProcs: 14", *HEADER), {}, {"1": 8, "2": 4, "3": 2}, "1: 8 (header)"),
        (("; MaxProcs: 12", *HEADER), {}, {}, "they share servers"),
        (("; MaxProcs: 14", *HEADER), {"servers": 14}, {}, "read as one machine"),
        (("; MaxProcs: 14", *HEADER[1:]), {}, {}, "read as one machine"),
        (("; MaxProcs: 14", *HEADER[1:]), {"pools": "partition"}, {"1": 8, "2": 4, "3": 2}, "1: 8"),
        (("; MaxProcs: 14", HEADER[0], HEADER[1], "; Partition: 3 debug, 1 processors"), {}, {},
         "more servers than their partition"),
    ],
)  # fmt: skip
def test_sizes_in_the_header(
    tmp_path: Path,
    header: tuple[str, ...],
    options: dict[str, Any],
    pools: dict[str, int],
    fact: str,
) -> None:
    log = logs.read(swf(tmp_path, *header), **options)
    assert log.pools == pools
    assert any(fact in each for each in log.report.facts)


SINFO = """\
PARTITION AVAIL  TIMELIMIT  NODES CPUS STATE NODELIST
1*           up   infinite      2    2  idle n[01-02]
1*           up   infinite      7    2 alloc n[03-09]
2            up    1:00:00      4    2  idle g[1-4]
3            up    1:00:00      5    2  idle d[1-5]
"""


@pytest.mark.parametrize(
    ("text", "unit", "pools"),
    [
        (SCONTROL.format("g[1-4]", 8), "cpu", {"1": 18, "2": 8, "3": 10}),
        (SCONTROL.format("g[1-4]", 8), "node", {"1": 9, "2": 4, "3": 5}),
        (SCONTROL.format("n[07-10]", 8), "cpu", {"1+2": 22, "3": 10}),  # 11 nodes of 2 CPUs
        (SCONTROL.format("n[01-04]", 99), "cpu", {"1+2": 18, "3": 10}),  # 1 contains 2
        (SCONTROL.format("n[07-10]", 99), "cpu", {"1+2": 11, "3": 10}),  # unknown: the peak use
        (SINFO, "cpu", {"1": 18, "2": 8, "3": 10}),
        (SINFO, "node", {"1": 9, "2": 4, "3": 5}),
        ("PARTITION|NODES|CPUS(A/I/O/T)\n1|9|4/14/0/18\n2|4|0/8/0/8\n", "cpu",
         {"1": 18, "2": 8, "3": 2}),
        ("PARTITION NODES(A/I/O/T)\n1* 4/5/0/9\n2 0/4/0/4\n3 0/2/0/2\n", "node",
         {"1": 9, "2": 4, "3": 2}),
    ],
)  # fmt: skip
def test_files_of_slurm(tmp_path: Path, text: str, unit: Any, pools: dict[str, int]) -> None:
    path = swf(tmp_path, "; MaxProcs: 64", "; MaxNodes: 64")
    log = logs.read(path, partitions=written(tmp_path, text, "slurm.txt"), unit=unit)
    assert log.pools == pools
    shared = [each for each in log.report.facts if "share nodes" in each]
    assert len(shared) == ("1+2" in pools)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"pool": {"4": 8}}, r"unknown partition of .*: '4'; known: 1, 2, 3"),
        ({"pool": {"1": 60, "2": 9}, "servers": 64}, "71 servers together, and the machine has 64"),
        ({"pool": {"1+2": 60, "2": 9}}, "each name once"),
        ({"pool": {"1": 0}}, "from 1 to"),
        ({"pool": {}}, "servers of pools"),
        ({"pools": "colour"}, "unknown pools"),
        ({"pools": "class"}, "does not contain the class"),
        ({"partitions": "no file"}, "cannot be read"),
    ],
)
def test_contradictions(tmp_path: Path, options: dict[str, Any], error: str) -> None:
    with pytest.raises(LogError, match=error):
        logs.read(swf(tmp_path, "; MaxProcs: 64"), **options)


@pytest.mark.parametrize("text", ["nothing", "PARTITION NODES\n1 4\n"])
def test_files_without_sizes(tmp_path: Path, text: str) -> None:
    with pytest.raises(LogError, match="give the output of scontrol"):
        logs.read(swf(tmp_path), partitions=written(tmp_path, text, "slurm.txt"))


def test_jobs_outside_the_pools(tmp_path: Path) -> None:
    """A job without a partition, one that its pool cannot serve, and use above the size."""
    rows = [*ROWS, (40, 0, 9, 1, 1, -1), (50, 0, 9, 5, 1, 2)]
    log = logs.read(swf(tmp_path, rows=rows), pool={"1": 4, "2": 4, "3": 4})
    assert counted(log, "other_need") == {"no_pool": 1, "above_servers": 1}
    assert any("the 4 of the pool 1 were in use" in each for each in log.report.facts)


def test_a_pool_without_jobs_is_no_part_of_the_machine(tmp_path: Path) -> None:
    log = logs.read(swf(tmp_path), pool={"1": 8, "2": 4, "3": 1})
    assert (log.pools, log.servers) == ({"1": 8, "2": 4}, 12)


def test_a_size_that_nothing_contains(tmp_path: Path) -> None:
    rows = [(a, -1, *rest) for a, _, *rest in ROWS]
    with pytest.raises(LogError, match="neither the size of the pool 1 nor the waits"):
        logs.read(swf(tmp_path, "; MaxProcs: 64", rows=rows), pools="partition")


@pytest.mark.parametrize("size", [0, 2**24 + 1, 10**20])
def test_a_size_out_of_range(tmp_path: Path, size: int) -> None:
    with pytest.raises(LogError, match="pool is"):
        logs.read(swf(tmp_path), pool={"1": size, "2": 4, "3": 1})
