"""`quickswap govern` beside a real Slurm: agreement with replays, faults, and load."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import quickswap as qs
from quickswap.governing.audit import recovered
from quickswap.governing.controller import Job, JobState, Snapshot
from quickswap.governing.decision import Planner, steering_policy
from quickswap.logs import JobLog
from verification.agreement import Check
from verification.slurm import SCHEDULER, Case, Outcome, cluster, drawn, obstacle, outcome

__all__ = ["govern", "govern_briefly"]

SETTINGS = {"SchedulerParameters": SCHEDULER, "PriorityType": "priority/multifactor"}
POLICIES = ("adaptive-quickswap:overrun=0.9", "easy:age=120,order=shortest")
PARTITION = "all"
LARGE = 8
"""Smallest need of a large job."""
ORDER, WIDE, SLOWER = 0.1, 3.0, 0.1
"""Largest difference of the order; and of the waits, in deviations beyond a share of the wait."""
REPLAYS = 40


class Governed:
    """`quickswap govern` as a process, with a log; its output is in a file next to the log."""

    def __init__(self, environment: dict[str, str], log: Path, *options: str) -> None:
        self.log, self.output = log, log.with_suffix(".out")
        command = (sys.executable, "-m", "quickswap", "govern", PARTITION, "--live")
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [*command, "--log", str(log), "--interval", "1", "--writes", "600", *options],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Stop it by a signal, unless it has failed; return the exit code."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the governor failed: {self.output.read_text()[-2000:]}")
        self.process.send_signal(by)
        return self.process.wait()


@contextmanager
def governed(environment: dict[str, str], policy: str) -> Iterator[None]:
    """Run a governor meanwhile; all its factors must be undone."""
    with TemporaryDirectory() as folder:
        process = Governed(environment, Path(folder) / "log", "--policy", policy)
        yield
        if process.stop() or recovered(process.log).open:
            raise RuntimeError(f"the governor failed: {process.output.read_text()[-2000:]}")


def outcomes(cases: list[Case]) -> list[tuple[str, Outcome]]:
    """Serve the jobs of each case without a governor, and with one under each policy."""

    def run(case: Case, policy: str) -> tuple[str, Outcome]:
        if policy == "slurm":
            return policy, outcome(case, POLICIES)
        return policy, outcome(case, POLICIES, lambda environment: governed(environment, policy))

    runs = [(case, policy) for case in cases for policy in ("slurm", *POLICIES)]
    with ThreadPoolExecutor(len(runs)) as pool:  # they sleep most of the time
        return list(pool.map(lambda each: run(*each), runs))


def waits(log: JobLog, starts: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean wait of all jobs and of large ones, seconds."""
    wait = starts - log.jobs["submit"].to_numpy()
    return float(wait.mean()), float(wait[log.jobs["need"].to_numpy() >= LARGE].mean())


