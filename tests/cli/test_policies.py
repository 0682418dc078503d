"""`quickswap policies` lists every policy as it is, and completion can be installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap.cli.policies import described
from quickswap.model.distributions.base import plain
from quickswap.policies.spelling import POLICIES


def test_every_policy_is_listed_with_its_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "policies", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert rows == described()
    assert [row["policy"] for row in rows[: len(POLICIES)]] == [kind.name for kind in POLICIES]
    for row, kind in zip(rows, POLICIES, strict=False):
        required = ",".join(f"{name}=2" for name in row["required"])
        policy = qs.parse(f"{row['policy']}:{required}" if required else row["policy"])
        assert type(policy) is kind
        defaults = {name: plain(getattr(policy, name)) for name in row["parameters"]}
        assert defaults == row["parameters"] | dict.fromkeys(row["required"], 2)


def test_what_is_proven_agrees_with_stability() -> None:
    """Each result has a system to which it applies, and without one the limit is unknown."""
    small = qs.load("one-or-all:k=4,load=0.5")
    for row in described()[: len(POLICIES)]:
        required = ",".join(f"{name}=1" for name in row["required"])
        policy = qs.parse(f"{row['policy']}:{required}" if required else row["policy"])
        known = qs.stability(small, policy)
        assert (known.limit is not None) == (row["stable"] is not None)
        assert known.limit is None or row["source"]


def test_the_table_fits_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "policies")
    assert (code, err) == (0, "")
    (line,) = (line for line in out.splitlines() if line.startswith("msfq "))
    assert "threshold, drain=on_demand, backfill=0," in line
    (line,) = (line for line in out.splitlines() if line.startswith("max-weight "))
    assert "preemptive" in line


def test_policies_of_other_packages_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quickswap.policies.custom.registered_names", lambda: ["mine"])
    row = described()[-1]
    assert (row["policy"], row["properties"]) == ("mine", ["other package"])


def test_completion_is_installed_for_a_shell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "_quickswap"
    code, _, err = run(capsys, "--install-completion", "--shell", "zsh", "--output", str(script))
    assert (code, err) == (0, "")
    assert all(word in script.read_text(encoding="utf-8") for word in ("simulate", "--precision"))
    code, _, err = run(capsys, "--install-completion", "--shell", "tcsh")
    assert code == 2
    assert '"zsh", "bash", "fish"' in err
