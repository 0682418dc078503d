"""What is known about the stability of a policy, by proof or by simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from quickswap._check import flag
from quickswap.engine.custom import CustomPolicy
from quickswap.engine.settings import SimulationSettings, check_settings
from quickswap.errors import QuickswapError
from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.simulation.simulate import simulate as run
from quickswap.theory.stability import Stability
from quickswap.theory.stability import stability as proven_stability

__all__ = ["stability"]


def stability(
    system: System | str | Path,
    policy: Policy | CustomPolicy | str,
    *,
    simulate: bool = False,
    **settings: Unpack[SimulationSettings],
) -> Stability:
    """Return what is known about the stability of a policy on a system.

    About a custom policy only the capacity is known, and the stability of some policies is unknown.

    Args:
        system: servers and classes, or the name of a preset or model file.
        policy: a policy, its text, or a custom policy.
        simulate: whether the system is simulated if its stability under the policy is unknown. The
            verdict at its arrival rate is then in `simulated`.
        settings: those of the simulation, as in `quickswap.simulate`.

    Raises:
        PolicyError: the policy cannot serve this system, or is not a policy.
        QuickswapError: a setting is out of range, or given without `simulate`.
    """
    check_settings(settings, SimulationSettings, "stability", "simulate")
    for name, value in settings.items():
        if not simulate:
            raise QuickswapError(
                f"{name} is a setting of the simulation",
                argument=name,
                given=value,
                advice="give simulate=True as well",
            )
    known = proven_stability(system, policy)
    if not flag(simulate, "simulate", QuickswapError) or known.verdict != "unknown":
        return known
    verdict = run(system, policy, **settings).verdict
    return replace(known, simulated=verdict.status.value, evidence=verdict.reason)
