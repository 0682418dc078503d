"""Processor time until the weighted mean response time is known to 1 %."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import peer
import quickswap as qs
from measures import Row

AIM = 0.01
"""Relative half-width."""
WHAT = "the weighted mean is known to 1 %"


@dataclass(frozen=True)
class Case:
    """A model at a load, a policy, and the jobs of a run that is long enough for an interval."""

    model: str
    load: float
    policy: str
    jobs: int


CASES = (
    Case("one-or-all", 0.77, "msfq", 1_000_000),
    Case("one-or-all", 0.9, "msfq", 4_000_000),
    Case("one-or-all", 0.95, "msfq", 10_000_000),
    Case("one-or-all", 0.9, "msf", 20_000_000),
    Case("four-class", 0.8, "adaptive-quickswap", 1_000_000),
    Case("four-class", 0.9, "adaptive-quickswap", 4_000_000),
    Case("four-class", 0.95, "adaptive-quickswap", 10_000_000),
    Case("four-class", 0.8, "msf", 2_000_000),
    Case("four-class", 0.9, "msf", 10_000_000),
    Case("borg-b", 0.71, "adaptive-quickswap", 100_000_000),
)


def to_one_percent(repeats: int, shrink: int = 1, program: Path | None = None) -> Iterator[Row]:
    """Seconds with control variates, and in the details without them, as medians over seeds.

    Args:
        repeats: runs of each case.
        shrink: by how much the runs are shortened to see that everything works.
        program: another simulator, see `peer`: in the details the seconds that it would need for as
            many jobs as we do without control variates.
    """
    for case in CASES:
        system = qs.load(f"{case.model}:load={case.load}")
        seconds: dict[bool, list[float]] = {True: [], False: []}
        slower = []
        for seed in range(repeats):
            for plain, found in seconds.items():
                begin = time.process_time()
                result = qs.simulate(
                    system,
                    case.policy,
                    jobs=case.jobs // shrink,
                    seed=seed,
                    engine="jumps",
                    plain_estimates=plain,
                )
                spent = time.process_time() - begin
                found.append(spent * (result.weighted_mean_response_time.relative / AIM) ** 2)
            if program is not None:
                theirs = peer.nanoseconds(program, system, case.policy)
                slower.append(theirs / (result.seconds / result.events * 1e9))
        what = f"{case.model}, {case.policy}, load {case.load:g}"
        detail = {"plain_s": median(seconds[True])}
        if slower:
            detail["peer_s"] = median(slower) * detail["plain_s"]
        yield Row(what, median(seconds[False]), "s", None, detail)
