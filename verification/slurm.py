"""The policy slurm against a real Slurm, which runs on this machine with pretended nodes.

Debian's package slurm-wlm contains it; it must be started as root. Everything is in a temporary
folder and on ports of its own. Jobs sleep; minutes take the place of hours.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray

import quickswap as qs
from quickswap.logs import JobLog
from verification.agreement import Check

__all__ = ["slurm"]

PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
PATIENCE = 60.0
"""Seconds until the daemons must answer."""


@dataclass(frozen=True)
class Case:
    """Settings of slurm.conf, and jobs: submission, nodes, run time and time limit in seconds."""

    name: str
    nodes: int
    settings: dict[str, str]
    submit: NDArray[np.float64]
    need: NDArray[np.int64]
    size: NDArray[np.float64]
    limit: NDArray[np.float64]


def obstacle() -> str | None:
    """Return why no Slurm can be started here, or None."""
    missing = [each for each in PROGRAMS if shutil.which(each, path=_path()) is None]
    if missing:
        return f"{missing[0]} is not installed (Debian: slurm-wlm and munge)"
    return None if os.geteuid() == 0 else "slurmctld must be started as root"


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


@contextmanager
def _cluster(case: Case) -> Iterator[tuple[dict[str, str], Path, Path]]:
    """Start Slurm; yield the environment of its commands, its slurm.conf and its list of jobs."""
    with TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": _path()}
        conf = folder / "slurm.conf"
        conf.write_text(_conf(folder, case))
        key, munge = folder / "munge.key", folder / "munge.socket"
        subprocess.run(["mungekey", "--create", f"--keyfile={key}"], check=True, env=environment)
        names = [f"n{number}" for number in range(1, case.nodes + 1)]
        commands = [
            [
                *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}"),
                *(f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log"),
                f"--seed-file={folder}/munge.seed",
            ],
            ["slurmctld", "-D", "-c"],
            *(["slurmd", "-D", "-N", node] for node in names),
        ]
        daemons: list[subprocess.Popen[bytes]] = []
        try:
            for command in commands:
                log = (folder / f"{command[0]}.out").open("ab")
                daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
                time.sleep(0.3 if len(daemons) < 3 else 0.02)
            _wait_for_nodes(environment, case.nodes)
            yield environment, conf, folder / "jobs.txt"
        finally:
            for daemon in reversed(daemons):
                daemon.terminate()
            for daemon in daemons:
                daemon.wait()


def _conf(folder: Path, case: Case) -> str:
    """Return a slurm.conf with the settings of the case."""
    host = socket.gethostname()
    ports = _free_ports(case.nodes + 1)
    lines = [
        "ClusterName=verification",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={ports[-1]}",
        "SlurmUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/munge.socket",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool.%n",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd.%n.pid",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/slurmd.%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "SlurmdParameters=config_overrides",
        "JobCompType=jobcomp/filetxt",
        f"JobCompLoc={folder}/jobs.txt",
        "MailProg=/bin/true",
        "ReturnToService=2",
        "SchedulerType=sched/backfill",
        *(f"{key}={value}" for key, value in case.settings.items()),
        *(
            f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
            for number, port in enumerate(ports[:-1], 1)
        ),
        f"PartitionName=all Nodes=n[1-{case.nodes}] Default=YES MaxTime=INFINITE State=UP",
    ]
    return "\n".join(lines) + "\n"


def _free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for_nodes(environment: dict[str, str], nodes: int) -> None:
    """Wait until all nodes are idle."""
    given_up = time.monotonic() + PATIENCE
    while time.monotonic() < given_up:
        command = ["sinfo", "--noheader", "--states=idle", "--Node", "--format=%N"]
        found = subprocess.run(command, env=environment, capture_output=True, text=True)
        if len(found.stdout.split()) == nodes:
            return
        time.sleep(0.5)
    raise RuntimeError(f"Slurm does not answer: {found.stdout}{found.stderr}")


@dataclass(frozen=True)
class Outcome:
    """What Slurm did, and replays of the same jobs.

    Attributes:
        log: the jobs as Slurm served them; each holds its nodes for `CLEARING` seconds longer.
        real: starts in seconds after the first submission, in order of submission.
        replayed: the same under each policy, by its name.
    """

    log: JobLog
    real: NDArray[np.float64]
    replayed: dict[str, NDArray[np.float64]]

    def same_order(self, policy: str) -> float:
        """The share of the pairs of jobs that start in the same order, of those not at once."""
        gaps = np.subtract.outer(self.real, self.real)
        replayed = np.subtract.outer(self.replayed[policy], self.replayed[policy])
        apart = np.abs(gaps) > ROUNDING
        return float((np.sign(gaps) == np.sign(replayed))[apart].mean())

    def close(self, policy: str) -> float:
        """The share of the jobs whose starts differ by at most `CLOSE` seconds."""
        return float((np.abs(self.real - self.replayed[policy]) <= CLOSE).mean())

    def mean_wait(self, policy: str | None = None) -> float:
        """The mean wait of the real jobs, or of those under a policy, seconds."""
        starts = self.real if policy is None else self.replayed[policy]
        return float((starts - self.log.jobs["submit"].to_numpy()).mean())


def outcome(case: Case) -> Outcome:
    """Serve the jobs of a case by Slurm, and replay them."""
    with _cluster(case) as (environment, conf, finished):
        begun = time.monotonic()
        for submit, need, size, limit in zip(
            case.submit, case.need, case.size, case.limit, strict=True
        ):
            time.sleep(max(0.0, begun + submit - time.monotonic()))
            script = ["--wrap", f"sleep {size:g}", "--output=/dev/null"]
            command = ["sbatch", f"--nodes={need}", f"--time={limit / 60:g}", *script]
            subprocess.run(command, env=environment, check=True, capture_output=True)
        while subprocess.run(
            ["squeue", "--noheader"], env=environment, check=True, capture_output=True
        ).stdout:
            time.sleep(1)
        table = conf.with_name("jobs.csv")
        _finished(finished.read_text()).write_csv(table)
        log = qs.logs.read(table, servers=case.nodes)
        policies = {"slurm": qs.Slurm.from_conf(conf)} | {name: qs.parse(name) for name in OTHERS}
    replayed = {
        name: qs.replay(log, policy, warmup=0, cooldown=0).schedule.start
        for name, policy in policies.items()
    }
    real = log.jobs["submit"].to_numpy() + log.jobs["wait"].to_numpy()
    return Outcome(log, real, replayed)


def _finished(text: str) -> pl.DataFrame:
    """Return the jobs in the list that Slurm writes, in order of submission."""
    rows = []
    for line in text.splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        submit, start, end = (
            datetime.fromisoformat(fields[key]).timestamp()
            for key in ("SubmitTime", "StartTime", "EndTime")
        )
        row = {"job": int(fields["JobId"]), "submit": submit, "wait": start - submit}
        row |= {"size": end - start + CLEARING, "need": int(fields["NodeCnt"])}
        rows.append(row | {"estimate": 60.0 * int(fields["TimeLimit"])})
    return pl.DataFrame(rows).sort("job")


def drawn(name: str, seed: int, **settings: str) -> Case:
    """Return jobs that are drawn, for about ten minutes of a cluster with a queue."""
    draw = np.random.default_rng(seed)
    need = draw.choice([1, 2, 4, 8, 16, 24], JOBS, p=[0.35, 0.2, 0.2, 0.15, 0.07, 0.03])
    size = np.round(np.clip(draw.lognormal(3.2, 0.8, JOBS), 3, 110)).astype(np.float64)
    limit = 60.0 * np.ceil(size * draw.uniform(1, 4, JOBS) / 60)
    span = (need * (size + CLEARING)).sum() / (NODES * LOAD)
    submit = np.sort(draw.uniform(0, span, JOBS))
    return Case(name, NODES, settings, submit, need, size, limit)


NODES, LOAD, JOBS = 32, 1.3, 150
CLEARING = 1.0
"""Seconds from the end of a job until its nodes are free."""
ROUNDING = 1.0
"""Starts are known in whole seconds."""
CLOSE = 5.0
OTHERS = ("fcfs", "first-fit", "easy", "conservative")
"""Policies with which Slurm's is compared: none should describe the real one better."""
SCHEDULER = "bf_interval=5,bf_resolution=1,batch_sched_delay=0"
CASES = (
    drawn("no weights", 11, SchedulerParameters=SCHEDULER),
    drawn(
        "size and age",
        12,
        SchedulerParameters=SCHEDULER,
        PriorityType="priority/multifactor",
        PriorityWeightJobSize="1000",
        PriorityWeightAge="1000",
        PriorityMaxAge="10",
        PriorityCalcPeriod="1",
    ),
    drawn(
        "few reservations",
        13,
        SchedulerParameters=f"{SCHEDULER},bf_min_age_reserve=120,bf_job_part_count_reserve=1",
    ),
)
APART, SLOWER = 0.05, 0.3
"""Largest share of the pairs in another order, and largest relative difference of the mean wait.

Starts of a real Slurm are late by up to two seconds, and a job that just misses a cycle changes all
that follow, so the schedules agree closely for some minutes and in their statistics afterwards.
"""


def slurm() -> Iterator[Check]:
    """The policy slurm against a real Slurm: order of starts, mean wait, no other policy nearer."""
    if (reason := obstacle()) is not None:
        print(f"skipped: {reason}")
        return
    with ThreadPoolExecutor(len(CASES)) as pool:  # they sleep most of the time
        for case, found in zip(CASES, pool.map(outcome, CASES), strict=True):
            real, ours = found.mean_wait(), found.mean_wait("slurm")
            for name in found.replayed:
                print(
                    f"        {case.name}, {name}: share of pairs in the same order "
                    f"{found.same_order(name):.3f}, of starts within {CLOSE:g} s "
                    f"{found.close(name):.3f}; mean wait {found.mean_wait(name):.1f} s, real "
                    f"{real:.1f} s"
                )
            order = found.same_order("slurm")
            yield Check(f"slurm, {case.name}: order of starts", order, 1.0, APART)
            yield Check(f"slurm, {case.name}: mean wait", ours, real, SLOWER * real)
            nearest = max(OTHERS, key=found.same_order)
            lead = order - found.same_order(nearest)
            yield Check(f"slurm, {case.name}: nearer than {nearest}", min(lead, 0.0), 0.0, 0.005)
