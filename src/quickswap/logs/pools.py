"""Pools: partitions, queues or node types that have servers of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from quickswap.errors import LogError, unknown
from quickswap.logs.formats.slurm_partitions import Partition, read_partitions
from quickswap.logs.job_rows import Parsed
from quickswap.logs.options import JOINED, POOL_COLUMNS, Options
from quickswap.logs.quality import Tally
from quickswap.logs.server_use import server_use

__all__ = ["with_pools"]


def with_pools(
    frame: pl.DataFrame, parsed: Parsed, options: Options, tally: Tally
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the rows with their pool, and the servers of each pool; none if all are one machine.

    Sizes are those given, or else those of the file of partitions, of the header of the log, and
    the largest number of servers in use at the same time.

    Raises:
        LogError: a pool is unknown, its size is unknown, or sizes contradict each other.
    """
    known = {name: _names(frame, name) for name in POOL_COLUMNS}
    given = {tuple(name.split(JOINED)): size for name, size in (options.pool or {}).items()}
    if not given and options.pools is None and options.partitions is None:
        column, stated = "partition", _stated(frame, parsed, options, tally, known["partition"])
        if not stated:
            return frame.with_columns(pool=pl.lit(None, pl.Categorical)), {}
    else:
        column = _column(options, given, known, tally)
        stated = parsed.partitions if column == "partition" else {}
    names = known[column]
    pools: dict[tuple[str, ...], tuple[int | None, str]] = {
        members: (size, "given") for members, size in given.items()
    }
    if options.partitions is not None:
        partitions = read_partitions(options.partitions, options.unit)
        shared = {name: partitions[name] for name in _left(pools, names) if name in partitions}
        for members, size in _without_overlaps(shared, tally):
            pools[members] = (size, str(options.partitions))
    pools |= {(name,): (stated[name], "header") for name in _left(pools, names) if name in stated}
    pools |= {(name,): (None, "") for name in _left(pools, names)}
    members_of = {name: members for members in pools for name in members}
    own = pl.col(column).cast(pl.String)
    spelled = {name: JOINED.join(members) for name, members in members_of.items()}
    pool = own.replace_strict(spelled, default=None, return_dtype=pl.String)
    frame = frame.with_columns(pool=pool.cast(pl.Categorical))
    sizes, listed = {}, []
    for members, (size, source) in pools.items():
        name = JOINED.join(members)
        if not set(members) & set(names):
            continue  # no job is in it
        jobs = frame.filter(pl.col("pool") == name)
        if size is None:
            size, source = _peak(jobs, name, tally), "peak use"
        use = server_use(jobs, "zero_size", "need_requested")
        if use is not None and use.peak > size:
            tally.facts.append(use.excess(size, f"pool {name}"))
        sizes[name] = size
        listed.append(f"{name}: {size:,} ({source})")
    tally.facts.append(f"Servers of each pool, by {column}: {', '.join(listed)}.")
    _check_sum(sum(sizes.values()), parsed, options, tally)
    return frame, sizes


def _left(pools: Iterable[tuple[str, ...]], names: list[str]) -> list[str]:
    """Return the names that are in no pool yet."""
    taken = {name for members in pools for name in members}
    return [name for name in names if name not in taken]


def _peak(jobs: pl.DataFrame, name: str, tally: Tally) -> int:
    """Return the largest number of servers that the jobs of a pool used at the same time."""
    use = server_use(jobs, "zero_size")
    if use is None:
        raise LogError(
            f"{tally.source} contains neither the size of the pool {name} nor the waits of its "
            "jobs",
            argument="pool",
            allowed="the servers of each pool",
            advice=f"give {{pool:{name}=SIZE}}",
        )
    return max(use.peak, int(jobs["need"].to_numpy().max()))


