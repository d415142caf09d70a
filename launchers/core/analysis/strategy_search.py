"""What makes a script's ranks train together, as far as its source shows: a strategy that is
started here, several, something else, nothing, or more than can be read.

What joins the ranks is looked for first, in the script and then in the files that it reaches, and
only files that hold a strategy's word are parsed. Where nothing is found, everything that is
reached is read exactly, because "nothing" is said only when nothing is left that could bring it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.python_imports import literal
from launchers.core.strategies import VARIABLE, joining
from launchers.core.strategies.strategy import Strategy, Use

SEEN, SEVERAL, OTHER, NONE, UNSEEN = "seen", "several", "other", "none", "unseen"


@dataclass(frozen=True)
class Place:
    """Where the ranks are seen to join.

    Attributes:
        why: As a phrase: ``train.py:3 imports horovod.torch``.
    """

    strategy: Strategy
    use: Use
    why: str


@dataclass(frozen=True)
class Sight:
    """What was seen.

    Attributes:
        kind: One of the words above.
        strategy: Its name, where one was seen; of ``unseen`` one that is used and not seen to join.
        why: Where that was seen, as a phrase. Of ``unseen`` what could not be followed, or nothing.
        other: The title of what is used, where it is not seen to join or is not started here.
        other_use: Where, as ``why``.
        instead: What to do with that one.
        places: Of ``seen`` and ``several``: where each joins.
        files: How many files were read.
    """

    kind: str
    strategy: str = ""
    why: str = ""
    other: str = ""
    other_use: str = ""
    instead: str = ""
    places: tuple[Place, ...] = ()
    files: int = 1


def seen(facts: SourceFacts, said: Sequence[str] = ()) -> Sight | None:
    """Where the source is seen to join its ranks; failing that, where its code or what is said
    has a strategy's word. None where there is neither. Parses the files that it must.

    Args:
        said: The script's arguments and the job's variables, which may choose a strategy.
    """
    strategies = joining()
    places = [place for one in strategies if (place := first_place(facts, one)) is not None]
    chosen = [one.name for one in strategies if any(one.is_word(_value(word)) for word in said)]
    asker = _asks_the_launcher(facts) if places else ""
    yields = bool(places) and not asker and all(place.use.yields for place in places)
    if yields and (chosen or _is_named(facts, strategies)):
        return _mentioned(facts, strategies, said)
    if not asker:
        places = [one for one in places if not one.use.yields] or places
    places = [one for one in places if one.strategy.name in chosen] or places
    if len(places) > 1 and not asker:
        return Sight(SEVERAL, places=tuple(places))
    if len(places) > 1:
        # What needs no other library than its framework stands behind Horovod.
        others = " or ".join(f"--strategy {place.strategy.name}" for place in places[:-1])
        why = f"{places[-1].why}; {asker} reads {VARIABLE}, so {others} goes as well"
        places[-1] = replace(places[-1], why=why)
        return Sight(SEEN, places[-1].strategy.name, why, places=tuple(places))
    for place in places:
        return Sight(SEEN, place.strategy.name, place.why, places=(place,))
    return _mentioned(facts, strategies, said)


def all_known(facts: SourceFacts) -> bool:
    """Whether the lines of what is reached import nothing but the tree's own and packages that
    are known to join nothing. Parses nothing."""
    from launchers.core.analysis.without_horovod import packages_without_horovod

    known = packages_without_horovod()
    for path in facts.files:
        for one in facts.near_imports(path):
            if one.level or one.path or one.module.partition(".")[0] in known:
                continue
            if (
                not facts.modules.find(one, path).files
                and not facts.modules.find_anywhere(one).files
            ):
                return False
    return True


def first_place(facts: SourceFacts, strategy: Strategy) -> Place | None:
    """The first file in which the ranks join by ``strategy``, and where."""
    for path in dict.fromkeys([facts.script, *facts.files]):
        if facts.holds(path, strategy.may_join):
            for use in strategy.uses:
                why = _imported(facts, path, use) if use.by_import else _joined(facts, path, use)
                if why:
                    return Place(strategy, use, why)
    return None


def _asks_the_launcher(facts: SourceFacts) -> str:
    """The file whose code reads by which strategy the launcher has started it, or an empty string:
    such a script trains by whichever that is."""
    for path in facts.files:
        nodes = facts.nodes(path) if VARIABLE.encode() in facts.texts.read(path) else []
        if any(literal(node) == VARIABLE for node in nodes):
            return path
    return ""


def _imported(facts: SourceFacts, path: str, use: Use) -> str:
    """Where the code of a file imports it, or an empty string."""
    found = [(line, name) for name, line in facts.names(path).items() if use.shown_by([name])]
    if not found:
        return ""
    line, name = min(found)
    return f"{path}:{line} imports {name}"


def _joined(facts: SourceFacts, path: str, use: Use) -> str:
    """Where the code of a file uses what joins a world, or an empty string; not where that is told
    to train by another strategy, ``Trainer(strategy="horovod")``."""
    found = [
        (one.line, one.name, "uses" if one.call is None else "calls")
        for one in facts.references(path)
        if use.joined_by([one.name]) and not (one.call is not None and _names_another(one.call))
    ]
    if not found:
        return ""
    line, name, verb = min(found)
    return f"{path}:{line} {verb} {name}"


def _names_another(call: ast.Call) -> bool:
    words = " ".join(word_of(node) for node in ast.walk(call)).encode("utf-8", "replace")
    return any(one.mentioned_in(words) for one in joining())


def _is_named(facts: SourceFacts, strategies: Sequence[Strategy]) -> bool:
    """Whether a name that the code imports has a strategy's word in it."""
    return any(
        one.mentioned_in(facts.texts.read(path))
        and any(one.mentioned_in(name.encode("utf-8", "replace")) for name in facts.names(path))
        for one in strategies
        for path in facts.files
    )


def _mentioned(
    facts: SourceFacts, strategies: Sequence[Strategy], said: Sequence[str]
) -> Sight | None:
    for one in strategies:
        for path in facts.files if one.mention else ():
            found = mention(facts, path, one)
            if found:
                return Sight(SEEN, one.name, found)
        for word in said:
            if one.mentioned_in(word.encode("utf-8", "replace")):
                return Sight(SEEN, one.name, f"named in {word[:40]!r}")
    return None


def _value(word: str) -> str:
    """``horovod`` of ``--backend=horovod``."""
    return word.rpartition("=")[2]


def mention(facts: SourceFacts, path: str, strategy: Strategy) -> str:
    """Where the code of a file has the word of ``strategy``, or an empty string. Comments and
    docstrings name nothing; any other string does, since it may be a setting."""
    if not strategy.mentioned_in(facts.texts.read(path)):
        return ""
    if facts.tree(path) is None:
        return f"{path} names it"
    texts = facts.docstrings(path)
    for node in facts.nodes(path):
        word = "" if id(node) in texts else word_of(node)
        if word and strategy.mentioned_in(word.encode("utf-8", "replace")):
            shown = repr(word[:40]) if isinstance(node, ast.Constant) else word
            return f"{path}:{getattr(node, 'lineno', 1)} has {shown}"
    return ""


def word_of(node: ast.AST) -> str:
    """The name or the string that a node itself holds."""
    if isinstance(node, ast.Constant):
        value = node.value
        return value.decode("latin-1") if isinstance(value, bytes) else str(value)
    for attribute in ("id", "attr", "name", "arg", "module"):
        word = getattr(node, attribute, None)
        if isinstance(word, str):
            return word
    return " ".join(getattr(node, "names", [])) if isinstance(node, ast.Global) else ""
