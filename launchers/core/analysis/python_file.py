"""What the content of one Python file says, found out once a process, however many plans ask."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cached_property

from launchers.core.analysis.python_imports import Import, imports, literal, near_imports
from launchers.core.analysis.python_names import Reference, names_used, references
from launchers.core.source.by_content import ByContent


class PythonFile:
    """What the content of a Python file says, as far as it was asked for. Nothing that it gives
    may be changed: others have the same.

    Args:
        content: All of it.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._held: dict[re.Pattern[bytes], bool] = {}

    def holds(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether ``pattern`` matches anywhere in it."""
        if pattern not in self._held:
            self._held[pattern] = bool(pattern.search(self.content))
        return self._held[pattern]

    @cached_property
    def parsed(self) -> ast.Module | SyntaxError | None:
        """The syntax tree, or why this Python reads none; None where it is nested too deep."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the user's own escapes and comparisons
                return ast.parse(self.content)
        except SyntaxError as error:
            return error
        except ValueError as error:  # a null byte, before Python 3.12
            return SyntaxError(str(error))
        except (RecursionError, MemoryError):  # nested deeper than this Python reads
            return None

    @property
    def tree(self) -> ast.Module | None:
        """The syntax tree; None where there is none."""
        return self.parsed if isinstance(self.parsed, ast.Module) else None

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, the outer ones first; none where there is none."""
        return list(ast.walk(self.tree)) if self.tree is not None else []

    @cached_property
    def docstrings(self) -> dict[int, str]:
        """Strings that stand alone, by the identity of their node."""
        return {
            id(node.value): literal(node.value) or ""
            for node in self.nodes
            if isinstance(node, ast.Expr) and literal(node.value) is not None
        }

    @cached_property
    def imports(self) -> list[Import]:
        """Its imports by the tree; none where there is none."""
        return imports(self.tree) if self.tree is not None else []

    @cached_property
    def near_imports(self) -> list[Import]:
        """Its imports by its lines, without parsing it: all that there are, and perhaps more."""
        return near_imports(self.content)

    @cached_property
    def names(self) -> dict[str, int]:
        """Every dotted name that its code imports or uses -> its first line."""
        return names_used(self.tree) if self.tree is not None else {}

    @cached_property
    def references(self) -> list[Reference]:
        """Every place where its code uses a name."""
        return references(self.tree) if self.tree is not None else []


python_file = ByContent(PythonFile)
"""The file of a content: the one that this process has read already, or a new one."""
