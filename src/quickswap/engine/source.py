"""The class of a custom policy as a module for Numba: its methods, and what they use.

Methods become functions of the state and the view, line by line as in the user's file, so an error
has a line there.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from quickswap.policies.fingerprint import references

__all__ = ["NotCompiledError", "PolicySource"]

ENTRIES = {"start": ("int64", "encoded", "-(2**63)"), "wake_at": ("float64", "moment", "numpy.nan")}
"""The methods that the core calls: the type of the answer, the function that converts it, and the
answer after an exception."""
UNSUPPORTED: dict[type[ast.AST], str] = {
    ast.GeneratorExp: "a generator expression; write a loop",
    ast.Lambda: "a lambda; write a loop or a function",
    ast.NamedExpr: "an assignment in an expression; write it as a statement before",
    ast.SetComp: "a set; write a loop",
    ast.Dict: "a dictionary; use an array",
    ast.DictComp: "a dictionary; use an array",
    ast.JoinedStr: "text",
    ast.Try: "try; check the condition before",
    ast.With: "with",
    ast.Yield: "yield; write a loop",
    ast.YieldFrom: "yield; write a loop",
    ast.Global: "global; keep the state in attributes",
    ast.Nonlocal: "nonlocal; keep the state in attributes",
    ast.Import: "an import; import at the top of the file",
    ast.ImportFrom: "an import; import at the top of the file",
    ast.ClassDef: "a class",
}
"""What Numba does not compile, and what to write instead."""
FRAME = ("Failed in", "-", "File")
REASON = re.compile(r"Unknown attribute|Use of unsupported|Cannot unify|Unsupported|No conversion")
PREAMBLE = """\
from __future__ import annotations
import numpy
from quickswap.engine.interface import VIEW, address, carray, cfunc, draw, encoded, goes_on
from quickswap.engine.interface import moment, njit
"""
ENTRY = """\
@cfunc("{kind}(voidptr)", cache=True)
def {name}(pointer):
    view = carray(pointer, 1, VIEW)[0]
    state = carray(address(view.state_at), 1, STATE)[0]
    try:
        return {conversion}(_method_{name}(state, view))
    except Exception:
        return {failed}
"""

Edit = tuple[int, int, int, str]
"""A line, the columns of a part of it, and the text that takes its place."""


class NotCompiledError(Exception):
    """A policy cannot be compiled.

    Attributes:
        lines: the reasons, each with the line of the file.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = list(lines)


@dataclass
class _Function:
    """A function: its place in the user's file, its lines, and its first line in the module.

    A statement that is added before a line is part of this line, and so has its number.
    """

    file: str
    first: int
    lines: Sequence[str] = ()
    line: int = 0

    def offset(self, line: int) -> int | None:
        """Return the line of the function at a line of the module, from 0; None if elsewhere."""
        offsets = [offset for offset, each in enumerate(self.lines) for _ in each.splitlines()]
        place = line - self.line
        return offsets[place] if 0 <= place < len(offsets) else None


