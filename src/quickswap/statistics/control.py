"""Control variates: known means that make intervals narrower.

The change of the squared work in the system has mean zero in a stable system with Poisson arrivals,
whatever the policy (`quickswap.theory.work`). Its time average in a run, the *control*, is not
zero by chance, and it is high where the backlog is low: a regression on it takes from each mean
what the run had too much or too little of. Means stay consistent, as the control is zero in the
long run.

The coefficient comes from parts of batches, as it needs many, and the interval from batches, as
they must be independent. The jackknife repeats the regression with each batch left out, so the
interval includes the error of the coefficient.

Sources: control variates, Lavenberg and Welch, Management Science 27 (1981); functions of the state
whose drift is known, Henderson and Glynn, Mathematics of Operations Research 27 (2002).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from quickswap.statistics.estimates import CONFIDENCE, Estimate, Floats, Split, jackknife

__all__ = ["PARTS", "controlled", "estimated"]

PARTS = 4
"""Parts of a batch: 64 of all 16 batches estimate the coefficients nearly without loss."""
FEWEST = 24
"""Parts below which coefficients are not estimated."""


def estimated(
    values: Floats,
    controls: Iterable[Floats | None],
    split: Split,
    confidence: float = CONFIDENCE,
    *,
    reciprocal: bool = False,
) -> list[Estimate]:
    """Return the estimates of p quantities of one run, or of runs on the same jobs.

    Args:
        values: p quantities, in the rows of `Split.whole_and_less`.
        controls: of each run: (rows, 1), or None.
        split: the batches and their parts.
        confidence: of the intervals.
        reciprocal: see `half_widths`.
    """
    known = [each for each in controls if each is not None]
    rows = controlled(values, np.concatenate(known, axis=1) if known else None, split)
    return jackknife(rows, split.sizes, confidence, reciprocal=reciprocal)


def controlled(values: Floats, controls: Floats | None, split: Split) -> Floats:
    """Return quantities less what the controls explain of them: (1 + batches, p).

    Args:
        values: p quantities in the rows of `Split.whole_and_less`.
        controls: m controls, whose expectation is zero, in the same rows; None: none is known.
        split: the batches and their parts.
    """
    ends = 1 + len(split.parts)
    parts = len(values) - ends
    if controls is None or parts < FEWEST:
        return values[:ends]
    m = controls.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = controls[ends:].std(axis=0)
        x = controls / np.where(scale > 0, scale, 1.0)
        table = np.concatenate([x, values], axis=1)[ends:]
        shifts = table - table.sum(axis=0) / parts
        # products of the influences of the parts, of all of them and with a batch left out
        pairs = [shifts * shifts[:, [i]] for i in range(m)] + [np.square(shifts[:, m:])]
        products = np.add.reduceat(np.concatenate(pairs, axis=1), split.starts, axis=0)
        total = products.sum(axis=0)
        products = np.concatenate([total[None], total - products])
        width = table.shape[1]
        of_controls = products[:, : m * width].reshape(ends, m, width)
        xx, xy, yy = of_controls[..., :m], of_controls[..., m:], products[:, m * width :]
        if m == 1:
            slopes = xy / np.where(xx > 0, xx, 1.0)
        else:
            slopes = np.linalg.pinv(xx, rcond=1e-9, hermitian=True) @ xy
        explained = (slopes * xy).sum(axis=1)
        free = parts - 1 - m
        shrunk = 1 - m * (yy - explained) / np.where(explained > 0, free * explained, 1.0)
        slopes *= np.maximum(shrunk, 0.0)[:, None, :]
        found: Floats = values[:ends] - (x[:ends, :, None] * slopes).sum(axis=1)
    return np.where(np.isfinite(found), found, values[:ends])
