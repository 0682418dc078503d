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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

import quickswap as qs
from quickswap.logs import JobLog
from verification.agreement import Check

__all__ = ["Case", "cluster", "finished_jobs", "obstacle", "slurm"]

PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
DATABASE = ("mariadb-install-db", "mariadbd", "slurmdbd", "sacctmgr")
PATIENCE = 120.0
"""Seconds until the daemons must answer."""
_PORTS, _TAKEN = Lock(), set[int]()
"""The ports of the clusters of this process, which start side by side."""
OTHERS = ("fcfs", "first-fit", "easy", "conservative")
"""Policies with which Slurm's is compared: none should describe the real one better."""


@dataclass(frozen=True)
class Case:
    """Settings of slurm.conf, and jobs: submission, nodes, run time and time limit in seconds.

    Attributes:
        accounts: accounts of the jobs, for fair shares; they require an accounting database.
    """

    name: str
    nodes: int
    settings: dict[str, str]
    submit: NDArray[np.float64]
    need: NDArray[np.int64]
    size: NDArray[np.float64]
    limit: NDArray[np.float64]
    accounts: tuple[str, ...] = ()


def obstacle(case: Case) -> str | None:
    """Return why Slurm cannot serve a case here, or None."""
    programs = PROGRAMS + (DATABASE if case.accounts else ())
    missing = [each for each in programs if shutil.which(each, path=_path()) is None]
    if missing:
        packages = "slurm-wlm and munge, and for fair shares slurmdbd and mariadb-server"
        return f"{missing[0]} is not installed (Debian: {packages})"
    return None if os.geteuid() == 0 else "slurmctld must be started as root"


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


@contextmanager
def cluster(case: Case) -> Iterator[tuple[dict[str, str], Path, Path]]:
    """Start Slurm; yield the environment of its commands, its slurm.conf and its list of jobs."""
    with TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": _path()}
        conf = folder / "slurm.conf"
        ports = _free_ports(case.nodes + 3)
        conf.write_text(_conf(folder, case, ports))
        key, munge = folder / "munge.key", folder / "munge.socket"
        subprocess.run(["mungekey", "--create", f"--keyfile={key}"], check=True, env=environment)
        daemons: list[subprocess.Popen[bytes]] = []

        def start(*command: str) -> None:
            log = (folder / f"{command[0]}.out").open("ab")
            daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

        try:
            start(
                *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}"),
                *(f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log"),
                f"--seed-file={folder}/munge.seed",
            )
            time.sleep(0.5)
            if case.accounts:
                _start_database(folder, start, environment, ports[:2])
            start("slurmctld", "-D", "-c")
            time.sleep(0.5)
            if case.accounts:
                _add_accounts(environment, case.accounts)
            for number in range(1, case.nodes + 1):
                start("slurmd", "-D", "-N", f"n{number}")
            _answered(
                ["sinfo", "--noheader", "--states=idle", "--Node", "--format=%N"],
                environment,
                lambda text: len(text.split()) == case.nodes,
            )
            yield environment, conf, folder / "jobs.txt"
        finally:
            for daemon in reversed(daemons):
                daemon.terminate()
            for daemon in daemons:
                daemon.wait()


