"""`quickswap show MODEL`: a model, its load and capacity, and the limits of the policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quickswap.cli.options import Model, Scale, chosen

if TYPE_CHECKING:
    from quickswap.model.system import System
    from quickswap.policies import Policy

__all__ = ["show"]


def show(
    model: Model,
    /,
    *,
    scale: Scale | None = None,
    simulate: bool = False,
    json: bool = False,
) -> None:
    """Show the classes, load and capacity of a model, and the limits of the policies.

    Parameters
    ----------
    simulate
        Simulate each policy of which nothing is proven at the rate of the model, and show the
        verdict of the simulation.
    json
        Print JSON instead of tables.
    """
    from quickswap._progress import jobs_bar
    from quickswap.cli.output import print_json

    system = chosen(model, scale)
    with jobs_bar("solving"):
        data = described(system, simulate)
    if json:
        print_json(data)
    else:
        _print(model, system, data)


def described(system: System, simulate: bool = False) -> dict[str, Any]:
    """Return what `show` prints: the system, its totals, its classes and the policies' limits."""
    from quickswap.simulation.stability import stability

    shares = zip(system.classes, system.job_shares, system.load_shares, strict=True)
    limits = [
        (policy, stability(system, policy, simulate=simulate)) for policy in _policies(system)
    ]
    return {
        "system": system.to_dict(),
        "servers": system.servers,
        "arrival_rate": system.arrival_rate,
        "load": system.load,
        "capacity": system.capacity,
        "classes": [
            {
                "name": each.name,
                "need": each.need,
                "arrival_rate": each.arrival_rate,
                "size": each.size.kind,
                "mean_size": each.size.mean,
                "scv": each.size.scv,
                "arrivals": each.arrivals.process,
                "estimate": each.estimate and each.estimate.kind,
                "job_share": jobs,
                "load_share": load,
            }
            for each, jobs, load in shares
        ],
        "policies": [
            {
                "policy": policy.label,
                "stable_below": known.limit,
                "unstable_from": known.necessary_limit,
                "verdict": known.verdict,
                "reason": known.reason,
                "source": known.source,
                "simulated": known.simulated,
                "evidence": known.evidence,
            }
            for policy, known in limits
        ],
    }


def _policies(system: System) -> list[Policy]:
    """Return the policies that can serve the system."""
    from quickswap import policies as p

    others: list[Policy] = [
        p.FCFS(),
        p.FirstFit(),
        p.MSF(),
        p.LSF(),
        p.StaticQuickswap(),
        p.StaticQuickswap(drain="exclusive"),
        p.AdaptiveQuickswap(),
        p.ServerFilling(),
    ]
    return (
        [*others[:4], p.MSFQ(), p.MSFQ(drain="always"), *others[4:]]
        if system.one_or_all
        else others
    )


def _print(model: str, system: System, data: dict[str, Any]) -> None:
    from quickswap.cli.output import print_page, print_table
    from quickswap.display.systems import system_page

    print_page([*system_page(system, model), ""])
    columns = [
        "policy",
        "stable below",
        "unstable from",
        f"at {data['arrival_rate']:.6g}",
        "because",
    ]
    print_table(
        columns,
        [
            [
                each["policy"],
                "unknown" if each["stable_below"] is None else f"{each['stable_below']:.6g}",
                f"{each['unstable_from']:.6g}",
                f"{each['simulated']} (simulated)" if each["simulated"] else each["verdict"],
                each["evidence"] or each["reason"],
            ]
            for each in data["policies"]
        ],
    )
