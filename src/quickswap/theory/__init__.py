"""Results known without simulation, one module per result.

Only `chain` imports the core, because it asks the policies for their decisions. The public names
are listed in the stub `__init__.pyi`, and imported when they are first used.
"""

import lazy_loader

# not lazily: an import of the module of the same name would otherwise replace the function
from quickswap.theory.stability import Stability as Stability
from quickswap.theory.stability import stability as stability

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
