"""The mutants of a module: its source with one operator, number, constant or loop changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What a mutant changes, in Cosmic Ray's names. Left out: `==` to `is` (the same for what Python
# keeps once), decorators (without one a module mostly cannot be imported), exceptions (its operator
# fails on dotted names) and made-up variables.
_COMPARISONS = {
    "Eq": ("NotEq", "Lt", "GtE"),
    "NotEq": ("Eq", "Gt"),
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
}
_ARITHMETIC = {"Add": "Sub", "Sub": "Add", "Mul": "FloorDiv", "Div": "Mul", "Mod": "Mul"}
OPERATORS = (
    *(f"ReplaceComparisonOperator_{a}_{b}" for a, others in _COMPARISONS.items() for b in others),
    *(f"ReplaceBinaryOperator_{a}_{b}" for a, b in _ARITHMETIC.items()),
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "NumberReplacer",
    "ZeroIterationForLoop",
)


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Attributes:
        path: The module, from the repository's root.
        operator: Cosmic Ray's name of the change.
        occurrence: Which of the module's places it changes, from 0.
        source: The whole module with the fault.
    """

    path: str
    operator: str
    occurrence: int
    source: str

    def __str__(self) -> str:
        return f"{self.path} {self.operator}#{self.occurrence}"

    def lines(self, root: Path) -> set[int]:
        """The module's lines, from 1, of the statement that is another now: of a compound one its
        head alone."""
        before = (root / self.path).read_text("utf-8")
        pairs = zip(before.splitlines(), self.source.splitlines(), strict=False)
        changed = next(number for number, (a, b) in enumerate(pairs, start=1) if a != b)
        around = [
            lines
            for node in ast.walk(ast.parse(before))
            if isinstance(node, ast.stmt) and changed in (lines := _head(node))
        ]
        return set(min(around, key=len)) if around else {changed}


@dataclass(frozen=True)
class Place:
    """Where a module can be changed; what comes out may still mean the same."""

    path: str
    operator: str
    occurrence: int


def places_of(root: Path, path: str) -> Iterator[Place]:
    """Every place of a module that an operator changes."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    nodes = list(ast_nodes(get_ast((root / path).read_text("utf-8"))))
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        found = sum(1 for node in nodes for _ in operator.mutation_positions(node))
        yield from (Place(path, name, occurrence) for occurrence in range(found))


def mutant_at(root: Path, place: Place) -> Mutant | None:
    """The mutant of a place; None where it means the same as the module, or cannot be compiled."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    code = (root / place.path).read_text("utf-8")
    operator = get_operator(f"core/{place.operator}")()
    source = mutate_code(code, operator, place.occurrence)
    if source is None or _meaning(source) in (None, _meaning(code)) or _orders_words(code, source):
        return None
    return Mutant(place.path, place.operator, place.occurrence, source)


def _meaning(source: str) -> str | None:
    """The program without annotations, which nothing here evaluates, without a dataclass's promise
    to be frozen, which changes nothing that the program does, and without the length at which a
    text is cut for a reader; None where it is no program."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    return ast.dump(_Bare().visit(tree))


def _head(node: ast.stmt) -> range:
    body = getattr(node, "body", None)
    return range(node.lineno, body[0].lineno if body else (node.end_lineno or node.lineno) + 1)


def _orders_words(code: str, source: str) -> bool:
    """Whether `==` of two words became `<` or the like, which depends on the alphabet alone."""
    for before, after in zip(ast.walk(ast.parse(code)), ast.walk(ast.parse(source)), strict=False):
        if isinstance(before, ast.Compare) and isinstance(after, ast.Compare):
            changed = type(before.ops[0]) is not type(after.ops[0])
            if changed and isinstance(before.ops[0], (ast.Eq, ast.NotEq)):
                ordered = not isinstance(after.ops[0], (ast.Eq, ast.NotEq))
                return ordered and any(map(_is_word, (before.left, *before.comparators)))
    return False


def _is_word(node: ast.expr) -> bool:
    """A text, or a constant's name: in what is drawn from, those that are compared are texts."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.Name) and node.id.isupper()


class _Bare(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.decorator_list = []
        return self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> Any:
        if node.lower is None and isinstance(node.upper, ast.Constant):
            node.upper = None
        return self.generic_visit(node)
