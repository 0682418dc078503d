"""The Gittins rank of a job by its age, the service that it has received.

For a size S and the age x the rank is, in seconds,

    inf over y > x of  E[min(S, y) - x | S > x] / P(S <= y | S > x):

the least service per completion that any commitment to serve the job up to an age y brings. With
F(x) = P(S > x) and M(x) = integral of F from 0 to x it is the least slope
(M(y) - M(x)) / (F(x) - F(y)). The rank is the mean size at every age for exponential sizes, the
mean remaining size where that decreases with age, and 1 / (hazard rate) where the latter
decreases.

Source: Gittins, "Bandit processes and dynamic allocation indices", J. R. Stat. Soc. B 41 (1979).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from quickswap.model.distributions import Distribution, Exponential

__all__ = ["ranks"]

STEP = 0.03
"""Relative change of the rank from one age of a table to the next."""
FINE = 8
"""Ages that are examined, per factor of two of P(S > x) or P(S <= x)."""
LEAST, LAST = 20, 30
"""The tables end at P(S > x) = 2^-LEAST; ages up to 2^-LAST are examined."""
SHORT = 1e-6
"""Ages below this share of the mean size are not examined."""
BEFORE = 1 - 1e-8
"""The rank falls up to this part of a size of positive probability, and then rises."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


@lru_cache(maxsize=256)
def ranks(size: Distribution) -> dict[str, list[float]]:
    """Return `ages` and the `ranks` at these ages, in seconds.

    Between two ages the rank falls in a straight line, or remains as it was if it is higher at the
    second. After the last age it is constant.
    """
    if isinstance(size, Exponential):
        return {"ages": [0.0], "ranks": [size.mean]}
    levels = 2.0 ** -(np.arange(1, FINE * LAST + 1) / FINE)
    grid = {size.isf(float(p)) for p in levels} | {size.isf(float(1 - p)) for p in levels}
    atoms = [x for x in grid if size.sf(BEFORE * x) - size.sf(x) > 2.0**-LEAST]
    grid.update(BEFORE * atom for atom in atoms)
    x = np.array([0.0, *sorted(each for each in grid if each > SHORT * size.mean)])
    tail = np.array([size.sf(float(each)) for each in x])
    # the integral of the tail, by Gauss-Legendre quadrature in each interval
    middle, half = (x[1:] + x[:-1]) / 2, (x[1:] - x[:-1]) / 2
    inner = [
        [size.sf(float(each)) for each in m + h * NODES] for m, h in zip(middle, half, strict=True)
    ]
    integral = np.append(0.0, np.cumsum(half * (np.array(inner).reshape(-1, 8) @ WEIGHTS)))
    integral[tail == 0.0] = size.mean
    last = max(int((tail >= 2.0**-LEAST).sum()), 1)
    ends, goals = np.append(tail, 0.0), np.append(integral, size.mean)
    found = []
    for i in range(last):
        less = ends[i + 1 :] < ends[i]
        slopes = (goals[i + 1 :] - goals[i])[less] / (ends[i] - ends[i + 1 :])[less]
        found.append(max(float(slopes.min()), 0.0))
    ages, kept = [0.0], [found[0]]
    for age, rank in zip(x[1:last], found[1:], strict=True):
        if abs(rank - kept[-1]) > STEP * kept[-1]:
            ages.append(float(age))
            kept.append(rank)
    if tail[-1] == 0.0:  # at the largest size nothing remains
        ages.append(float(x[tail == 0.0][0]))
        kept.append(0.0)
    return {"ages": ages, "ranks": kept}
