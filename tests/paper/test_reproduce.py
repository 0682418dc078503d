"""`reproduce` from end to end on a small system, against exact values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

import quickswap as qs
from cli_helpers import run
from quickswap.paper import run as paper_run
from quickswap.paper.claims import CLAIMS, judge
from quickswap.paper.experiment import Effort, Experiment, Saved, Series
from quickswap.paper.figures import FOUR_CLASSES, ONE_OR_ALL, PHASES, TRAJECTORIES
from quickswap.paper.judging import Curve, Judgement, contrasts
from quickswap.paper.run import EXPERIMENTS
from quickswap.plotting.chart import Panel
from quickswap.statistics.paired import Outcome

RATES = (1.0, 1.5, 2.0)
PATH = {"title": "", "quantity": "trajectory", "cls": "light"}


def tiny() -> Experiment:
    """Figure 3 on four servers."""
    return replace(
        ONE_OR_ALL,
        name="tiny",
        system=qs.load("one-or-all:k=4"),
        values=RATES,
        series=(
            Series("MSF", "msf"),
            Series("MSFQ", "msfq"),
            Series("always", "msfq:drain=always"),
            Series("exact MSF", "msf", "exact"),
            Series("exact MSFQ", "msfq", "exact"),
            Series("exact always", "msfq:drain=always", "exact"),
            Series("corrected", "msfq:drain=always", "corrected"),
        ),
        panels=ONE_OR_ALL.panels[:3],
        full=Effort(400_000, 0.02),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, qs.Reproduction]:
    folder = tmp_path_factory.mktemp("reproduction")
    record = folder / "given.json"
    record.write_text(Saved(experiment=tiny()).to_json())
    return folder, record, qs.reproduce(str(record), folder / "out")


def test_simulations_agree_with_what_is_exact(
    made: tuple[Path, Path, qs.Reproduction],
) -> None:
    frame = pl.read_parquet(made[0] / "out" / "tiny.parquet")
    compared = 0
    for name in ("MSF", "MSFQ", "always"):
        for quantity in ("mean_response_time", "weighted_mean_response_time"):
            wanted = (pl.col("quantity") == quantity) & (pl.col("class") == "all")
            found = frame.filter(wanted & (pl.col("series") == name)).sort("x")
            exact = frame.filter(wanted & (pl.col("series") == f"exact {name}")).sort("x")
            assert found["x"].to_list() == exact["x"].to_list() == list(RATES)
            assert exact["half_width"].to_list() == [0.0] * len(RATES)
            for value, half, truth in zip(
                found["value"], found["half_width"], exact["value"], strict=True
            ):
                assert 0 < half < 0.2 * value
                assert abs(value - truth) < 2.5 * half
                compared += 1
    assert compared == 18


def test_all_files_are_there_and_the_csv_says_the_same(
    made: tuple[Path, Path, qs.Reproduction],
) -> None:
    folder = made[0] / "out"
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "results.db",
        *(f"tiny.{e}" for e in ("csv", "parquet", "json", "pdf", "svg", "png")),
    }
    csv, parquet = pl.read_csv(folder / "tiny.csv"), pl.read_parquet(folder / "tiny.parquet")
    assert csv.columns == parquet.columns
    assert csv["value"].to_list() == pytest.approx(parquet["value"].to_list(), nan_ok=True)


def test_nothing_is_simulated_twice_and_the_json_reruns_it(
    made: tuple[Path, Path, qs.Reproduction], tmp_path: Path
) -> None:
    folder, record, first = made
    assert first.ran == 9
    assert qs.reproduce([str(record)], folder / "out").ran == 0
    again = qs.reproduce(str(folder / "out" / "tiny.json"), tmp_path)
    assert again.ran == 9
    for ending in ("csv", "parquet", "svg", "json"):
        path = folder / "out" / f"tiny.{ending}"
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("jobs", "rates", "again"),
    [
        # its runs are too short, but the verdict does not hang on it
        (20_000, (1.0, 1.5, 2.0, 2.95), {2.95}),
        # they are long enough, but the verdict hangs on them
        (20_000, (2.2, 2.3), {2.2, 2.3}),
    ],
)
def test_points_that_are_not_settled_run_again(
    jobs: int,
    rates: tuple[float, ...],
    again: set[float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once = replace(
        PHASES,
        system=qs.load("one-or-all:k=4"),
        values=rates,
        series=(Series("MSF", "msfq:threshold=0"), Series("MSFQ(31)", "msfq:threshold=3")),
        full=Effort(jobs, 0.02),
    )

    def run(record: Experiment, folder: str) -> qs.Reproduction:
        monkeypatch.setitem(EXPERIMENTS, "fig4", record)
        return qs.reproduce("fig4", tmp_path / folder)

    def results(found: qs.Reproduction) -> list[tuple[float, qs.Result]]:
        every = found.figures["fig4"].results.items()
        return [(x, result) for (_, x), result in every if isinstance(result, qs.Result)]

    first = run(once, "once")
    longer = replace(once, full=Effort(jobs, 0.02, most=2 * jobs))
    second = run(longer, "twice")
    (finding,) = first.findings
    hanging = {x for _, _, x in finding.open}
    short = {x for x, result in results(first) if result.verdict.status == "too short"}
    assert hanging | short == again
    assert not hanging or not short
    assert {x for x, result in results(second) if result.completed > jobs} == again
    assert first.ran == len(results(first)) == 2 * len(rates)
    assert second.ran == first.ran + 2 * len(again)
    # nothing is left to do, also if the store has only the longer runs
    assert run(longer, "twice").ran == 0
    (tmp_path / "longer").mkdir()
    with qs.Store(tmp_path / "longer" / "results.db") as store:
        for _, result in results(second):
            store.put(qs.Point(result.inputs), result)
    assert run(longer, "longer").ran == 0
    assert json.loads((tmp_path / "twice" / "fig4.json").read_text())["effort"]["most"] == 2 * jobs


def test_a_fixed_number_of_jobs_may_be_raised_as_well(tmp_path: Path) -> None:
    effort = Effort(1_000, most=20_000)
    given = tmp_path / "given.json"
    given.write_text(Saved(experiment=replace(tiny(), values=RATES[:1]), effort=effort).to_json())
    found = qs.reproduce(str(given), tmp_path / "out").figures["tiny"].results
    jobs = [each.completed for each in found.values() if isinstance(each, qs.Result)]
    assert len(jobs) == 3
    assert min(jobs) > 1_000


def test_an_approximation_has_no_interval(made: tuple[Path, Path, qs.Reproduction]) -> None:
    rows = made[2].figures["tiny"].of("corrected", "mean_response_time", method="corrected")
    assert rows
    assert all(math.isnan(row.half_width) for row in rows.values())


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_record_survives_json_and_has_points_that_can_be_built(name: str) -> None:
    saved = Saved(version="1", effort=Effort(7), experiment=EXPERIMENTS[name])
    assert Saved.from_json(saved.to_json()) == saved
    record = saved.experiment
    simulated = [each for each in record.series if each.method == "simulated"]
    points = record.points(record.quick)
    assert list(points) == [(each, x) for x in record.values for each in simulated]
    for (series, x), point in points.items():
        assert point.system == record.system_at(x)
        assert point.policy == qs.parse(record.policy_at(series, x))
        assert point.inputs.jobs == record.quick.jobs


def test_figures_of_the_same_points_share_them() -> None:
    def keys(name: str) -> set[str]:
        record = EXPERIMENTS[name]
        return {point.key for point in record.points(record.full).values()}

    assert keys("fig6") == keys("fig7") < keys("fig8")
    assert keys("percentiles-one-or-all") == keys("fig3")


def test_claims_are_judged_once_their_figures_are_there(tmp_path: Path) -> None:
    found = qs.reproduce("fig1", tmp_path, jobs=20_000)
    (finding,) = found.findings
    assert finding.where == "Figure 1"
    assert finding.verdict in {Judgement.HOLDS, Judgement.FAILS}
    assert finding.claim in (tmp_path / "claims.md").read_text()
    (kept,) = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert kept["verdict"] == finding.verdict
    assert judge({}) == ()
    kept["claim"] = CLAIMS[-1].claim  # one of an earlier run stays
    (tmp_path / "claims.json").write_text(json.dumps({"claims": [kept]}))
    assert qs.reproduce("fig1", tmp_path, jobs=20_000).ran == 0
    both = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [each["claim"] for each in both] == [CLAIMS[0].claim, CLAIMS[-1].claim]


def test_a_changed_record_is_not_judged_as_the_papers(tmp_path: Path) -> None:
    path = tmp_path / "changed.json"
    path.write_text(Saved(experiment=replace(TRAJECTORIES, values=(7.0,))).to_json())
    assert qs.reproduce(str(path), tmp_path / "out", jobs=20_000).findings == ()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"name": "../escaped"}, "experiment.name"),
        ({"name": 5}, "experiment.name"),
        ({"values": []}, "experiment.values"),
        ({"panels": []}, "experiment.panels"),
        ({"series": [{"foo": 1}]}, "experiment.series"),
        ({"axis": "moon"}, "moon"),
        ({"full": {"jobs": 9, "most": 8}}, "most is 8; it must be at least jobs, 9"),
        ({"full": {"jobs": 0}}, r"jobs is 0; .* at `\$\.experiment\.full`"),
        ({"quick": {"jobs": 9, "precision": -1}}, "precision is -1"),
        ({"name": "claims"}, "experiment.name"),
        ({"name": 101 * "a"}, "experiment.name"),
        ({"values": [7.5, 7.5]}, "different from each other"),
        ({"series": 2 * [{"label": "A", "policy": "msf"}]}, "two series have the same"),
        (
            {"series": [{"label": "A", "policy": "msf", "values": [1.0]}]},
            "is simulated and has values",
        ),
        ({"axis": "threshold"}, r"no policy depends on it: write \{x\}"),
        ({"axis": "factor"}, r"no policy depends on it: write \{draw 3\}"),
        ({"panels": [{"title": "", "quantity": "mean_respose_time"}]}, "mean_response_time"),
        ({"panels": [{"title": "", "quantity": "p99"}]}, "written as p99_response_time"),
        ({"panels": [{"title": "", "quantity": "waste", "cls": "lihgt"}]}, "light"),
        ({"panels": [{"title": "", "quantity": "trajectory"}]}, "unknown class: 'all'"),
        ({"panels": [PATH, {"title": "", "quantity": "waste"}]}, "some panels show trajectories"),
        ({"settings": {}}, "none is kept"),
        ({"settings": {"trajectory": 5, "jobs": 5}}, "unknown setting: 'jobs'"),
        ({"colour": "red"}, "colour"),
        ({"system": {}}, "servers"),
        ({"system": None}, "system"),
    ],
)
def test_damaged_records_are_refused(change: dict[str, object], place: str, tmp_path: Path) -> None:
    data = json.loads(Saved(experiment=TRAJECTORIES).to_json())
    data["experiment"] |= change
    reject(data, place, tmp_path)


def test_a_record_may_be_a_path_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    record = replace(TRAJECTORIES, name="mine")
    path = tmp_path / "mine.json"
    path.write_text("\ufeff" + Saved(experiment=record).to_json(), encoding="utf-8")
    assert qs.reproduce(path, tmp_path / "out", jobs=1_000).ran == 2
    path.write_text(20_000 * "[")
    with pytest.raises(qs.QuickswapError, match="nested too deeply"):
        qs.reproduce(path, tmp_path / "out")
    wrong: list[Any] = [None, 3, [], [None]]
    for given in wrong:
        with pytest.raises(qs.QuickswapError, match="a name or a list of names"):
            qs.reproduce(given, tmp_path / "out")


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_says_what_is_kept(
    begun: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while figures are drawn, when all results are in the store."""

    def strike(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(paper_run, "draw" if begun else "_limited", strike)
    code, out, err = run(capsys, "reproduce", "fig1", "--jobs", "1000", "-o", str(tmp_path / "r"))
    assert (code, out) == (130, "")
    kept = f"the results so far are in {tmp_path / 'r'}; repeat the command to continue"
    assert err == f"quickswap: interrupted: {kept if begun else 'there are no results'}\n"


def test_what_a_figure_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = replace(
        tiny(),
        name="fig5",
        values=RATES[:1],
        series=(Series("MSF", "msf"), Series("heavy traffic", "msfq:drain=always", "corrected")),
        panels=(Panel("", "p97.5_response_time"), Panel("", "waste")),
    )
    path = tmp_path / "given.json"
    path.write_text(Saved(experiment=record).to_json())
    words = ("reproduce", str(path), "--jobs", "1000", "-o", str(tmp_path / "out"))
    code, out, _ = run(capsys, *words)
    assert code == 0
    for each in (
        "fig5: differs from our figure of this name, so no claim is judged",
        "fig5: heavy traffic has no values, as the method (corrected) does not apply",
        "fig5: no point has a value of p97.5_response_time for all jobs",
    ):
        assert each in out
    assert "no point has a value of waste" not in out


def test_two_figures_of_one_name_need_two_folders(tmp_path: Path) -> None:
    paths = []
    for rate in (1.0, 2.0):
        paths.append(tmp_path / f"{rate}.json")
        record = replace(TRAJECTORIES, name="mine", values=(rate,))
        paths[-1].write_text(Saved(experiment=record).to_json())
    with pytest.raises(qs.QuickswapError, match="two different figures are named mine"):
        qs.reproduce(paths, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert qs.reproduce([paths[0], paths[0]], tmp_path / "out", jobs=1_000).ran == 2


@pytest.mark.parametrize(
    ("data", "place"),
    [({"effort": {"foo": 1}}, "effort"), ({"quickswap_experiment": 1}, "quickswap_experiment")],
)
def test_damaged_files_are_refused(data: dict[str, object], place: str, tmp_path: Path) -> None:
    reject(json.loads(Saved(experiment=TRAJECTORIES).to_json()) | data, place, tmp_path)


def reject(data: object, place: str, folder: Path) -> None:
    path = folder / "damaged.json"
    path.write_text(json.dumps(data))
    with pytest.raises(qs.QuickswapError, match=r"damaged\.json: not a quickswap exp.*" + place):
        qs.reproduce(str(path), folder / "out")
    assert not (folder / "out").exists()


def test_every_claim_names_figures_that_there_are() -> None:
    assert len(CLAIMS) >= 11
    assert all(set(claim.figures) <= EXPERIMENTS.keys() for claim in CLAIMS)


def test_a_contrast_is_decided_only_by_intervals_that_keep_apart(tmp_path: Path) -> None:
    record = replace(
        FOUR_CLASSES,
        name="contrast",
        values=(3.0, 4.5),
        series=FOUR_CLASSES.series[:1] + FOUR_CLASSES.series[4:6],
        full=Effort(1_000_000, None),
    )
    path = tmp_path / "contrast.json"
    path.write_text(Saved(experiment=record).to_json())
    rows = qs.reproduce(str(path), tmp_path / "out").figures["contrast"]
    quantity = "weighted_mean_response_time"
    adaptive = Curve("Adaptive Quickswap", quantity)
    for rival in ("MSF", "Static Quickswap, exclusive"):
        low, high = contrasts(rows, adaptive, Curve(rival, quantity))
        assert (low.x, high.x) == (3.0, 4.5)
        assert high.outcome is Outcome.BETTER
        assert high.ratio.value > 1
    same = contrasts(rows, adaptive, adaptive)
    assert {each.outcome for each in same} == {Outcome.ALIKE}


def test_trajectories_are_drawn_of_one_replication() -> None:
    points = TRAJECTORIES.points(TRAJECTORIES.full).values()
    assert {point.inputs.replications for point in points} == {1}
    assert {point.inputs.trajectory for point in points} == {4_000}


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["reproduce"], ["no figures", "--list"]),
        (["reproduce", "fig33"], ["fig33", "fig3"]),
        (["reproduce", "fig1", "--precision", "2"], ["precision", "below 1"]),
        (["reproduce", "no.json"], ["no.json", "cannot be read"]),
        (["reproduce", "fig1", "--jobs", "0"], ["--jobs is 0"]),
        (["reproduce", "fig1", "--precision", "0"], ["--precision is 0"]),
        (["reproduce", "fig1", "--threads", "0"], ["--threads is 0"]),
    ],
)
def test_mistakes_get_a_sentence(
    tokens: list[str],
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *tokens)
    assert (code, out) == (2, "")
    assert all(word in err for word in words), err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["fig1.json", "claims.json"])
def test_the_file_of_an_experiment_is_not_written_over(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(Saved(experiment=EXPERIMENTS["fig1"]).to_json())
    before = path.read_bytes()
    code, out, err = run(capsys, "reproduce", str(path), "-o", str(tmp_path))
    assert (code, out) == (2, "")
    assert "would be overwritten: give another output folder" in err
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_the_command_line_writes_and_tells(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(
        capsys, "reproduce", "fig1", "--quick", "--jobs", "10000", "-o", str(tmp_path / "new" / "r")
    )
    assert code == 0
    assert "fig1" in out
    assert "2 points simulated now" in out
    assert (tmp_path / "new" / "r" / "fig1.pdf").stat().st_size > 1000
    assert "too short to judge" not in out  # two paths, without estimates
    code, out, _ = run(
        capsys, *("reproduce", "fig4", "--jobs", "1000", "-o", str(tmp_path), "--threads", "1")
    )
    assert code == 0
    assert "fig4: MSF at rate 1, 2, 3" in out
    code, out, _ = run(capsys, "reproduce", "--list")
    assert code == 0
    assert all(name in out for name in EXPERIMENTS)