class PolicySource:
    """The module of a policy.

    Attributes:
        attributes: names of all attributes that the functions use.
        memoryless: whether the answers follow from the view: the policy changes none of its
            attributes, and draws no random numbers.
        draws: whether it draws random numbers.
        state: initial values of the attributes that the methods use, as `int64` or `float64`.
    """

    def __init__(self, policy: object) -> None:
        """Read the methods of a policy.

        Raises:
            NotCompiledError: they cannot be compiled, or their text is unknown.
        """
        self.attributes: set[str] = set()
        self.memoryless, self.draws = True, False
        self.state: dict[str, npt.NDArray[Any]] = {}
        self._policy = policy
        self._functions: dict[str, _Function] = {}
        self._constants: dict[str, str] = {}
        self._own: dict[str, str] = {}
        """The attributes that the methods use, and where."""
        self._open: set[str] = set()
        """Functions whose calls are being read."""
        self._problems: list[str] = []
        self._entries = [name for name in ENTRIES if self._has_method(name)]
        for name in self._entries:
            self._add_method(name)
        for name, place in sorted(self._own.items()):
            self._add_state(name, place)
        if self._problems:
            raise NotCompiledError(self._problems)

    def words(self) -> bytes:
        """Return the initial state in words of eight bytes."""
        return b"".join(each.tobytes() for each in self.state.values()) or bytes(8)

    def text(self) -> str:
        """Return the module."""
        layout = [(name, each.dtype.str, each.shape) for name, each in self.state.items()]
        parts = [
            PREAMBLE,
            f"STATE = numpy.dtype({layout or [('_', '<i8', ())]!r})\n",
            *(f"{name} = {value}\n" for name, value in sorted(self._constants.items())),
        ]
        for function in self._functions.values():
            parts.append("@njit(boundscheck=True)\n")
            function.line = "".join(parts).count("\n") + 1
            parts += [f"{line}\n" for line in function.lines]
        for name in self._entries:
            kind, conversion, failed = ENTRIES[name]
            parts.append(ENTRY.format(kind=kind, name=name, conversion=conversion, failed=failed))
        return "".join(parts)

    def explain(self, error: Exception) -> str:
        """Return the sentence of an error of Numba, with the line of the user's file."""
        if isinstance(error, KeyError):  # neither the view nor a job has this attribute
            attribute = str(error.args[0])
            reason, wanted = f"there is no attribute {attribute}", f".{attribute}"
            places = [
                (function, offset)
                for function in self._functions.values()
                for offset, line in enumerate(function.lines)
                if wanted in line
            ]
        elif "function encoded" in str(error):
            return "start must always return None, the index of a class, or a job of the view"
        elif "function moment" in str(error):
            return "wake_at must always return a time in seconds, or None"
        else:
            lines = [line.strip() for line in str(error).splitlines()]
            known = [line for line in lines if REASON.match(line)]
            rest = [line for line in lines if line and not line.startswith(FRAME)]
            reason = next(iter([*known, *rest]), "Numba does not compile it")
            reason = reason.partition(" Raised from ")[0]
            places = [
                (function, offset)
                for line in re.findall(r"policy_\w+\.py(?:\", line | \()(\d+)", str(error))
                for function in self._functions.values()
                if (offset := function.offset(int(line))) is not None
            ]
        for function, offset in places:
            code = function.lines[offset].strip()
            return f"{function.file}, line {function.first + offset}, {code}: {reason}"
        return reason

    def _has_method(self, name: str) -> bool:
        return callable(getattr(type(self._policy), name, None))

    def _add_method(self, name: str) -> None:
        method = inspect.getattr_static(type(self._policy), name)
        if isinstance(method, FunctionType):
            self._add(f"_method_{name}", method, of_policy=True)
        else:
            self._problems.append(f"{name} is not a plain method")

    def _add(self, name: str, function: FunctionType, of_policy: bool = False) -> None:
        """Add a function, and all that it uses."""
        if name in self._functions:
            if name in self._open:
                self._problems.append(f"{function.__name__} calls itself; write a loop")
            return
        if hasattr(function, "__wrapped__"):
            self._problems.append(f"{function.__name__} is decorated; write it without")
            return
        try:
            lines, first = inspect.getsourcelines(function)
            file = inspect.getsourcefile(function) or ""
        except (OSError, TypeError):
            self._problems.append(f"the text of {function.__name__} is unknown; write it in a file")
            return
        text = textwrap.dedent("".join(lines))
        tree = ast.parse(text).body[0]
        if not isinstance(tree, ast.FunctionDef):
            self._problems.append(f"{file}, line {first}: {function.__name__} is not a function")
            return
        head = tree.lineno - 1
        self._open.add(name)
        added = self._functions[name] = _Function(file, first + head)
        rows = text.splitlines()
        this = tree.args.args[0].arg if of_policy and tree.args.args else None
        found = _Reading(self, this, f"{file}, line", first - 1)
        found.visit(tree)
        self._add_globals(tree, function, found)
        for row, begin, end, new in sorted(found.edits, reverse=True):
            line = rows[row].encode()
            rows[row] = (line[:begin] + new.encode() + line[end:]).decode()
        for row, statement in reversed(found.more):
            indent = rows[row][: -len(rows[row].lstrip())]
            rows[row] = f"{indent}{statement}\n{rows[row]}"
        rows[head] = re.sub(r"def\s+\w+", f"def {name}", rows[head], count=1)
        added.lines = rows[head : tree.end_lineno]
        self._problems += found.problems
        self._own = found.own | self._own
        self.attributes |= found.attributes
        self.draws |= found.draws
        self.memoryless &= not (found.changes or found.draws)
        for method in found.methods:
            self._add_method(method)
        self._open.remove(name)

    def _add_globals(self, tree: ast.FunctionDef, function: FunctionType, found: _Reading) -> None:
        """Add the functions, modules and numbers to which a function refers."""
        scope = references(function)
        for node in found.names:
            if node.id not in scope:
                if not hasattr(builtins, node.id) and node.id not in found.local:
                    found.problem(node, f"{node.id} is unknown")
                continue
            value = getattr(scope[node.id], "py_func", scope[node.id])  # if Numba has compiled it
            if isinstance(value, FunctionType):
                self._add(node.id, value)
                continue
            constant = _constant(value)
            if constant is None:
                kind = type(value).__name__
                found.problem(node, f"{node.id} is {kind}; use numbers, modules and functions")
            elif self._constants.setdefault(node.id, constant) != constant:
                found.problem(node, f"{node.id} differs between files")

    def _add_state(self, name: str, place: str) -> None:
        """Add an attribute of the policy to its state."""
        value = getattr(self._policy, name, None)
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.empty(0, object)
        kind = {"b": "<i8", "i": "<i8", "u": "<i8", "f": "<f8"}.get(array.dtype.kind)
        if kind is None or not array.size:
            self._problems.append(
                f"{place}: attribute {name} is {type(value).__name__}; use numbers, and arrays of "
                "numbers"
            )
        else:
            self.state[name] = np.array(array, kind, order="C")


