from .fits.fitting import fit
from .fits.goodness import ClassGoodness, Goodness, goodness
from .joblog import JobLog
from .quality import Finding, QualityReport
from .reading import LogError, read
from .rules import RULES, Rule

__all__ = [
    "RULES",
    "ClassGoodness",
    "Finding",
    "Goodness",
    "JobLog",
    "LogError",
    "QualityReport",
    "Rule",
    "fit",
    "goodness",
    "read",
]