def _check_sum(total: int, parsed: Parsed, options: Options, tally: Tally) -> None:
    """Reject or report pools that have more servers together than the machine."""
    if options.servers is not None and total > options.servers:
        raise LogError(
            f"the pools of {tally.source} have {total:,} servers together, and the machine has "
            f"{options.servers:,}",
            argument="servers",
            given=options.servers,
            advice=f"give smaller pools, {{servers:{total}}} or more, or omit {{servers}}",
        )
    if options.servers is None and parsed.servers is not None and total > parsed.servers:
        tally.facts.append(
            f"The pools have {total:,} servers together, more than the {parsed.servers:,} in the "
            "header, so they may share servers."
        )


def _names(frame: pl.DataFrame, column: str) -> list[str]:
    names: list[str] = frame[column].drop_nulls().unique().cast(pl.String).sort().to_list()
    return names


def _stated(
    frame: pl.DataFrame, parsed: Parsed, options: Options, tally: Tally, names: list[str]
) -> dict[str, int]:
    """Return the sizes of all partitions from the header; none where they cannot all be true."""
    if len(names) < 2:
        return {}
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    reason, advice = "", "give a partition to read it alone, or pools"
    sizes = {name: parsed.partitions[name] for name in names if name in parsed.partitions}
    if options.servers is None and len(sizes) == len(names):
        largest = frame.group_by(pl.col("partition").cast(pl.String)).agg(pl.col("need").max())
        total = sum(sizes.values())
        if parsed.servers is not None and total > parsed.servers:
            reason = (
                f", as they have {total:,} servers together in the header, more than the "
                f"{parsed.servers:,} of the machine: they share servers"
            )
        elif any(need > sizes.get(name, need) for name, need in largest.rows()):
            reason = ", as jobs need more servers than their partition has in the header"
        else:
            return sizes
    tally.facts.append(
        f"{len(names)} partitions are read as one machine ({listed}){reason}; {advice}."
    )
    return {}


def _column(
    options: Options,
    given: dict[tuple[str, ...], int],
    known: dict[str, list[str]],
    tally: Tally,
) -> str:
    """Return the column whose values are the pools: the given one, or the first with all names."""
    named = [name for members in given for name in members]
    filled = {column: names for column, names in known.items() if names}
    fitting = [column for column, names in filled.items() if set(named) <= set(names)]
    wanted = options.pools or next(iter([*fitting, "partition"]))
    if wanted not in filled:
        raise LogError(
            f"{tally.source} does not contain the {wanted} of its jobs",
            argument="pools",
            given=wanted,
            allowed=", ".join(filled),
            advice=f"give {{pools:{next(iter(filled))}}}" if filled else "omit {pools}",
        )
    missing = [name for name in named if name not in filled[wanted]]
    if missing:
        unknown(
            f"{wanted} of {tally.source}", missing[0], filled[wanted], LogError, argument="pool"
        )
    return wanted


def _without_overlaps(
    partitions: dict[str, Partition], tally: Tally
) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """Yield pools and their servers; partitions that share nodes are one pool, which is reported.

    Its size is that of a partition with all of its nodes, or follows from nodes that are all alike.
    """
    for names in _sharing(partitions):
        each = [partitions[name] for name in names]
        nodes = set().union(*(one.nodes for one in each))
        whole = [one.servers for one in each if one.nodes == nodes or len(each) == 1]
        alike = {one.servers / len(one.nodes) if one.servers and one.nodes else 0.0 for one in each}
        servers = whole[0] if whole else round(alike.pop() * len(nodes)) if len(alike) == 1 else 0
        if len(names) > 1:
            listed = " and ".join(names)
            tally.facts.append(f"The partitions {listed} share nodes, and are read as one pool.")
        yield names, servers or None


def _sharing(partitions: dict[str, Partition]) -> list[tuple[str, ...]]:
    """Return the names of the partitions in groups that have no node in common."""
    groups: list[tuple[tuple[str, ...], set[str]]] = []
    for name, partition in partitions.items():
        names: tuple[str, ...] = (name,)
        apart, nodes = [], set(partition.nodes)
        for other, theirs in groups:
            if theirs & partition.nodes:
                names, nodes = other + names, nodes | theirs
            else:
                apart.append((other, theirs))
        groups = [*apart, (names, nodes)]
    return [names for names, _ in groups]
