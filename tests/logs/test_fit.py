"""A system fitted to a log: exact quantities, estimated quantities, and the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quickswap as qs
from hypothesis_settings import FEW
from quickswap import logs
from quickswap.logs import JobLog
from quickswap.logs.fits.distributions import candidates, cdf, fitted, ks_distance
from quickswap.logs.fits.fitting import Size
from quickswap.logs.fits.sample import Floats, Sample
from quickswap.model.distributions import Distribution
from quickswap.model.files import read as read_model

SERVERS = 64


def log_of(folder: Path, submit: Floats, need: Floats, size: Floats) -> JobLog:
    """Return the log of a table with these columns."""
    path = folder / "log.parquet"
    pl.DataFrame({"submit": submit, "need": need, "size": size}).write_parquet(path)
    return logs.read(path, servers=SERVERS)


def poisson(folder: Path, n: int = 20_000, seed: int = 1) -> JobLog:
    """Return a log of a system: needs 1, 2, 4 and 32, hyperexponential and gamma sizes."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.exponential(30.0, n)) + 1.7e9
    need = rng.choice([1, 2, 4, 32], n, p=[0.4, 0.3, 0.2, 0.1])
    rare = rng.random(n) < 0.1
    long = np.where(rare, rng.exponential(2000, n), rng.exponential(50, n))
    return log_of(folder, submit, need, np.where(need == 32, rng.gamma(0.5, 400, n), long))


# What is kept exactly


@FEW
@given(
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(1, SERVERS), st.integers(1, 10_000)),
        min_size=2,
        max_size=60,
    ),
    st.sampled_from(["load", "need", "1-7,8-31,32-"]),
    st.sampled_from(["best", "empirical", "lognormal", "gamma", "hyperexponential", "exponential"]),
)
def test_load_jobs_and_mean_sizes_are_those_of_the_log(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: list[tuple[int, int, int]],
    classes: str,
    size: Size,
) -> None:
    submit, need, sizes = (np.array(column, float) for column in zip(*jobs, strict=True))
    submit[-1] = submit.max() + 1
    log = log_of(tmp_path_factory.mktemp("log"), submit, need, sizes)
    if classes == "1-7,8-31,32-":
        used = [
            part
            for part, low, high in (("1-7", 1, 7), ("8-31", 8, 31), ("32-", 32, 64))
            if ((need >= low) & (need <= high)).any()
        ]
        classes = ",".join(used)
    system = logs.fit(log, classes, size, at_most=4)
    assert system.servers == SERVERS
    assert system.load == pytest.approx(log.load, rel=1e-9)
    assert system.arrival_rate == pytest.approx(len(log) / log.duration)
    assert set(system.needs) <= set(log.needs)
    found = logs.goodness(log, system)
    assert sum(each.jobs for each in found.classes) == len(log)
    for each in found.classes:
        assert each.mean.model == pytest.approx(each.mean.log.value, rel=1e-9)
        assert each.rate.model == pytest.approx(each.rate.log.value)
        assert math.isnan(each.ks) if each.jobs == 1 else 0 <= each.ks <= 1
    assert read_model(system.to_toml(), "model.toml") == system


def test_each_need_its_class_with_its_own_mean(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        np.array([0.0, 10, 20, 100]),
        np.array([1, 4, 4, 4]),
        np.array([7.0, 10, 20, 60]),
    )
    system = logs.fit(log, "need")
    assert system.names == ("1", "4")
    assert system.classes[0].size == qs.Deterministic(7.0)
    assert [each.arrival_rate for each in system.classes] == [0.01, 0.03]
    assert system.classes[1].size.mean == pytest.approx(30)


def test_a_group_has_its_median_need_by_load_and_sizes_that_keep_the_load(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        np.array([0.0, 10, 20, 100]),
        np.array([2, 3, 8, 8]),
        np.array([10.0, 10, 10, 10]),
    )
    (only,) = logs.fit(log, [(1, None)], "exponential").classes
    assert (only.name, only.need) == ("1-", 8)
    assert only.size.mean == pytest.approx(10 * 210 / (8 * 40))
    (each,) = logs.goodness(log, logs.fit(log, "1-")).classes
    assert each.size_factor == pytest.approx(210 / 320)
    assert "smaller groups" in str(logs.goodness(log, logs.fit(log, "1-")))