def same_order(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the share of the pairs of jobs in the same order, of those a second apart."""
    gaps = np.subtract.outer(one, one)
    same = np.sign(gaps) == np.sign(np.subtract.outer(other, other))
    return float(same[np.abs(gaps) > 1].mean())


def perturbed(found: Outcome, policy: str) -> NDArray[np.float64]:
    """Replay the jobs with times that differ by less than 2 s, which is what Slurm's delays do.

    Returns:
        In each row mean wait, mean wait of large jobs, and order compared with the plain replay.
    """
    draw, rows = np.random.default_rng(1), []
    jobs = found.log.jobs.select("submit", "need", "size", "estimate")
    with TemporaryDirectory() as folder:
        for _ in range(REPLAYS):
            submit, size = (
                jobs[name] + draw.uniform(0, 2, len(jobs)) for name in ("submit", "size")
            )
            table = Path(folder) / "jobs.parquet"
            jobs.with_columns(submit=submit.sort(), size=size - 1).write_parquet(table)
            log = qs.logs.read(table, servers=found.log.servers)
            schedule = qs.replay(log, found.policies[policy], warmup=0, cooldown=0).schedule
            order = same_order(found.replayed[policy], schedule.start)
            rows.append((*waits(log, schedule.start), order))
    return np.array(rows)


def agreement() -> Iterator[Check]:
    """Order, starts and waits under a governor, against replays under its policy.

    Replays of a few hundred jobs depend strongly on single seconds, so a replay is repeated with
    changed times. The table that is printed is that of `docs/measured/govern.md`.
    """
    found = outcomes([drawn(f"jobs {seed}", seed, **SETTINGS) for seed in SEEDS])
    print(
        "| served by | mean wait, s | in replays | of large jobs, s | in replays | order "
        "| in replays |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    for policy in ("slurm", *POLICIES):
        mine = [each for name, each in found if name == policy]
        runs = np.array([perturbed(each, policy) for each in mine])
        mean = runs.mean(axis=(0, 1))
        deviation = np.sqrt(runs.var(axis=1, ddof=1).mean(axis=0) / len(mine))
        real = np.mean([waits(each.log, each.real) for each in mine], axis=0)
        order = np.mean([same_order(each.real, each.replayed[policy]) for each in mine])
        served = "Slurm" if policy == "slurm" else f"Slurm with `{policy}`"
        print(
            f"| {served} | {real[0]:.0f} | {mean[0]:.0f} ± {deviation[0]:.0f} | {real[1]:.0f} "
            f"| {mean[1]:.0f} ± {deviation[1]:.0f} | {order:.2f} | {mean[2]:.2f} |"
        )
        yield Check(f"{policy}: order of starts", float(order), float(mean[2]), ORDER)
        for i, what in enumerate(("mean wait", "mean wait of large jobs")):
            tolerance = WIDE * float(deviation[i]) + SLOWER * float(mean[i])
            yield Check(f"{policy}: {what}", float(real[i]), float(mean[i]), tolerance)


class Slurm:
    """A Slurm on which faults are tried, with a queue of short jobs.

    Attributes:
        environment: the environment of the commands.
        log: the audit log of the governors.
    """

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.environment, self.log = environment, folder / "log"
        self.draw = random.Random(1)
        self.controller: subprocess.Popen[bytes] | None = None

    def run(self, *command: str, check: bool = True) -> str:
        """Return the output of a command."""
        done = subprocess.run(
            command, env=self.environment, check=check, capture_output=True, text=True
        )
        return done.stdout

    def submit(self, jobs: int, *options: str) -> None:
        """Submit jobs that need 1 to all nodes for 1 to 4 s."""
        for _ in range(jobs):
            need = self.draw.choice((1, 1, 2, 3, 4, NODES))
            script = ["--wrap", f"sleep {self.draw.randint(1, 4)}", "--output=/dev/null"]
            self.run("sbatch", f"--nodes={need}", "--time=1", *options, *script)

    def fill(self, jobs: int) -> None:
        """Submit jobs until this many wait."""
        waiting = self.run("squeue", "-h", "-r", "-t", "PD", "-o", "%i").split()
        self.submit(max(0, jobs - len(waiting)))

    def factors(self) -> dict[str, int]:
        """Return the SiteFactors that are set, by number of the job."""
        pairs = (line.split() for line in self.run("sprio", "-h", "-o", "%i %S").splitlines())
        return {number: int(factor) for number, factor in pairs if int(factor)}

    def unknown(self) -> int:
        """Return the number of SiteFactors that are set and not in the log."""
        numbers = dict(
            line.split()
            for line in self.run("squeue", "-h", "-r", "-t", "PD", "-o", "%A %i").splitlines()
        )
        found, known = self.factors(), recovered(self.log).open
        return sum(
            factor not in known.get(numbers.get(number, number), ())
            for number, factor in found.items()
        )

    def govern(self, *options: str) -> Governed:
        """Start a governor."""
        return Governed(self.environment, self.log, *options)

    def stop_controller(self) -> None:
        """Stop slurmctld."""
        self.run("scontrol", "shutdown", "slurmctld")
        while " UP" in self.run("scontrol", "ping", check=False):
            time.sleep(0.2)

    def start_controller(self) -> None:
        """Start slurmctld again, with the jobs that it had."""
        if self.controller is not None:
            self.controller.wait()
        self.controller = subprocess.Popen(
            ["slurmctld", "-D"],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while " UP" not in self.run("scontrol", "ping", check=False):
            time.sleep(0.2)


def events(log: Path, event: str) -> int:
    """Return how often an event is in a log."""
    return 0 if not log.exists() else log.read_text().count(f'"event": "{event}"')


def faults(kills: int, *, briefly: bool = False) -> Iterator[Check]:
    """Kills, restarts, rejected and lost writes, changed jobs, and many pending jobs."""
    none, no_need = np.zeros(0), np.zeros(0, np.int64)
    case = Case("faults", NODES, SETTINGS, none, no_need, none, none)
    with cluster(case) as (environment, _, finished), TemporaryDirectory() as name:
        slurm = Slurm(environment, Path(name))
        try:
            for fault in (
                killed,
                failing,
                leases,
                *(() if briefly else (changed, restarted, crowded)),
            ):
                begun = time.monotonic()
                yield from fault(slurm, kills)
                print(f"        {fault.__name__}: {time.monotonic() - begun:.0f} s", flush=True)
            yield from last(slurm, finished)
        finally:
            if slurm.controller is not None:
                slurm.controller.terminate()
                slurm.controller.wait()


def killed(slurm: Slurm, kills: int) -> Iterator[Check]:
    """The governor is killed at random moments after its first decision, and started again."""
    unknown = set_then = 0
    for _ in range(kills):
        slurm.fill(20)
        before = events(slurm.log, "decision")
        process = slurm.govern()
        # a first decision like the last one before is not in the log, but printed after its writes
        while (
            events(slurm.log, "decision") == before
            and " free, " not in process.output.read_text()
            and process.process.poll() is None
        ):
            time.sleep(0.01)
        time.sleep(slurm.draw.choice((slurm.draw.uniform(0, 0.1), slurm.draw.uniform(0, 2))))
        process.stop(signal.SIGKILL)
        set_then += bool(slurm.factors())
        unknown += slurm.unknown()
    name = f"factors that no log contains, after {kills} kills, {set_then} of them with factors"
    yield Check(name, unknown, 0, 0)
    slurm.run(*UNDO, str(slurm.log))
    yield Check("factors after the undo", len(slurm.factors()), 0, 0)


def restarted(slurm: Slurm, _: int) -> Iterator[Check]:
    """The controller is restarted, and then down for a minute."""
    slurm.submit(40)
    process = slurm.govern()
    time.sleep(4)
    for pause in (0, 60):
        slurm.stop_controller()
        time.sleep(pause)
        slurm.start_controller()
        before = events(slurm.log, "write")
        slurm.fill(20)
        given_up = time.monotonic() + 90  # it tries again after ever longer pauses
        while (after := events(slurm.log, "write")) == before and time.monotonic() < given_up:
            time.sleep(1)
        yield Check(f"governs after {pause} s without controller", after > before, 1, 0)
    second = Governed(slurm.environment, slurm.log.with_name("second"))
    second.process.wait()
    text = second.output.read_text()
    yield Check(
        f"a second governor does not start ({text.strip()[:60]})", second.process.returncode, 2, 0
    )
    code = process.stop()
    yield Check("exit code", code, 0, 0)
    yield Check("factors after restarts", len(slurm.factors()), 0, 0)


def failing(slurm: Slurm, _: int) -> Iterator[Check]:
    """A third of the writes is rejected, and a third is lost."""
    slurm.submit(30)
    real = shutil.which("scontrol", path=slurm.environment["PATH"])
    with TemporaryDirectory() as name:
        script = Path(name) / "scontrol"
        script.write_text(
            f"#!/bin/sh\n[ $1 = update ] || exec {real} $@\n"
            "case $(($(od -An -N1 -tu1 /dev/urandom) % 3)) in\n"
            "0) echo slurm_update error: Invalid job id specified >&2; exit 1;;\n"
            f"1) exit 0;;\n*) exec {real} $@;;\nesac\n"
        )
        script.chmod(0o755)
        path = f"{name}{os.pathsep}{slurm.environment['PATH']}"
        process = Governed(slurm.environment | {"PATH": path}, slurm.log)
        time.sleep(30)
        process.stop()
        rejected = events(slurm.log, "rejected")
        yield Check(f"{rejected} writes rejected", rejected > 0, 1, 0)
    slurm.run(*UNDO, str(slurm.log))
    yield Check("factors after rejected and lost writes", len(slurm.factors()), 0, 0)


def leases(slurm: Slurm, _: int) -> Iterator[Check]:
    """Jobs are held while servers are kept free; the governor is killed, and never comes back."""
    slurm.run("scancel", "--state=PENDING", "--user=root")
    slurm.run("sbatch", "--nodes=4", "--time=3", "--wrap", "sleep 45", "--output=/dev/null")
    for need, limit in ((NODES, 5), (1, 5), (2, 5)):
        script = ["--wrap", "sleep 2", "--output=/dev/null"]
        slurm.run("sbatch", f"--nodes={need}", f"--time={limit}", *script)
        time.sleep(1)
    begun, hold = time.time(), 30.0

    def delayed() -> list[str]:
        text = slurm.run("squeue", "-h", "-r", "-t", "PD", "-o", "%i %r")
        return [line.split()[0] for line in text.splitlines() if "BeginTime" in line]

    def within(seconds: float, wanted: Callable[[], bool]) -> bool:
        given_up = time.monotonic() + seconds
        while not (found := wanted()) and time.monotonic() < given_up:
            time.sleep(0.5)
        return found

    process = slurm.govern("--policy", "easy", "--hold", f"{hold:g}")
    yield Check("two jobs are held", within(60, lambda: len(delayed()) == 2), 1, 0)
    process.stop()
    yield Check("held jobs after SIGTERM", len(delayed()), 0, 0)
    process = slurm.govern("--policy", "easy", "--hold", f"{hold:g}")
    again = within(60, lambda: len(delayed()) == 2)
    process.stop(signal.SIGKILL)
    yield Check("two jobs are held again, and the governor is killed", again, 1, 0)
    names = delayed()
    ends = [recovered(slurm.log).holds[name].until - begun for name in names]
    print(f"        leases end {max(ends, default=0):.0f} s after the submission", flush=True)
    yield Check("the leases end without it", within(hold + 90, lambda: not delayed()), 1, 0)
    slurm.run(*UNDO, str(slurm.log))
    yield Check("factors after the leases", len(slurm.factors()), 0, 0)


def changed(slurm: Slurm, _: int) -> Iterator[Check]:
    """Jobs are cancelled, held, released, changed and requeued under the governor."""
    process = slurm.govern()
    for _ in range(30):
        slurm.fill(20)
        listed = slurm.run("squeue", "-h", "-r", "-t", "PD", "-o", "%i").split()
        jobs = slurm.draw.sample(listed, 4)
        slurm.run("scancel", jobs[0], check=False)
        for job, change in zip(jobs[1:], ("TimeLimit=2", "Nice=9", "Priority=0"), strict=True):
            slurm.run("scontrol", "update", f"JobId={job}", change, check=False)
        running = slurm.run("squeue", "-h", "-r", "-t", "R", "-o", "%i").split()
        if running:
            slurm.run("scontrol", "requeue", running[0], check=False)
        time.sleep(1)
        slurm.run("scontrol", "release", jobs[3], check=False)
    code = process.stop()
    yield Check("exit code under changes", code, 0, 0)
    yield Check("factors after changes", len(slurm.factors()), 0, 0)


def crowded(slurm: Slurm, _: int) -> Iterator[Check]:
    """5,000 jobs wait."""
    for _ in range(5):
        slurm.submit(1, "--array=1-1000", "--job-name=crowd")
    process = slurm.govern("--policy", POLICIES[1])
    before = events(slurm.log, "decision")
    time.sleep(60)
    code = process.stop()
    yield Check("exit code with 5,000 jobs", code, 0, 0)
    decisions = events(slurm.log, "decision") - before
    yield Check(f"{decisions} different decisions in a minute", decisions > 3, 1, 0)
    yield Check("factors with 5,000 jobs", len(slurm.factors()), 0, 0)
    slurm.run("scancel", "--name=crowd", "--state=PENDING")


def last(slurm: Slurm, finished: Path) -> Iterator[Check]:
    """All jobs end, and none is held."""
    given_up = time.monotonic() + 300
    while (text := slurm.run("squeue", "-h", "-r", "-o", "%i %T %r %Q")) and (
        time.monotonic() < given_up
    ):
        time.sleep(1)
    yield Check(f"jobs that remain {text[:200]!r}", len(text.splitlines()), 0, 0)
    failed = sum("JobState=FAILED" in line for line in finished.read_text().splitlines())
    yield Check("jobs that failed", failed, 0, 0)


def load() -> Iterator[Check]:
    """The time of a decision over 10,000 pending jobs, without Slurm's own."""
    draw, now = random.Random(1), 1e9
    jobs: list[Job] = []
    held = 0
    while held < 1_900:
        need = draw.choice((1, 2, 4, 8, 64))
        start = now - draw.uniform(0, 20_000)
        jobs.append(_job(len(jobs), JobState.RUNNING, need, start, draw.choice(LIMITS), start))
        held += need
    for _ in range(10_000):
        need, arrival = draw.choice((1, 2, 4, 8, 64, 128, 512)), now - draw.uniform(0, 100_000)
        jobs.append(_job(len(jobs), JobState.PENDING, need, arrival, draw.choice(LIMITS)))
    snapshot = Snapshot(now, 2_048, 2_048 - held, tuple(jobs))
    for policy in POLICIES:
        planner, times = Planner(steering_policy(policy)), []
        for _ in range(5):
            begun = time.process_time()
            planner.plan(snapshot)
            times.append(1_000 * (time.process_time() - begun))
        median = float(np.median(times))
        yield Check(
            f"milliseconds of a decision, {policy}: {median:.0f}", max(0, median - 200), 0, 0
        )


def _job(
    number: int, state: JobState, need: int, arrival: float, limit: float, start: float = math.nan
) -> Job:
    name = str(number)
    return Job(name, state, need, arrival, arrival, start, math.nan, limit, "Priority", 1_000)


NODES = 8
LIMITS = (600.0, 3_600.0, 36_000.0, 86_400.0)
SEEDS = (21, 22)
"""Seeds of the jobs for the agreement."""
KILLS = 50
UNDO = (sys.executable, "-m", "quickswap", "govern", "--undo")


def govern() -> Iterator[Check]:
    """`quickswap govern` beside a real Slurm: agreement with replays, faults, load."""
    yield from load()
    if possible():
        yield from faults(KILLS)
        yield from agreement()


def govern_briefly() -> Iterator[Check]:
    """Some of the faults of `govern`, in about three minutes."""
    if possible():
        yield from faults(3, briefly=True)


def possible() -> bool:
    """Return whether Slurm can run here; otherwise print why not."""
    reason = obstacle(drawn("", 0))
    if reason:
        print(f"skipped: the checks with a real Slurm, as {reason}")
    return not reason
