"""Logs of clusters: the jobs that ran, with a report on every row.

`read` reads the Standard Workload Format, the output of Slurm's `sacct`, and tables in CSV or
Parquet. `fit` fits a system to a log, and `goodness` compares the two. The names are listed in the
stub `__init__.pyi`, and imported when they are first used: fits require SciPy, reading does not.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
