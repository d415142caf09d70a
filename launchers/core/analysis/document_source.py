"""The source of a document that something else made: what `--source` stands for, and what it says
about the document's ranks."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from launchers.core.analysis.facts import SourceFacts, facts_in
from launchers.core.analysis.own_start import own_start
from launchers.core.analysis.spark_runners import problems_of_runners
from launchers.core.analysis.strategy_reader import AUTO, read, sight_of
from launchers.core.analysis.strategy_search import SEEN, Sight
from launchers.core.catalogue import RULES
from launchers.core.model.jobs import Examined, Plain
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.paths import at_home
from launchers.core.planning.plan import spread
from launchers.core.source.texts import SourceTexts
from launchers.core.source.tree import read_tree
from launchers.core.strategies import FIRST, is_another, named

# Of an archive's files that are no Python, so much is read.
_OTHERS_BYTES = 1_000_000
_OURS = "src/"


class DocumentSource:
    """A folder or a tar with the code of documents, read once, when it is first asked for.

    Args:
        where: Its path, as its user wrote it.
    """

    def __init__(self, where: str) -> None:
        self.where = where

    @cached_property
    def _read(self) -> tuple[SourceTexts, frozenset[str]]:
        return _texts_in(at_home(self.where))

    @property
    def texts(self) -> SourceTexts:
        """Its files.

        Raises:
            LaunchError: There is no such folder or tar.
        """
        return self._read[0]

    @property
    def left_out(self) -> frozenset[str]:
        """The top-level modules that stay behind; raises as :attr:`texts`."""
        return self._read[1]

    def facts(self, program: Sequence[str]) -> SourceFacts | None:
        """About the file that a program's words run; None where it is not there."""
        script = _script(program, self.texts)
        return facts_in(self.texts, script) if script else None

    def lacks(self, program: Sequence[str]) -> Problem:
        """What is said where it is not there."""
        named_as = " ".join(program[:2]) if program[0] == "-m" else program[0]
        found = f"no {named_as}, which the document runs"
        return RULES["source-of-document"].at(f"--source {self.where}", found)


def with_source(found: Examined, source: DocumentSource, strategy: str | None = None) -> Examined:
    """What a document starts, and what is wrong with it, by what the source of its program shows
    as well. Reads it; changes nothing.

    Args:
        strategy: ``--strategy``.

    Raises:
        LaunchError: There is no such folder or tar.
    """
    runners = problems_of_runners(source.texts)  # no such source is told whatever a document says
    found = _of_plain(found, found.plain, source, strategy) if found.plain else found
    if is_another(strategy or _strategy_in(found, source)):
        found = found.without_horovod()
    in_source = _source_problems(found, source, strategy)
    return replace(found, problems=(*found.problems, *in_source, *runners))


def _strategy_in(found: Examined, source: DocumentSource) -> str | None:
    """By which strategy the source is seen to join; looked for where that decides something."""
    decides = any(one.rule in found.horovods for one in found.problems)
    facts = source.facts(found.program) if decides and found.program else None
    if facts is None:
        return None
    sight = sight_of(facts, found.program[1:], source.left_out)
    return sight.strategy if sight.kind == SEEN else None


def _source_problems(
    found: Examined, source: DocumentSource, strategy: str | None
) -> list[Problem]:
    """What the source says about the ranks that the document starts.

    In a document that does not carry LAUNCH_WORLD_SIZE an error is a warning: its ranks may be
    meant to find each other in another way.
    """
    world_size = found.carried or found.definition.world_size
    if world_size < 2 or not found.program:
        return []
    facts = source.facts(found.program)
    if facts is None:
        return [source.lacks(found.program)]
    said, started = found.program[1:], found.definition.strategy or FIRST
    problems = read(
        facts, world_size, strategy, said, source.left_out, alone="", started=started
    ).problems
    if found.carried is not None:
        return list(problems)
    return [replace(one, severity="warning") for one in problems]


def _of_plain(
    found: Examined, plain: Plain, source: DocumentSource, strategy: str | None
) -> Examined:
    """Of a plain program that each host runs once: what its source starts or joins by itself."""
    # A provider's answer may have given way to an unknown value of a wrapping.
    if plain.hosts > 1 and (found.started is not None or found.because != plain.because):
        return found
    facts = source.facts(plain.program)
    if facts is None:
        return replace(found, problems=(*found.problems, source.lacks(plain.program)))
    if plain.hosts > 1:
        return _of_hosts(
            found, plain, sight_of(facts, plain.program[1:], source.left_out), strategy
        )
    sign = own_start(source.texts, plain.told)
    if not sign:
        because = f"{facts.script} runs once, and nothing in its source starts more"
        return found if found.started is not None else replace(found, started=1, because=because)
    # How many cannot be told then, and a world size that is not started is no error.
    problems = tuple(
        replace(one, severity="unknown") if _is_about_alone(one) else one for one in found.problems
    )
    because = f"{sign}, so {facts.script} may start or join ranks by itself"
    return replace(found, problems=problems, started=None, because=because)


def _is_about_alone(problem: Problem) -> bool:
    # Two numbers that are said and differ stay an error.
    is_size = problem.rule == "world-size" and problem.severity == "error"
    return is_size and not problem.path.startswith("--")


def _of_hosts(found: Examined, plain: Plain, sight: Sight, strategy: str | None) -> Examined:
    """Of one on several hosts that the provider tells of each other: MultiWorkerMirroredStrategy
    makes one world of them, by TF_CONFIG. Horovod makes none: without a launcher hvd.init() gives
    each a world of its own, unless the script starts ranks itself."""
    is_seen = sight.kind == SEEN and sight.strategy == FIRST
    if strategy == FIRST or (is_seen and strategy in (None, AUTO)):
        why = sight.why if is_seen else f"--strategy {FIRST}"
        because = (
            f"{named(FIRST).title} ({why}) and no launcher on {plain.hosts} hosts: each is a "
            "world of its own, unless the script starts ranks itself"
        )
        return replace(found, because=because)
    used = [(sight.other, sight.other_use), *((one.use.title, one.why) for one in sight.places)]
    for title, use in used:
        if title == _BY_TF_CONFIG:
            because = f"{title} ({use}) over {spread(plain.hosts, 1)}"
            return replace(found, started=plain.hosts, because=because)
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
    if not _is_tar(source):
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


def _is_tar(path: Path) -> bool:
    try:
        return path.is_file() and tarfile.is_tarfile(path)
    except OSError:  # a device, or a file of /proc, that cannot be read
        return False


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
