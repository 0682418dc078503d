"""Scheduling of multiserver jobs: simulate, compare and understand policies.

The public names are listed once, in the stub `__init__.pyi`, and imported when they are first
used, so `import quickswap` and the command line start immediately.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