class _Reading(ast.NodeVisitor):
    """What a function contains.

    Attributes:
        own, methods: attributes of the policy that it uses, and where; and methods.
        attributes: names of all attributes that it uses.
        changes: whether it stores into attributes or items.
        draws: whether it draws random numbers.
        names, local: the names that it reads, and those that it assigns.
        edits: calls of methods and of `view.random.random()` as calls of functions, and a limit in
            the conditions of `while` loops.
        more: lines before which statements are added, from 0, and these statements.
        problems: what Numba does not compile.
    """

    def __init__(self, source: PolicySource, this: str | None, place: str, before: int) -> None:
        self.own: dict[str, str] = {}
        self.methods: list[str] = []
        self.attributes: set[str] = set()
        self.changes = self.draws = False
        self.names: list[ast.Name] = []
        self.local: set[str] = set()
        self.edits: list[Edit] = []
        self.more: list[tuple[int, str]] = []
        self.problems: list[str] = []
        self._source, self._this = source, this
        self._place, self._before = place, before

    def problem(self, node: ast.expr | ast.stmt, what: str) -> None:
        """Add a reason."""
        self.problems.append(f"{self._at(node)}: {what}")

    def _at(self, node: ast.expr | ast.stmt) -> str:
        """Return the place of a node."""
        return f"{self._place} {self._before + node.lineno}"

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr | ast.stmt) and type(node) in UNSUPPORTED:
            self.problem(node, UNSUPPORTED[type(node)])
        super().generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self.local.add(node.arg)  # without its annotation

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        node.decorator_list, node.returns = [], None
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.names.append(node)
        else:
            self.local.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._check_store(target, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._check_store(node.target, node.value, isinstance(node.op, ast.Div))
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        turns, test, first = f"_turns_{node.lineno}", node.test, node.body[0]
        assert test.end_lineno is not None
        assert test.end_col_offset is not None
        self.more.append((node.lineno - 1, f"{turns} = 0"))
        self._insert(test.lineno, test.col_offset, f"goes_on({turns}) and (")
        self._insert(test.end_lineno, test.end_col_offset, ")")
        if first.lineno > test.end_lineno:
            self.more.append((first.lineno - 1, f"{turns} += 1"))
        else:
            self._insert(first.lineno, first.col_offset, f"{turns} += 1; ")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        for side in (node.left, node.right):
            if isinstance(self._value(side), list | tuple):
                self.problem(node, "arithmetic with a list, which is an array here; write a loop")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left.value if isinstance(node.left, ast.Subscript) else None
        identity = isinstance(node.ops[0], ast.Is | ast.IsNot)
        if identity and isinstance(left, ast.Attribute) and left.attr == "heads":
            self.problem(node, "heads are never None; check view.waiting")
        self.generic_visit(node)

    def _value(self, node: ast.expr) -> object:
        """Return the initial value of an attribute of the policy; None for anything else."""
        if isinstance(node, ast.Attribute) and self._is_policy(node.value):
            return getattr(self._source._policy, node.attr, None)
        return None

    def _check_store(self, target: ast.expr, value: ast.expr, divides: bool = False) -> None:
        """Note a store that changes what an attribute is."""
        before = self._value(target)
        if before is None:
            return
        if not isinstance(before, bool | int | float | np.generic):
            self.problem(target, "an array as a whole; change its items")
        elif isinstance(before, bool | int | np.integer) and (divides or self._is_fraction(value)):
            self.problem(target, "a fraction in a whole number; let it begin as 0.0")

    def _is_fraction(self, value: ast.expr) -> bool:
        """Return whether a value looks like one with a fraction."""
        for node in ast.walk(value):
            if isinstance(node, ast.Compare | ast.Call) and not _is_random(node):
                return False  # a truth value, or the answer of a function
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                return True
            if isinstance(node, ast.Constant) and isinstance(node.value, float):
                return True
            if isinstance(node, ast.Attribute) and node.attr in ("time", "arrival", "estimate"):
                return True
            if isinstance(self._value(node) if isinstance(node, ast.expr) else None, float):
                return True
        return False

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.changes |= isinstance(node.ctx, ast.Store)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.attributes.add(node.attr)
        self.changes |= not isinstance(node.ctx, ast.Load)
        if self._is_policy(node.value):
            self.own.setdefault(node.attr, self._at(node))
        if node.attr == "random":  # not called, or it would have been replaced
            self.problem(node, "random numbers other than view.random.random()")
        sees_jobs = getattr(self._source._policy, "sees_jobs", False)
        if node.attr in ("queue", "in_service") and not sees_jobs:
            self.problem(node, f"{node.attr} requires sees_jobs = True")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        func = node.func
        if isinstance(func, ast.Name) and func.id in ("min", "max", "sorted") and node.keywords:
            self.problem(node, f"{func.id} with key or default; write a loop")
        if isinstance(func, ast.Attribute):
            value = func.value
            if self._is_policy(value) and self._source._has_method(func.attr):
                assert isinstance(value, ast.Name)
                more = ", " if node.args or node.keywords else ""
                call = f"_method_{func.attr}({value.id}{more}"  # with the bracket that follows
                self._edit(func, 1, call)
                self.methods.append(func.attr)
                for each in [*node.args, *node.keywords]:
                    self.visit(each)
                return
            if isinstance(value, ast.Attribute) and value.attr == "random":
                if func.attr != "random" or node.args or node.keywords:
                    self.problem(node, f"view.random.{func.attr}; use view.random.random()")
                self._edit(node, 0, f"draw({ast.unparse(value.value)})")
                self.draws = True
                return
        self.generic_visit(node)

    def _is_policy(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self._this

    def _insert(self, line: int, column: int, new: str) -> None:
        self.edits.append((line - 1, column, column, new))

    def _edit(self, node: ast.expr, more: int, new: str) -> None:
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            self.problem(node, "a call over several lines; write it in one line")
            return
        self.edits.append((node.lineno - 1, node.col_offset, node.end_col_offset + more, new))


def _is_random(node: ast.AST) -> bool:
    """Return whether a node is a call `view.random.random()`."""
    func = node.func if isinstance(node, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr == "random"


def _constant(value: object) -> str | None:
    """Return a number, a tuple or array of numbers, or a module as code; None for anything else."""
    if isinstance(value, ModuleType):
        return f"__import__({value.__name__!r}, fromlist=['_'])"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if isinstance(value, tuple):
        parts = [_constant(each) for each in value]
        known = [part for part in parts if part is not None]
        return f"({''.join(f'{part}, ' for part in known)})" if len(known) == len(parts) else None
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return f"numpy.array({value.tolist()!r}, {value.dtype.str!r})"
    return None
