"""The claims of the paper as data, in its order, and the findings as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quickswap.paper import checks
from quickswap.paper.experiment import MEAN, WEIGHTED
from quickswap.paper.judging import Better, Claim, Curve, Finding, Pair, Stable, Times
from quickswap.paper.rows import Rows

__all__ = ["CLAIMS", "as_markdown", "judge"]

MSFQ, ALWAYS = "MSFQ(31)", "MSFQ(31), always draining"
ADAPTIVE, STATIC = "Adaptive Quickswap", "Static Quickswap"
EXCLUSIVE = "Static Quickswap, exclusive"
RIVALS = ("MSF", "First-Fit")
FILLING = "ServerFilling (preemptive)"
METRICS = ((MEAN, "mean"), (WEIGHTED, "weighted"))
MEDIUM = 3.5
"""Rate up to which the load of Borg is light to medium; the capacity is 4.96."""

CLAIMS: tuple[Claim, ...] = (
    Claim(
        claim="MSFQ keeps far fewer jobs in the system than MSF",
        where="Figure 1",
        figures=("fig1",),
        check=checks.trajectories,
        why="Swapping early keeps the two queues from feeding each other. One path, no interval.",
    ),
    Claim(
        claim="MSFQ is throughput-optimal",
        where="Theorem on stability; its appendix",
        figures=("fig3",),
        check=Stable((MSFQ, ALWAYS)),
        why=(
            "The theorem stands; its proof needs the other sign in the drift of phase 3, and l + 1 "
            "instead of l - 1."
        ),
    ),
    Claim(
        claim=(
            "The mean response time hardly depends on the threshold unless it is close to 0, and l "
            "= k - 1 is a good choice"
        ),
        where="Figure 2; section on one-or-all",
        figures=("fig2", "thresholds"),
        check=checks.insensitive,
        why=(
            "Near the capacity l = k - 1 loses next to nothing; at moderate loads the best l is "
            "far below it."
        ),
    ),
    Claim(
        claim="MSFQ has the best mean and weighted mean response time in all cases",
        where="Figure 3",
        figures=("fig3",),
        check=Better(
            tuple(
                Pair(f"against {rival}, {name}", Curve(MSFQ, quantity), Curve(rival, quantity))
                for rival in ("MSF", "First-Fit", "nMSR")
                for quantity, name in METRICS
            ),
        ),
        why=(
            "At low rates an early swap drains servers for nothing: with l = 31 a heavy job stops "
            "all light ones; from the middle rates on it wins, and by more the higher the rate."
        ),
    ),
    Claim(
        claim="MSFQ improves the response times of both classes",
        where="Figure 3, panels of the classes",
        figures=("fig3",),
        check=Better(
            tuple(
                Pair(f"{cls} jobs", Curve(MSFQ, cls=cls), Curve("MSF", cls=cls))
                for cls in ("light", "heavy")
            ),
            intro="against MSF, ",
        ),
        why="Light jobs pay for the swap at low rates, where hardly any job waits under MSF.",
    ),
    Claim(
        claim=(
            "MSFQ is better than MSF, nMSR and First-Fit by two orders of magnitude at high rates"
        ),
        where="Figure 3, caption and text",
        figures=("fig3",),
        check=Times(
            tuple(
                Pair(f"against {rival}, {name}", Curve(MSFQ, quantity), Curve(rival, quantity))
                for rival in ("MSF", "First-Fit", "nMSR")
                for quantity, name in METRICS
            ),
            factor=100,
        ),
        why=(
            "Against MSF it is one order of magnitude: in heavy traffic the ratio of the means "
            "tends to 20.5, and that of the weighted means is hardly larger; against First-Fit it "
            "is more, but below 100, and against nMSR only the weighted means reach 100, at rate "
            "7.7."
        ),
    ),
    Claim(
        claim="The analysis is highly accurate at a wide range of rates",
        where="Figure 3; section on its approximations",
        figures=("fig3",),
        check=checks.accurate,
        why=(
            "It assumes that k light jobs are present when their visit begins, which is true at "
            "high rates; and it describes the drain that begins whether or not a heavy job waits."
        ),
    ),
    Claim(
        claim="MSFQ has shorter phases than MSF",
        where="Figure 4",
        figures=("fig4",),
        check=Better(
            tuple(
                Pair(
                    f"phase {phase}",
                    Curve(MSFQ, f"mean_duration_of_phase_{phase}"),
                    Curve("MSF", f"mean_duration_of_phase_{phase}"),
                )
                for phase in (1, 2, 3)
            ),
            word="shorter",
            present=True,
        ),
        why=(
            "A drain of about four seconds takes the place of a phase 3 that lasts minutes, and "
            "the visits to both classes shrink with it."
        ),
    ),
    Claim(
        claim="Static Quickswap is throughput-optimal (needs that divide k)",
        where="Remark on its stability",
        figures=("fig5",),
        check=Stable((EXCLUSIVE,)),
        why=(
            "Loads per slot summing to less than 1 is enough, and that is the capacity where every "
            "need divides the servers, as the paper asks; elsewhere it is less: with 16 servers "
            "the limit is 5.05, and the capacity 5.33."
        ),
    ),
    Claim(
        claim="Static and Adaptive Quickswap are better than MSF and First-Fit in all cases",
        where="Figure 5",
        figures=("fig5",),
        check=Better(
            tuple(
                Pair(
                    f"{ours} against {rival}",
                    Curve(ours, WEIGHTED),
                    Curve(rival, WEIGHTED),
                    counts=ours != EXCLUSIVE,
                )
                for ours in (ADAPTIVE, STATIC, EXCLUSIVE)
                for rival in RIVALS
            ),
        ),
        why=(
            "It is true of Adaptive and of the overlapping Static, except at the lowest rate, "
            "where no policy is significantly better; the exclusive Static of the paper's text "
            "mostly loses, as each swap waits for a drain."
        ),
    ),
    Claim(
        claim="Static Quickswap is slightly worse than Adaptive Quickswap in all cases",
        where="Figure 5",
        figures=("fig5",),
        check=Better(
            tuple(
                Pair(f"against {rival}", Curve(ADAPTIVE, WEIGHTED), Curve(rival, WEIGHTED))
                for rival in (STATIC, EXCLUSIVE)
            ),
        ),
        why=(
            "At the lowest rates Adaptive and the overlapping Static are not significantly "
            "different; the exclusive Static is worse by far more than slightly."
        ),
    ),
    Claim(
        claim=(
            "On Borg's cell B the capacity is 4.94, and 85.8 % of the load comes from 0.34 % of "
            "the jobs; k is the need of the heaviest class"
        ),
        where="Sections on metrics and on Borg",
        figures=("fig6",),
        check=checks.numbers_of_borg,
        why=(
            "The jobs are ten times fewer: 0.34 % should read 0.034 %. 4.94 is 4.96 with the "
            "table's own digits, 85.8 % is 85.96 %, and k = 2,048 is not the need of the heaviest "
            "class."
        ),
    ),
    Claim(
        claim="All policies remain stable on Borg",
        where="Figure 6",
        figures=("fig6",),
        check=Stable((ADAPTIVE, STATIC, *RIVALS)),
        why=(
            "Three classes of rare jobs have most of the load, so a run that is too short looks "
            "stable: near the capacity MSF and First-Fit need a hundred billion jobs."
        ),
    ),
    Claim(
        claim=(
            "On Borg Adaptive and Static Quickswap improve the weighted mean response time by two "
            "orders of magnitude at high rates"
        ),
        where="Figure 6",
        figures=("fig6",),
        check=Times(
            tuple(
                Pair(f"{ours} against {rival}", Curve(ours, WEIGHTED), Curve(rival, WEIGHTED))
                for ours in (ADAPTIVE, STATIC)
                for rival in RIVALS
            ),
            factor=100,
        ),
        why=(
            "At the highest rate Adaptive reaches half of it against MSF, and most of it against "
            "First-Fit; Static stays far below."
        ),
    ),
    Claim(
        claim="On Borg Static Quickswap is five times better than MSF at high load",
        where="Figure 6",
        figures=("fig6",),
        check=Times(
            (Pair("against MSF", Curve(STATIC, WEIGHTED), Curve("MSF", WEIGHTED)),),
            factor=5,
            high=4,
        ),
        why=(
            "This is the overlapping Static. Under MSF the heaviest jobs wait for days at these "
            "rates."
        ),
    ),
    Claim(
        claim=(
            "Quickswap treats the classes more equitably than MSF and First-Fit, whose heavy jobs "
            "wait orders of magnitude longer than their light ones"
        ),
        where="Appendix, Figure 7",
        figures=("fig7",),
        check=checks.equitable,
        why=(
            "Every class has its turn; the index alone does not say whether all are served well or "
            "all badly."
        ),
    ),
    Claim(
        claim=(
            "At light to medium loads MSF and First-Fit have the lower unweighted mean response "
            "time on Borg"
        ),
        where="Appendix, Figure 7",
        figures=("fig7",),
        check=Better(
            tuple(
                Pair(f"{rival} against {ours}", Curve(rival, MEAN), Curve(ours, MEAN))
                for rival in RIVALS
                for ours in (ADAPTIVE, STATIC)
            ),
            intro=f"light to medium is up to rate {MEDIUM:g}. ",
            up_to=MEDIUM,
        ),
        why="The drains of Quickswap block jobs a thousand times shorter than they last.",
    ),
    Claim(
        claim=(
            "ServerFilling greatly outperforms all nonpreemptive policies on Borg, by both metrics"
        ),
        where="Appendix, Figure 8",
        figures=("fig8",),
        check=Better(
            tuple(
                Pair(f"{name}, against {rival}", Curve(FILLING, quantity), Curve(rival, quantity))
                for quantity, name in METRICS
                for rival in (ADAPTIVE, STATIC, *RIVALS)
            ),
        ),
        why=(
            "Free preemption keeps nearly all servers busy while enough jobs wait (not all: these "
            "needs do not divide them); where its mean is not the best, First-Fit lets small jobs "
            "pass at once."
        ),
    ),
)


def judge(figures: Mapping[str, Rows]) -> tuple[Finding, ...]:
    """Return the finding on each claim for which all figures are given."""
    return tuple(claim.judge(figures) for claim in CLAIMS if set(claim.figures) <= figures.keys())


def as_markdown(findings: Sequence[Finding]) -> str:
    """Return the findings as a table in Markdown."""
    lines = ["| claim | where | measured | verdict | why |", "|---|---|---|---|---|"]
    lines += [
        f"| {each.claim} | {each.where} | {each.measured} | **{each.verdict}** | {each.why} |"
        for each in findings
    ]
    return "\n".join(lines) + "\n"
