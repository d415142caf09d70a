"""Habits from other launchers, in a job whose ranks are started already: the script starts ranks by
itself, gets a launcher's arguments, or takes its WORLD_SIZE for a number of hosts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.python_imports import literal
from launchers.core.analysis.strategy_search import word_of
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.strategies.strategy import Strategy

_SIZE = re.compile("world_?size", re.IGNORECASE)
_OF_A_HOST = re.compile("gpu|nproc|device_count|local_size|per_node", re.IGNORECASE)
_WORTH_PARSING = re.compile(rb"spawn|start_processes|launch|torchrun|world_?size", re.IGNORECASE)


def problems_of_habits(
    facts: SourceFacts, strategy: Strategy, arguments: Sequence[str]
) -> list[Problem]:
    """A warning for each such habit, at its first place. Parses the files that may have one.

    Args:
        strategy: By what the job's ranks train; nothing is said where it knows no other launcher.
        arguments: The script's own.
    """
    if not strategy.starts:
        return []
    found = list(_in_arguments(strategy, arguments))
    for path in facts.files:
        if _WORTH_PARSING.search(facts.texts.read(path)):
            found += [*_started(facts, path, strategy), *_counted(facts, path)]
    first: dict[tuple[str, str], Problem] = {}
    for problem in found:
        first.setdefault((problem.rule, problem.fix), problem)
    return list(first.values())


def _in_arguments(strategy: Strategy, arguments: Sequence[str]) -> Iterator[Problem]:
    pattern = re.compile(rf"(?:{strategy.launcher_words})(?:=|$)")
    words = [word.partition("=")[0] for word in arguments if pattern.match(word)]
    if words:
        yield RULES["ranks-argument"].at(f"-- {words[0]}", f"{', '.join(words)} for the script")


def _started(facts: SourceFacts, path: str, strategy: Strategy) -> Iterator[Problem]:
    for one in sorted(facts.references(path), key=lambda one: one.line):
        if one.call is not None and strategy.started_by([one.name]):
            yield RULES["ranks-inside"].at(
                f"{path}:{one.line}", f"{one.name} starts ranks inside each rank of the job"
            )
            return
    command = re.compile(rf"\b(?:{strategy.launchers})(?!')")
    texts = facts.docstrings(path)
    for node in facts.nodes(path):
        word = literal(node) if id(node) not in texts else ""
        started = command.match(word or "")
        if started:
            yield RULES["ranks-inside"].at(
                f"{path}:{getattr(node, 'lineno', 1)}",
                f"{started[0].rstrip(' -')} starts ranks inside each rank of the job",
            )
            return


def _counted(facts: SourceFacts, path: str) -> Iterator[Problem]:
    """``args.world_size = ngpus_per_node * args.world_size``."""
    for node in facts.nodes(path):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = _words_in(node.left), _words_in(node.right)
            for size, other in (sides, sides[::-1]):
                if _SIZE.search(size) and _OF_A_HOST.search(other) and not _SIZE.search(other):
                    yield RULES["ranks-counted"].at(
                        f"{path}:{node.lineno}", "a world size times the GPUs of a host"
                    )
                    return


def _words_in(node: ast.AST) -> str:
    return " ".join(word_of(one) for one in ast.walk(node))
