"""The source of a document that something else made: what `--source` stands for, and what it says
about the document's ranks."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from launchers.core.analysis.facts import facts_in
from launchers.core.analysis.own_start import own_start
from launchers.core.analysis.strategy_reader import AUTO, read, sight_of
from launchers.core.analysis.strategy_search import SEEN
from launchers.core.catalogue import RULES
from launchers.core.model.jobs import Copies, Examined
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.planning.plan import spread
from launchers.core.source.texts import SourceTexts
from launchers.core.source.tree import read_tree
from launchers.core.strategies import FIRST, named

# Of an archive's files that are no Python, so much is read.
_OTHERS_BYTES = 1_000_000
_OURS = "src/"


def source_problems(found: Examined, source: str, strategy: str | None = None) -> list[Problem]:
    """What the source of a document's code says about its ranks. Reads it; changes nothing.

    In a document that does not carry LAUNCH_WORLD_SIZE an error is a warning: its ranks may be
    meant to find each other in another way.

    Args:
        source: A folder, or a tar.
        strategy: ``--strategy``.

    Raises:
        LaunchError: There is no such folder or tar.
    """
    texts, left_out = _texts_in(Path(source).expanduser())
    world_size = found.carried or found.definition.world_size
    if world_size < 2 or not found.program:
        return []
    script = _script(found.program, texts)
    facts = facts_in(texts, script) if script else None
    if facts is None:
        return [_not_there(source, found.program)]
    said = found.program[1:]
    started = found.definition.strategy or FIRST
    problems = read(facts, world_size, strategy, said, left_out, alone="", started=started).problems
    if found.carried is not None:
        return list(problems)
    return [replace(one, severity="warning") for one in problems]


def with_source(found: Examined, source: str, strategy: str | None = None) -> Examined:
    """What a document starts, by what the source of its program shows. Reads it; changes nothing.

    Where the program starts or joins ranks by itself, nobody can tell how many; a world size that
    the document does not start is then no error.

    Args:
        source: A folder, or a tar.
        strategy: ``--strategy``.

    Raises:
        LaunchError: There is no such folder or tar.
    """
    if found.copies is not None:
        return _of_copies(found, found.copies, source, strategy)
    if not found.alone:
        return found
    texts, _ = _texts_in(Path(source).expanduser())
    script = _script((found.alone,), texts)
    if not script:
        return replace(found, problems=(*found.problems, _not_there(source, (found.alone,))))
    sign = own_start(texts, found.told)
    if not sign:
        because = f"{script} runs once, and nothing in its source starts more"
        return found if found.started is not None else replace(found, started=1, because=because)
    problems = tuple(
        replace(one, severity="unknown") if _is_about_alone(one) else one for one in found.problems
    )
    because = f"{sign}, so {script} may start or join ranks by itself"
    return replace(found, problems=problems, started=None, because=because)


def _is_about_alone(problem: Problem) -> bool:
    # Two numbers that are said and differ stay an error.
    is_size = problem.rule == "world-size" and problem.severity == "error"
    return is_size and not problem.path.startswith("--")


def _of_copies(found: Examined, copies: Copies, source: str, strategy: str | None) -> Examined:
    """Of a plain program on several hosts: MultiWorkerMirroredStrategy makes one world of them, by
    TF_CONFIG. Horovod makes none: without a launcher hvd.init() gives each a world of its own,
    unless the script starts ranks itself."""
    # A provider's answer may have given way to an unknown value of a wrapping.
    if found.started is not None or found.because != copies.because:
        return found
    texts, left_out = _texts_in(Path(source).expanduser())
    script = _script(copies.program, texts)
    facts = facts_in(texts, script) if script else None
    if facts is None:
        problem = _not_there(source, copies.program)
        return replace(found, problems=(*found.problems, problem))
    sight = sight_of(facts, copies.program[1:], left_out)
    is_seen = sight.kind == SEEN and sight.strategy == FIRST
    if strategy == FIRST or (is_seen and strategy in (None, AUTO)):
        why = sight.why if is_seen else f"--strategy {FIRST}"
        because = (
            f"{named(FIRST).title} ({why}) and no launcher on {copies.hosts} hosts: each is a "
            "world of its own, unless the script starts ranks itself"
        )
        return replace(found, because=because)
    used = [(sight.other, sight.other_use), *((one.use.title, one.why) for one in sight.places)]
    for title, use in used:
        if title == _BY_TF_CONFIG:
            because = f"{title} ({use}) over {spread(copies.hosts, 1)}"
            return replace(found, started=copies.hosts, because=because)
    return found


# Its hosts find each other by a variable that the services set.
_BY_TF_CONFIG = "MultiWorkerMirroredStrategy"


def _texts_in(source: Path) -> tuple[SourceTexts, frozenset[str]]:
    """The files, and the top-level modules that stay behind."""
    if source.is_dir():
        root = source.resolve()
        tree = read_tree(root)
        names = {left.path.partition("/")[0].partition(".")[0] for left in tree.left_out}
        return SourceTexts({file.path: root / file.path for file in tree.files}), frozenset(names)
    if not source.is_file() or not tarfile.is_tarfile(source):
        found = "no such file or folder" if not source.exists() else "neither a folder nor a tar"
        raise LaunchError(
            RULES["rehearsal-source"].at(f"--source {source}", found, "a folder, or a .tar.gz")
        )
    contents = {}
    with tarfile.open(source) as archive:
        for member in archive:
            if member.isfile():
                stream = archive.extractfile(member)
                path = member.name.removeprefix("./")
                at_most = -1 if path.endswith(".py") else _OTHERS_BYTES
                contents[path] = stream.read(at_most) if stream is not None else b""
    if "guard.py" in contents and any(path.startswith(_OURS) for path in contents):
        # A bundle of ours: the user's tree lies below src/.
        contents = {
            path.removeprefix(_OURS): content
            for path, content in contents.items()
            if path.startswith(_OURS)
        }
    return SourceTexts(contents=contents), frozenset()


def _script(program: Sequence[str], texts: SourceTexts) -> str:
    """The file of the tree that the words run, or an empty string. A path in the image counts by
    its end: ``/app/jobs/train.py`` is ``jobs/train.py`` or ``train.py`` of the source."""
    if program[0] == "-m" and len(program) > 1:
        path = program[1].replace(".", "/")
        candidates = [f"{path}.py", f"{path}/__main__.py"]
    else:
        parts = PurePosixPath(program[0]).parts
        candidates = ["/".join(parts[at:]) for at in range(len(parts))]
    return next((path for path in candidates if path in texts), "")


def _not_there(source: str, program: Sequence[str]) -> Problem:
    named = " ".join(program[:2]) if program[0] == "-m" else program[0]
    return RULES["source-of-document"].at(
        f"--source {source}", f"no {named}, which the document runs"
    )
