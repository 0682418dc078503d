"""Parses the output of Slurm's `scontrol show partition` and `sinfo`: servers of each partition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quickswap.errors import LogError
from quickswap.files import checked_path

__all__ = ["Partition", "read_partitions"]

_PAIR = re.compile(r"(\w+)=(\S*)")
_ENTRY = re.compile(r"([^\[,]+)(?:\[([^\]]*)\])?")
"""An entry of a list of nodes: `gpu1` or `node[01-12,15]`."""
_GPUS = re.compile(r"\bgres/gpu=(\d+)")
_NAMES = {"S:C:T": "", "NODES(A/I/O/T)": "NODES", "CPUS(A/I/O/T)": "TOTAL"}
_ADVICE = "give the output of scontrol show partition, or of sinfo -o '%P|%D|%C|%N'"


@dataclass
class Partition:
    """A partition: its servers, None if the file does not contain them, and its nodes."""

    servers: int | None = None
    nodes: set[str] = field(default_factory=set)


def read_partitions(path: str | Path, unit: str) -> dict[str, Partition]:
    """Return the partitions of a file by name, with the number of servers of a unit.

    Raises:
        LogError: the file cannot be read, or is neither of the two outputs.
    """
    try:
        text = checked_path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise LogError(
            f"{path} cannot be read ({error.strerror})",
            argument="partitions",
            given=str(path),
            advice=_ADVICE,
        ) from error
    found = _scontrol(text, unit) if "PartitionName=" in text else _sinfo(text, unit)
    if not found:
        raise LogError(
            f"{path} contains no partitions",
            argument="partitions",
            given=str(path),
            advice=_ADVICE,
        )
    if not any(partition.servers for partition in found.values()):
        raise LogError(
            f"{path} does not contain the {unit}s of its partitions",
            argument="partitions",
            given=str(path),
            advice=_ADVICE,
        )
    return found


def _scontrol(text: str, unit: str) -> dict[str, Partition]:
    """Return the partitions of `scontrol show partition`, a record of words KEY=VALUE each."""
    found = {}
    for record in re.split(r"(?=\bPartitionName=)", text)[1:]:
        words = dict(_PAIR.findall(record))
        gpus = _GPUS.search(words.get("TRES", ""))
        number = {
            "cpu": words.get("TotalCPUs", ""),
            "node": words.get("TotalNodes", ""),
            "gpu": gpus[1] if gpus else "",
        }[unit]
        servers = int(number) if number.isdecimal() else None
        found[words["PartitionName"]] = Partition(servers, set(_nodes(words.get("Nodes", ""))))
    return found


def _sinfo(text: str, unit: str) -> dict[str, Partition]:
    """Return the partitions of `sinfo`, whose rows are parts of partitions."""
    lines = [line for line in text.splitlines() if line.strip()]
    at = next((i for i, line in enumerate(lines) if re.search(r"\bPARTITION\b", line)), len(lines))
    found: dict[str, Partition] = {}
    if at == len(lines):
        return found
    mark = "|" if "|" in lines[at] else None
    header = [word.strip().upper() for word in lines[at].split(mark)]
    names = [_NAMES.get(word, word) for word in header]
    for line in lines[at + 1 :]:
        row = dict(zip(names, (word.strip() for word in line.split(mark)), strict=False))
        if row.get("PARTITION", "PARTITION") == "PARTITION":
            continue  # a repeated header
        partition = found.setdefault(row["PARTITION"].rstrip("*"), Partition(0))
        partition.nodes.update(_nodes(row.get("NODELIST", "")))
        servers = _servers(row, unit)
        if partition.servers is not None:
            partition.servers = None if servers is None else partition.servers + servers
    return found


def _servers(row: dict[str, str], unit: str) -> int | None:
    """Return the servers in a row of sinfo; None if the row does not contain them."""
    nodes, each, total = (
        number.rpartition("/")[2] for number in (row.get(n, "") for n in ("NODES", "CPUS", "TOTAL"))
    )
    if unit == "node":
        return (
            int(nodes) if nodes.isdecimal() else len(set(_nodes(row.get("NODELIST", "")))) or None
        )
    if unit == "cpu" and total.isdecimal():
        return int(total)
    if unit == "cpu" and each.isdecimal() and nodes.isdecimal():
        return int(each) * int(nodes)
    return None


def _nodes(text: str) -> Iterator[str]:
    """Yield the nodes of a list such as `node[01-12,15],gpu1`."""
    if text in ("(null)", "n/a"):
        return
    for prefix, inner in _ENTRY.findall(text):
        for part in inner.split(","):
            first, _, last = part.partition("-")
            if last.isdecimal() and first.isdecimal():
                for number in range(int(first), int(last) + 1):
                    yield f"{prefix}{number:0{len(first)}}"
            else:
                yield prefix + part