# What is found again

N = 40_000
DRAWS: dict[str, tuple[Distribution, Callable[[np.random.Generator], Floats]]] = {
    "exponential": (qs.Exponential(mean=300), lambda r: r.exponential(300, N)),
    "gamma": (qs.Gamma(shape=0.4, scale=500), lambda r: r.gamma(0.4, 500, N)),
    "lognormal": (qs.LogNormal(mu=5, sigma=1.2), lambda r: r.lognormal(5, 1.2, N)),
    "hyperexponential": (
        qs.Hyperexponential([0.8, 0.2], [1 / 20, 1 / 900]),
        lambda r: np.where(r.random(N) < 0.8, r.exponential(20, N), r.exponential(900, N)),
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_distribution_of_a_sample_is_found_again(name: str) -> None:
    distribution, draw = DRAWS[name]
    sample = Sample.of(draw(np.random.default_rng(7)))
    first = candidates(sample)[0]
    assert first.distribution.kind == name
    # 4 standard errors of the mean; that of a variance is larger, by the tail
    assert first.distribution.mean == pytest.approx(
        distribution.mean, rel=4 * math.sqrt(distribution.scv / N)
    )
    assert first.distribution.scv == pytest.approx(distribution.scv, rel=0.1)
    assert first.ks < 1.63 / math.sqrt(
        N
    )  # exceeded by 1 % of samples of a distribution not fitted to them
    for tail in (0.9, 0.5, 0.01):
        assert first.distribution.isf(tail) == pytest.approx(distribution.isf(tail), rel=0.1)


@pytest.mark.parametrize("name", DRAWS)
def test_the_distribution_fitted_is_the_most_likely_of_its_kind_with_this_mean(name: str) -> None:
    _, draw = DRAWS[name]
    sample = Sample.of(draw(np.random.default_rng(3))[:2000])
    found = {each.distribution.kind: each for each in candidates(sample)}[name]
    for factor in (0.98, 1.02):
        scv = (
            max(1.0, found.distribution.scv * factor)
            if name == "hyperexponential"
            else found.distribution.scv
        )
        other: Distribution
        if name == "exponential":
            other = qs.Exponential(mean=found.distribution.mean * factor)
        elif name == "hyperexponential":
            other = qs.Hyperexponential(mean=found.distribution.mean, scv=scv)
        else:
            kind = type(found.distribution)
            other = kind(mean=found.distribution.mean, scv=scv * factor)  # type: ignore[call-arg] # both take it
        assert likelihood(other, sample) < found.log_likelihood


def likelihood(distribution: Distribution, sample: Sample) -> float:
    """Log-likelihood from differences of the distribution function, not from densities."""
    step = 1e-5 * sample.values
    density = (
        cdf(distribution, sample.values + step) - cdf(distribution, sample.values - step)
    ) / (2 * step)
    return float(np.log(density) @ sample.counts)


@pytest.mark.parametrize("name", DRAWS)
def test_likelihoods_are_those_of_the_distribution_function(name: str) -> None:
    _, draw = DRAWS[name]
    sample = Sample.of(draw(np.random.default_rng(5))[:500])
    for each in candidates(sample):
        assert each.log_likelihood == pytest.approx(likelihood(each.distribution, sample), rel=1e-4)
        tails = np.array([0.99, 0.7, 0.5, 0.1, 0.001])
        back = cdf(each.distribution, np.array([each.distribution.isf(tail) for tail in tails]))
        assert back == pytest.approx(1 - tails)


def test_a_log_of_a_system_gives_the_system(tmp_path: Path) -> None:
    log = poisson(tmp_path)
    system = logs.fit(log, "need")
    assert system.names == ("1", "2", "4", "32")
    assert [each.size.kind for each in system.classes] == [
        *3 * ["hyperexponential"],
        "gamma",
    ]
    expected = np.array([0.4, 0.3, 0.2, 0.1]) / 30
    errors = 4 * np.sqrt(expected / log.duration)
    rates = np.array([each.arrival_rate for each in system.classes])
    assert (np.abs(rates - expected) < errors).all()
    found = logs.goodness(log, system)
    assert found.dispersion.low < 1 < found.dispersion.high
    assert found.hours is not None
    for _, rate in (found.hours.busiest, found.hours.quietest):
        assert abs(rate.value - 1) < 2 * rate.half_width
    for each in found.classes:
        assert each.rate.log.half_width < 0.1 * each.rate.model
        assert each.mean.log.low < each.mean.model < each.mean.log.high
        assert each.ks < 2 * each.ks_chance


# Results


def test_bursts_and_nights_are_reported(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    days = np.repeat(np.arange(28), 200)
    submit = 1_709_251_200.0 + 86400 * days + 36000 + rng.uniform(0, 7200, len(days))
    log = log_of(tmp_path, submit, np.ones(len(days)), rng.exponential(60, len(days)))
    found = logs.goodness(log, logs.fit(log))
    assert found.dispersion.low > 20
    assert found.hours is not None
    assert found.weekdays is not None
    label, rate = found.hours.busiest
    assert label in ("10:00", "11:00")
    assert rate.value == pytest.approx(12, rel=0.1)
    assert found.hours.quietest[1].value == 0
    assert "By hour of the day" in str(found)


def test_a_tail_that_the_log_does_not_have_is_passed_over() -> None:
    rng = np.random.default_rng(4)
    sizes = np.minimum(rng.lognormal(4, 2.6, 20_000), 20_000)  # a time limit
    sample = Sample.of(np.maximum(1, sizes.round()))
    first = candidates(sample)[0]
    assert first.distribution.kind == "lognormal"
    assert first.distribution.scv > 10 * sample.scv
    distribution = fitted(sample, "best")
    assert distribution.kind != "lognormal"
    assert distribution.scv <= 10 * sample.scv


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=2000), st.integers(1, 200))
def test_thinning_keeps_jobs_and_mean(sizes: list[int], most: int) -> None:
    sample = Sample.of(sizes)
    thin = sample.thinned(most)
    assert len(thin.values) <= max(1, most)
    assert (np.diff(thin.values) > 0).all()
    assert thin.jobs == pytest.approx(len(sizes))
    assert thin.mean == pytest.approx(np.mean(sizes), rel=1e-12)
    assert thin.scv <= sample.scv * (1 + 1e-9) + 1e-12


def test_an_empirical_distribution_is_near_the_sample() -> None:
    sample = Sample.of(np.random.default_rng(1).lognormal(4, 2, 50_000))
    distribution = fitted(sample, "empirical")
    assert isinstance(distribution, qs.Empirical)
    assert len(distribution.values) <= 200
    assert distribution.mean == pytest.approx(sample.mean, rel=1e-12)
    assert distribution.scv == pytest.approx(sample.scv, rel=0.02)
    assert ks_distance(distribution, sample) < 0.01
    few = Sample.of([5, 5, 8])
    assert fitted(few, "empirical") == qs.Empirical([5.0, 8.0], [2.0, 1.0])
    assert ks_distance(fitted(few, "empirical"), few) == 0


def test_the_frame_has_one_row_per_class(tmp_path: Path) -> None:
    log = poisson(tmp_path, 3000)
    found = logs.goodness(log, logs.fit(log, at_most=3))
    frame = found.to_frame()
    assert frame.height == 3
    assert frame["class"].to_list() == [each.name for each in found.classes]
    assert frame["load_share"].sum() == pytest.approx(1)
    assert frame["job_share"].sum() == pytest.approx(1)
    for distribution in ("exponential", "gamma", "hyperexponential", "lognormal"):
        parameters = (
            frame[f"aic_{distribution}"] + 2 * frame[f"log_likelihood_{distribution}"]
        ) / 2
        count = {"exponential": 1, "hyperexponential": 3}.get(distribution, 2)
        assert parameters.to_list() == pytest.approx([count] * 3)
    for name in frame["class"]:
        assert str(found).count(f"\n{name} ") == 3


def test_few_jobs_have_no_intervals_and_a_short_log_no_hours(tmp_path: Path) -> None:
    log = log_of(tmp_path, np.array([0.0, 10, 20]), np.array([1, 1, 1]), np.array([1.0, 2, 3]))
    found = logs.goodness(log, logs.fit(log))
    assert math.isnan(found.classes[0].mean.log.half_width)
    assert (found.hours, found.weekdays) == (None, None)
    assert math.isnan(found.dispersion.value)
    assert "shorter than a day" in str(found)


def test_hours_are_those_of_the_zone_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    noon = [f"2024-07-{1 + i // 50:02}T12:{i % 50:02}:00,1,60" for i in range(500)]
    path.write_text("submit,need,size\n" + "\n".join(noon))
    for zone in ("Europe/Berlin", "Asia/Tokyo"):
        log = logs.read(path, servers=4, timezone=zone)
        found = logs.goodness(log, logs.fit(log))
        assert found.clock
        assert found.hours is not None
        assert found.hours.busiest[0] == "12:00"


def test_coverage_of_the_intervals(tmp_path: Path) -> None:
    held, trials = 0, 60
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        n = 1000
        log = log_of(
            tmp_path,
            np.cumsum(rng.exponential(100, n)),
            np.ones(n),
            np.maximum(rng.exponential(500, n), 1e-3),
        )
        (each,) = logs.goodness(log, logs.fit(log, size="exponential")).classes
        held += each.mean.log.low <= 500 <= each.mean.log.high
        held += each.rate.log.low <= 0.01 <= each.rate.log.high
    # 120 trials of 0.95: 4 standard errors below
    assert held / (2 * trials) > 0.95 - 4 * math.sqrt(0.95 * 0.05 / (2 * trials))


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classes": "all"}, "classes is 'all'"),
        ({"classes": "1-4"}, r"need \d+ "),
        ({"classes": "1-8,9-31,32-"}, "group 9-31"),
        ({"classes": [(1, 4), (3, None)]}, "end at 4"),
        ({"size": "pareto"}, "'pareto'; known: best, exponential"),
        ({"at_most": 0}, "at_most is 0; it must be a whole number"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    log = poisson(tmp_path, 200)
    with pytest.raises(logs.LogError, match=message):
        logs.fit(log, **arguments)  # type: ignore[arg-type] # wrong on purpose


def test_a_log_without_duration(tmp_path: Path) -> None:
    log = log_of(tmp_path, np.array([5.0, 5]), np.array([1, 1]), np.array([1.0, 2]))
    with pytest.raises(logs.LogError, match="submitted at the same time"):
        logs.fit(log)


def test_a_system_whose_class_names_are_not_needs(tmp_path: Path) -> None:
    log = poisson(tmp_path, 500)
    system = logs.fit(log, "need")
    renamed = qs.System(
        system.servers,
        [qs.JobClass(c.need, c.arrival_rate, c.size, name=f"c{c.need}") for c in system.classes],
    )
    with pytest.raises(logs.LogError, match="'c1, c2, c4, c32'"):
        logs.goodness(log, renamed)
    with pytest.raises(logs.LogError, match=r"1 groups.* 4 classes"):
        logs.goodness(log, renamed, [(1, None)])
    given = logs.goodness(log, renamed, [(1, 1), (2, 2), (4, 4), (32, None)])
    assert [each.ks for each in given.classes] == [
        each.ks for each in logs.goodness(log, system).classes
    ]
    other = qs.System(SERVERS, [qs.JobClass(1, 1.0, qs.Pareto(shape=3.5, mean=1), name="1-")])
    with pytest.raises(logs.LogError, match="pareto"):
        logs.goodness(log, other)
