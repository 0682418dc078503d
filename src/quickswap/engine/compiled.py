"""Custom policies in native code: Python classes compiled by Numba, and functions of a library.

A class becomes a module of its own: its methods as functions of the state and the view, and the
functions and constants that they use. The name of the module is a hash of its text, so the compiled
code can be kept in the cache of the user.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import struct
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from quickswap._check import flag, items
from quickswap.engine._core import VERSION, NativePolicy
from quickswap.errors import CompilationWarning, PolicyError, invalid
from quickswap.files import write_text

if TYPE_CHECKING:
    from quickswap.engine.source import PolicySource

__all__ = ["HEADER", "LibraryPolicy", "compiled", "is_compiled", "native"]

Kind = TypeVar("Kind", bound=type)

HEADER = Path(__file__).with_name("quickswap_policy.h")
"""The header for policies in C."""
MARK = "__quickswap_compiled__"
COMPILING = threading.Lock()
"""Held while a module is imported: another thread must not see a part of it."""


def compiled(kind: Kind) -> Kind:
    """Mark the class of a custom policy to be compiled by Numba, as a decorator.

    Its objects work as before, and `simulate`, `compare`, `replay`, `Scheduler` and exact chains
    run `start` and `wake_at` as native code, compiled on first use and then cached. This requires
    the extra `quickswap[numba]`. The first 1,000 decisions of each run are also made in Python;
    a difference is an error with the state of the system.

    Attributes that the methods use are numbers, or arrays, lists or tuples of numbers that keep
    their length and type; they are the state of the policy, which `Scheduler` and exact chains save
    and restore. The methods may call each other, functions, and `view.random.random()`.
    `view.heads` contains a large number for a class without waiting jobs, not None.

    Warns:
        CompilationWarning: a method cannot be compiled; the policy runs in Python.

    Raises:
        PolicyError: this is not the class of a custom policy.
    """
    if not isinstance(kind, type) or not callable(getattr(kind, "start", None)):
        raise invalid("class", kind, "a class with a method start(view)", PolicyError)
    setattr(kind, MARK, True)
    return kind


def is_compiled(policy: object) -> bool:
    """Return whether a policy is native code, or to be compiled."""
    return isinstance(policy, LibraryPolicy) or getattr(policy, MARK, False) is True


class LibraryPolicy:
    """A custom policy in a shared library, written in C, Cython, Rust or another language.

    The file `quickswap.engine.compiled.HEADER` declares its functions in C.

    Args:
        library: path of the library.
        start: name of the function that returns the class or the job that starts now.
        wake_at: name of the function that returns the time of the next decision, if there is one.
        name: name for tables and messages; by default that of the file.
        state: initial values of the state, each stored in eight bytes: whole numbers as `int64_t`,
            other numbers as `double`.
        sees_heads: whether it uses the order of arrival of the heads of line.
        sees_jobs: whether it uses individual jobs.
        remembers_order: as in `CustomPolicy`.

    Raises:
        PolicyError: the library or a function does not exist, or the state is not numbers.
    """

    def __init__(
        self,
        library: str | Path,
        start: str = "start",
        *,
        wake_at: str | None = None,
        name: str | None = None,
        state: Sequence[int | float] = (),
        sees_heads: bool = True,
        sees_jobs: bool = False,
        remembers_order: bool = True,
    ) -> None:
        self.library = Path(library).resolve()
        self.functions = (start, wake_at)
        self.name = self.library.stem if name is None else name
        self.sees_heads = flag(sees_heads, "sees_heads", PolicyError)
        self.sees_jobs = flag(sees_jobs, "sees_jobs", PolicyError)
        self.remembers_order = flag(remembers_order, "remembers_order", PolicyError)
        if items(state) is None:
            raise invalid("state", state, "a list of numbers", PolicyError)
        self.state = tuple(state)
        self._native()  # so a mistake is reported here

    def start(self, view: object) -> None:
        """Raise an error: the core calls the function of the library directly."""
        raise PolicyError(f"the functions of {self.library} cannot be called from Python")

    def _native(self) -> NativePolicy:
        import ctypes

        try:
            code = ctypes.CDLL(str(self.library))
        except OSError as error:
            raise PolicyError(
                f"library {self.library} cannot be loaded ({error})",
                argument="library",
                given=self.library,
                advice="give the path of a shared library",
            ) from None

        def address(function: str) -> int:
            if not hasattr(code, function):
                raise PolicyError(
                    f"library {self.library} has no function {function}",
                    argument="start or wake_at",
                    given=function,
                    advice="give the name of a function that it exports",
                )
            found = ctypes.cast(getattr(code, function), ctypes.c_void_p).value
            assert found is not None  # a symbol has an address
            return found

        start, wake_at = self.functions
        return NativePolicy(
            self.name,
            address(start),
            None if wake_at is None else address(wake_at),
            b"".join(map(_word, self.state)),
            sees_heads=self.sees_heads,
            sees_jobs=self.sees_jobs,
            remembers_order=self.remembers_order,
            memoryless=False,
            draws=False,
            original=None,
            code=code,
        )


def native(policy: object) -> object:
    """Return what the core runs: native code if there is any, otherwise the policy itself."""
    if isinstance(policy, LibraryPolicy):
        return policy._native()
    if not is_compiled(policy):
        return policy
    from quickswap.engine.source import NotCompiledError

    try:
        return _build(policy)
    except NotCompiledError as error:
        kind = type(policy).__name__
        lines = "".join(f"\n  {each}" for each in error.lines)
        warnings.warn(f"{kind} runs in Python:{lines}", CompilationWarning, stacklevel=4)
        return policy


def _build(policy: object) -> NativePolicy:
    """Return the native code of a policy."""
    from quickswap.engine.source import NotCompiledError, PolicySource

    if importlib.util.find_spec("numba") is None:
        raise NotCompiledError(["Numba is not installed: pip install 'quickswap[numba]'"])
    source = PolicySource(policy)
    with COMPILING:
        code = _module(source)
    sees_jobs = bool(getattr(policy, "sees_jobs", False))
    return NativePolicy(
        str(getattr(policy, "name", type(policy).__name__)),
        code.start.address,
        code.wake_at.address if hasattr(code, "wake_at") else None,
        source.words(),
        sees_heads="heads" in source.attributes,
        sees_jobs=sees_jobs,
        remembers_order=bool(getattr(policy, "remembers_order", True)),
        memoryless=source.memoryless,
        draws=source.draws,
        original=policy,
        code=code,
    )


def _module(source: PolicySource) -> ModuleType:
    """Return the module of a policy, compiled now or found in the cache."""
    from quickswap.engine import interface
    from quickswap.engine.source import NotCompiledError

    version = hashlib.sha256(Path(interface.__file__).read_bytes()).hexdigest()
    text = f"{source.text()}# quickswap {VERSION}, interface {version}\n"
    name = f"policy_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    if name in sys.modules:
        return sys.modules[name]
    path = _folder() / f"{name}.py"
    if not path.exists():
        write_text(path, text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # Numba looks there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):  # Numba raises others than its own, such as KeyError
            raise NotCompiledError([source.explain(error)]) from None
        raise
    return module


def _folder() -> Path:
    """Return the folder of the compiled policies: in the cache of the user, if it is writable."""
    import tempfile

    given = os.environ.get("QUICKSWAP_CACHE")
    if given is None and sys.platform == "win32":
        given = os.environ.get("LOCALAPPDATA")
    elif given is None:
        given = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(given or tempfile.gettempdir(), "quickswap", "policies")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="quickswap-"))


def _word(value: object) -> bytes:
    """Return a number in eight bytes."""
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return struct.pack("=q", value)
    if isinstance(value, float):
        return struct.pack("=d", value)
    raise invalid("state", value, "numbers of 64 bits", PolicyError)
