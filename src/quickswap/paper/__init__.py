"""The paper's figures as data, others of their kind, and the verdicts on the paper's claims."""
