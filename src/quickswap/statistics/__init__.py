"""From the sums of a run to estimates with confidence intervals, and to verdicts."""
