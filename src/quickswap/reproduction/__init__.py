"""The paper's figures, and more of their kind: records, runs, drawings, verdicts on its claims."""
