"""The specs of jobs in a file that another tool made, and what each of them says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.credentials.elsewhere import problems_anywhere
from launchers.core.model.jobs import Examined
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.model.unknown import Unknown, unknowns_in
from launchers.core.reading.text_file import read_trees
from launchers.core.reading.wrong_values import whole_shown
from launchers.core.reading.yaml_values import Intrinsic
from launchers.core.registry import providers_with
from launchers.core.roles import SIZE, Reader
from launchers.core.wrappings import settling
from launchers.core.wrappings.finding import Finder, nested
from launchers.core.wrappings.places import joined, steps_of
from launchers.core.wrappings.spec import Spec as Spec
from launchers.core.wrappings.texts import short


def read_specs(file: str, job: str = "") -> list[Spec]:
    """Every spec in ``file``, in the order in which they stand there; at least one.

    Args:
        file: A path, or ``-`` for standard input.
        job: The place of the one that is meant (``--job``), or of what holds it.

    Raises:
        LaunchError: It cannot be read, or holds no spec that we know; says where one would lie.
    """
    return specs_in(read_trees(file), file, job)


def specs_in(trees: Sequence[Any], file: str, job: str = "") -> list[Spec]:
    """The same of a file's parsed documents: a YAML stream may have several, whose places begin
    with ``$[0]``, ``$[1]``."""
    finder = Finder(_readers(), _unknown)
    filled = [tree for tree in trees if tree is not None] or [None]
    root: Any = filled[0] if len(filled) == 1 else list(trees)
    if not isinstance(root, (dict, list)) or not root:
        found = "nothing" if root in (None, {}, []) else whole_shown(root)
        raise LaunchError(RULES["file-shape"].at(file, found, f"an object: {_known()}"))
    if job:
        return _chosen(finder, root, file, job)
    found_specs = finder.specs(root)
    if not found_specs:
        raise LaunchError(_nothing(finder, root, file))
    return found_specs


def examine(spec: Spec, world_size: int | None = None) -> Examined:
    """Every rule that a spec breaks, with its places in the file, and what it starts.

    What depends on a value that is not known here is not told, but for a credential that stands
    beside the expression for it.

    Args:
        world_size: What the caller expects, where it says so.
    """
    reader = _readers()[spec.provider]
    found = reader.examine(spec.document, world_size)
    found = settling.settled(spec, found, reader.depends_on, SIZE)
    return replace(found, problems=(*found.problems, *_credentials(spec)))


def _credentials(spec: Spec) -> Iterator[Problem]:
    """A problem for each expression of another tool in which a credential stands as it is."""
    for steps, unknown in unknowns_in(spec.document):
        yield from problems_anywhere(unknown.text, spec.places.of(joined("$", *steps)))


def open_size(spec: Spec) -> str:
    """Which unknown value keeps anybody from saying how many hosts and ranks a spec starts; empty
    where none does."""
    return settling.open_size(spec, _readers()[spec.provider].depends_on.get(SIZE, ()))


def _chosen(finder: Finder, root: Any, file: str, job: str) -> list[Spec]:
    """Those at the place ``job``, or in what lies there."""
    place = job if job.startswith("$") else f"$.{job}"
    steps, rest = steps_of(place)
    every = finder.specs(root) or []
    wanted = [spec for spec in every if steps_of(spec.place)[0][: len(steps)] == steps]
    if wanted and not rest:
        return wanted
    part: Any = root
    for step in steps:
        inside = isinstance(part, dict) if isinstance(step, str) else isinstance(part, list)
        known = inside and (step in part if isinstance(part, dict) else int(step) < len(part))
        part = part[step] if known else None
    found = finder.specs(part, joined("$", *steps)) if part and not rest else None
    if not found:
        places = ", ".join(spec.place for spec in every[:8])
        expected = f"the place of a job in {file}"
        fix = f"it has {places}" if places else ""
        raise LaunchError(RULES["job-place"].at("--job", job, expected, fix))
    return found


def _nothing(finder: Finder, root: Any, file: str) -> Problem:
    """What is said of a file in which nothing is known."""
    lacking = finder.lacking(root)
    if lacking:
        return RULES["file-shape"].at(file, lacking, _known())
    if isinstance(root, dict) and "nbformat" in root:
        fix = "save the request that its cells send, and check that"
        return RULES["file-shape"].at(
            file, "a notebook, which makes its request as it runs", _known(), fix
        )
    if _is_job_file(root):
        fix = f"`launch PROVIDER -f {file} --dry-run` runs every rule on it, and prints the request"
        return RULES["file-shape"].at(file, "a launch.yaml, not a request", _known(), fix)
    keys = ", ".join(str(key) for key in list(root)[:4]) if isinstance(root, dict) else ""
    found = f"the keys {keys}" if keys else "a list of something else"
    where = nested(finder, root)
    fix = f"what lies at {where} looks like one: --job '{where}' takes it" if where else ""
    return RULES["file-shape"].at(file, found, _known(), fix)


def _is_job_file(root: Any) -> bool:
    """Whether it is a launch.yaml: all keys are ours, and one names a script."""
    if not isinstance(root, dict) or not {"script", "module"} & {*root}:
        return False
    from launchers.core.reading.job_file import schema

    return {*root} <= {*schema()["properties"]}


def _known() -> str:
    titles = " or ".join(f"a {reader.document_title}" for reader in _readers().values())
    return f"{titles}, or a document of another tool with one in it"


def _readers() -> dict[str, Reader]:
    return providers_with(lambda one: one.reader)


def _unknown(value: Any) -> Unknown | None:
    """A value that CloudFormation fills in: ``!Ref`` and its like in YAML, ``Fn::`` in JSON."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(key, inner)] = value.items()
    if isinstance(value, Intrinsic) or str(key).startswith("Fn::"):
        words = inner if isinstance(inner, str) else "..."
        return Unknown(short(f"!{str(key).removeprefix('Fn::')} {words}"))
    return None