def _start_database(
    folder: Path,
    start: Callable[..., None],
    environment: dict[str, str],
    ports: list[int],
) -> None:
    """Start MariaDB and slurmdbd on two ports."""
    data = folder / "database"
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"]
    subprocess.run(install, env=environment, check=True, capture_output=True)
    start(
        *("mariadbd", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-grant-tables"),
        *(f"--port={ports[0]}", "--bind-address=127.0.0.1", f"--socket={folder}/database.socket"),
        f"--pid-file={folder}/database.pid",
    )
    settings = [
        *("AuthType=auth/munge", f"AuthInfo=socket={folder}/munge.socket", "SlurmUser=root"),
        *(f"DbdHost={socket.gethostname()}", "DbdAddr=127.0.0.1", f"DbdPort={ports[1]}"),
        *("StorageType=accounting_storage/mysql", "StorageHost=127.0.0.1", "StorageUser=root"),
        *(f"StoragePort={ports[0]}", f"PidFile={folder}/slurmdbd.pid"),
        f"LogFile={folder}/slurmdbd.log",
    ]
    conf = folder / "slurmdbd.conf"
    conf.touch(mode=0o600)
    conf.write_text("\n".join(settings) + "\n")
    _wait_for(ports[0])
    start("slurmdbd", "-D")
    _wait_for(ports[1])
    _answered(["sacctmgr", "show", "cluster"], environment, lambda text: "Cluster" in text)


def _add_accounts(environment: dict[str, str], accounts: tuple[str, ...]) -> None:
    """Add accounts with equal shares, in which root may submit."""
    _answered(
        ["sacctmgr", "--noheader", "show", "cluster"], environment, lambda text: "verif" in text
    )
    for name in sorted(set(accounts) - {"root"}):
        for command in (["account", name], ["user", "root", f"account={name}"]):
            subprocess.run(
                ["sacctmgr", "--immediate", "add", *command],
                env=environment,
                check=True,
                capture_output=True,
            )


def _conf(folder: Path, case: Case, ports: list[int]) -> str:
    """Return a slurm.conf with the settings of the case."""
    host = socket.gethostname()
    database = [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={ports[1]}",
        f"AccountingStoragePass={folder}/munge.socket",
        "AccountingStorageEnforce=associations",
        "PriorityFlags=NO_FAIR_TREE",
    ]
    lines = [
        f"ClusterName=verification{ports[2]}",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={ports[2]}",
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
        *(database if case.accounts else ()),
        *(f"{key}={value}" for key, value in case.settings.items()),
        *(
            f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
            for number, port in enumerate(ports[3:], 1)
        ),
        f"PartitionName=all Nodes=n[1-{case.nodes}] Default=YES MaxTime=INFINITE State=UP",
    ]
    return "\n".join(lines) + "\n"


def _free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens, other ones in each call."""
    ports: list[int] = []
    with _PORTS:
        while len(ports) < count:
            with socket.socket() as each:
                each.bind(("127.0.0.1", 0))
                port = each.getsockname()[1]
            if port not in _TAKEN:
                _TAKEN.add(port)
                ports.append(port)
    return ports


def _wait_for(port: int) -> None:
    """Wait until a daemon listens on a port."""
    given_up = time.monotonic() + PATIENCE
    while time.monotonic() < given_up:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.5)
    raise RuntimeError(f"nothing listens on port {port}")


def _answered(
    command: list[str], environment: dict[str, str], expected: Callable[[str], bool]
) -> None:
    """Repeat a command until its output is as expected."""
    given_up = time.monotonic() + PATIENCE
    while True:
        found = subprocess.run(command, env=environment, capture_output=True, text=True)
        if expected(found.stdout):
            return
        if time.monotonic() > given_up:
            raise RuntimeError(f"{command[0]} does not answer: {found.stdout}{found.stderr}")
        time.sleep(0.5)


@dataclass(frozen=True)
class Outcome:
    """What Slurm did, and replays of the same jobs.

    Attributes:
        log: the jobs as Slurm served them; each holds its nodes for `CLEARING` seconds longer.
        real: starts in seconds after the first submission, in order of submission.
        replayed: the same under each policy, by its name.
        policies: the policies, by their names.
    """

    log: JobLog
    real: NDArray[np.float64]
    replayed: dict[str, NDArray[np.float64]]
    policies: dict[str, qs.Policy]

    def same_order(self, policy: str) -> float:
        """The share of the pairs of jobs that start in the same order, of those not at once."""
        gaps = np.subtract.outer(self.real, self.real)
        replayed = np.subtract.outer(self.replayed[policy], self.replayed[policy])
        apart = np.abs(gaps) > ROUNDING
        return float((np.sign(gaps) == np.sign(replayed))[apart].mean())

    def close(self, policy: str) -> float:
        """The share of the jobs whose starts differ by at most `CLOSE` seconds."""
        return float((np.abs(self.real - self.replayed[policy]) <= CLOSE).mean())

    def gap(self, policy: str) -> float:
        """The mean difference of the starts, without its sign, seconds."""
        return float(np.abs(self.real - self.replayed[policy]).mean())

    def mean_wait(self, policy: str | None = None) -> float:
        """The mean wait of the real jobs, or of those under a policy, seconds."""
        starts = self.real if policy is None else self.replayed[policy]
        return float((starts - self.log.jobs["submit"].to_numpy()).mean())


def outcome(
    case: Case,
    others: Sequence[str] = OTHERS,
    beside: Callable[[dict[str, str]], AbstractContextManager[object]] = nullcontext,
) -> Outcome:
    """Serve the jobs of a case by Slurm, and replay them.

    Args:
        case: the jobs.
        others: policies of replays apart from Slurm's.
        beside: a block that runs meanwhile, with the environment of the commands.
    """
    with cluster(case) as (environment, conf, finished), beside(environment):
        begun = time.monotonic()
        for number, (submit, need, size, limit) in enumerate(
            zip(case.submit, case.need, case.size, case.limit, strict=True)
        ):
            time.sleep(max(0.0, begun + submit - time.monotonic()))
            script = ["--wrap", f"sleep {size:g}", "--output=/dev/null"]
            command = ["sbatch", f"--nodes={need}", f"--time={limit / 60:g}", *script]
            command += [f"--account={case.accounts[number]}"] if case.accounts else []
            subprocess.run(command, env=environment, check=True, capture_output=True)
        while subprocess.run(
            ["squeue", "--noheader"], env=environment, check=True, capture_output=True
        ).stdout:
            time.sleep(1)
        table = conf.with_name("jobs.csv")
        finished_jobs(finished.read_text()).write_csv(table)
        log = qs.logs.read(table, servers=case.nodes)
        policies: dict[str, qs.Policy] = {"slurm": qs.Slurm.from_conf(conf)}
        policies |= {name: qs.parse(name) for name in others}
    replayed = {
        name: qs.replay(log, policy, warmup=0, cooldown=0).schedule.start
        for name, policy in policies.items()
    }
    real = log.jobs["submit"].to_numpy() + log.jobs["wait"].to_numpy()
    return Outcome(log, real, replayed, policies)


def finished_jobs(text: str) -> pl.DataFrame:
    """Return the jobs in the list that Slurm writes, in order of submission."""
    rows = []
    for line in text.splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        submit, start, end = (
            datetime.fromisoformat(fields[key]).timestamp()
            for key in ("SubmitTime", "StartTime", "EndTime")
        )
        rows.append(
            {
                "job": int(fields["JobId"]),
                "submit": submit,
                "wait": start - submit,
                "size": end - start + CLEARING,
                "need": int(fields["NodeCnt"]),
                "estimate": 60.0 * int(fields["TimeLimit"]),
                "user": fields["Account"] or "none",
            }
        )
    return pl.DataFrame(rows).sort("job")


def drawn(name: str, seed: int, accounts: Sequence[str] = (), **settings: str) -> Case:
    """Return jobs that are drawn, for about ten minutes of a cluster with a queue."""
    draw = np.random.default_rng(seed)
    need = draw.choice([1, 2, 4, 8, 16, 24], JOBS, p=[0.35, 0.2, 0.2, 0.15, 0.07, 0.03])
    size = np.round(np.clip(draw.lognormal(3.2, 0.8, JOBS), 3, 110)).astype(np.float64)
    limit = 60.0 * np.ceil(size * draw.uniform(1, 4, JOBS) / 60)
    span = (need * (size + CLEARING)).sum() / (NODES * LOAD)
    submit = np.sort(draw.uniform(0, span, JOBS))
    owners = tuple(map(str, draw.choice(accounts, JOBS, p=SHARES))) if accounts else ()
    return Case(name, NODES, settings, submit, need, size, limit, owners)


NODES, LOAD, JOBS = 32, 1.3, 150
SHARES = (0.6, 0.25, 0.1, 0.05)
"""Shares of the jobs that belong to the accounts."""
CLEARING = 1.0
"""Seconds from the end of a job until its nodes are free."""
ROUNDING = 1.0
"""Starts are known in whole seconds."""
CLOSE = 5.0
SCHEDULER = "bf_interval=5,bf_resolution=1,batch_sched_delay=0"


def cases(seed: int) -> tuple[Case, ...]:
    """Return four settings of Slurm, each with jobs of its own; the first seed is that of one."""
    return (
        drawn("no weights", seed, SchedulerParameters=SCHEDULER),
        drawn(
            "large jobs first",
            seed + 1,
            SchedulerParameters=SCHEDULER,
            PriorityType="priority/multifactor",
            PriorityWeightJobSize="1000",
        ),
        drawn(
            "few reservations",
            seed + 2,
            SchedulerParameters=f"{SCHEDULER},bf_min_age_reserve=120,bf_job_part_count_reserve=1",
        ),
        drawn(
            "age and fair share",
            seed + 3,
            ("a", "b", "c", "root"),
            SchedulerParameters=SCHEDULER,
            PriorityType="priority/multifactor",
            PriorityWeightAge="1000",
            PriorityWeightFairshare="1000",
            PriorityMaxAge="10",
            PriorityDecayHalfLife="10",
            PriorityCalcPeriod="1",
        ),
    )


CASES = cases(21)
APART = 0.08
"""Largest share of the pairs of jobs in another order.

It does not follow from an argument: a job that just misses a cycle changes all that follow. It was
chosen on `cases(11)`, and has since held on `cases(21)` and `cases(31)`, as has `FARTHER`.
"""
FARTHER = 0.1
"""Largest relative difference of the gap of the starts from that of the nearest other policy."""
LATE = 2.0
"""Seconds by which a job may hold its servers longer or shorter than in the replay.

Slurm's times are whole seconds, and nodes take up to a second to start a job and to clear it.
"""


def slower(found: Outcome) -> float:
    """Return the largest relative difference of the mean wait that `LATE` explains.

    While jobs arrive at load r > 1, the backlog grows in proportion to r - 1, and so do the waits.
    If each job of mean size S holds its servers longer by d, the load is r (1 + d / S), so the
    waits are longer by the factor 1 + d / S * r / (r - 1).
    """
    return LATE / float(found.log.jobs["size"].to_numpy().mean()) * LOAD / (LOAD - 1)


def slurm() -> Iterator[Check]:
    """The policy slurm against a real Slurm: order of starts, mean wait, no other policy nearer."""
    possible = []
    for case in CASES:
        if reason := obstacle(case):
            print(f"skipped: {case.name}, as {reason}")
        else:
            possible.append(case)
    with ThreadPoolExecutor(len(CASES)) as pool:  # they sleep most of the time
        for case, found in zip(possible, pool.map(outcome, possible), strict=True):
            real, ours = found.mean_wait(), found.mean_wait("slurm")
            for name in found.replayed:
                print(
                    f"        {case.name}, {name}: share of pairs in the same order "
                    f"{found.same_order(name):.3f}, of starts within {CLOSE:g} s "
                    f"{found.close(name):.3f}; mean gap {found.gap(name):.1f} s, mean wait "
                    f"{found.mean_wait(name):.1f} s, real {real:.1f} s"
                )
            order = found.same_order("slurm")
            yield Check(f"slurm, {case.name}: order of starts", order, 1.0, APART)
            yield Check(f"slurm, {case.name}: mean wait", real, ours, slower(found) * ours)
            nearest = min(OTHERS, key=found.gap)
            excess = max(0.0, found.gap("slurm") / found.gap(nearest) - 1)
            yield Check(f"slurm, {case.name}: farther than {nearest}", excess, 0.0, FARTHER)
