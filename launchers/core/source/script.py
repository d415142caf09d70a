"""Which folder travels and which script in it runs, the same on every provider."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.paths import at_home, entrypoints_folder, shortest, straight
from launchers.core.source.bundle import Progress, SourceBundle, scan
from launchers.core.source.python_module import find_module
from launchers.core.spec.job import SHARED_SCRIPT, JobSpec

SHARED_SCRIPTS = "train_"  # with which the names begin of those that come with the launcher


@dataclass(frozen=True)
class Source:
    """A source folder and the script in it.

    Attributes:
        folder: Absolute.
        script: The file that runs, relative to ``folder``, with forward slashes.
        shared: Whether it is a training script that comes with the launcher, by default or
            because its path was given.
        module: The name by which ``python -m`` runs it in ``folder``, or "" for a script.
    """

    folder: Path
    script: str
    shared: bool = False
    module: str = ""

    @property
    def program(self) -> tuple[str, ...]:
        """What stands before the arguments where agent or guard are started."""
        return ("-m", self.module) if self.module else (self.script,)

    @property
    def has_requirements(self) -> bool:
        """Whether a requirements.txt lies in the folder, asked for or not."""
        return not self.shared and (self.folder / "requirements.txt").is_file()


@dataclass(frozen=True, kw_only=True)
class JobSource(Source):
    """The source of one job, read once: what is planned is what is sent.

    Attributes:
        requirements: The file of ``--requirements``, absolute, or None.
        bundle: What travels, its hash, and what stops it from travelling.
        problems: Of the script.
        requirements_problems: Of that file.
    """

    requirements: Path | None = None
    bundle: SourceBundle
    problems: tuple[Problem, ...] = ()
    requirements_problems: tuple[Problem, ...] = ()

    @property
    def user_files(self) -> list[Path]:
        """The files of the user's tree that are in the bundle, where they lie."""
        return [file.origin for file in self.bundle.files if file.name.startswith("src/")]


def read_source(job: JobSpec, told: Progress | None = None) -> JobSource:
    """Reads every file of ``job``'s source; changes nothing. ``told`` hears how far it is.

    A tree that is too large to travel has no hash of its contents; names, sizes and times of its
    files serve instead, for a job that runs where they lie.
    """
    source, problems = locate(job)
    requirements, more = _requirements_file(job)
    # What is missing is told once, by whoever looked for it first.
    bundle = scan(
        source.folder,
        entrypoints_folder(),
        None if more else requirements,
        allowed=job.allow_values,
        told=told,
    )
    if any(problem.rule == "source-missing" for problem in problems):
        left = tuple(problem for problem in bundle.problems if problem.rule != "source-folder")
        bundle = replace(bundle, problems=left)
    if not bundle.sha256:
        digest = hashlib.sha256()
        for file in bundle.files:
            modified = file.origin.lstat().st_mtime_ns
            digest.update(f"{file.name}\0{file.size}\0{modified}\n".encode())
        bundle = replace(bundle, sha256=digest.hexdigest())
    return JobSource(
        source.folder,
        source.script,
        source.shared,
        source.module,
        requirements=requirements,
        bundle=bundle,
        problems=tuple(problems),
        requirements_problems=tuple(more),
    )


def locate(job: JobSpec) -> tuple[Source, list[Problem]]:
    """The source of ``job``; reads the folder, changes nothing.

    SCRIPT is a path from the working folder or from ``--source``. Without SCRIPT it is the shared
    training script, unless ``-m`` names a module in ``--source``, which is the working folder
    where nothing is said.
    """
    if job.module is not None:
        return _located_module(job, job.module)
    if job.script is None:
        if job.source is not None:
            return Source(Path(job.source), ""), [
                RULES["script-missing"].at(
                    "SCRIPT",
                    "none",
                    "the script in --source that runs",
                    f"name it: {job.source.rstrip('/')}/train.py",
                )
            ]
        return Source(entrypoints_folder(), SHARED_SCRIPT, shared=True), []
    script = at_home(job.script)
    if job.source is not None:
        folder = at_home(job.source)
        if not folder.is_dir():
            return Source(folder.absolute(), job.script), [_no_source(job.source)]
        folder = straight(folder)
        if not script.is_absolute() and (folder / script).is_file():
            script = folder / script
    if not script.is_file():
        script = script.absolute()
        found = "a folder" if script.is_dir() else "no such file"
        return Source(script.parent, script.name), [
            RULES["script-missing"].at(
                "SCRIPT", f"{job.script} ({found})", "a Python file", _near(script)
            )
        ]
    script = straight(script)
    folder = folder if job.source is not None else script.parent
    problems = []
    try:
        relative = script.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        problems.append(_outside(job, script, folder))
        relative = script.name
    return Source(folder, relative, shared=_is_shared(folder, relative)), problems


def _verb(job: JobSpec) -> str:
    """Of the command that was given, or that would be: a job from a notebook has none."""
    return job.verb or job.provider or "local"


def _outside(job: JobSpec, script: Path, folder: Path) -> Problem:
    """Of a script that its source folder does not hold. A link is not followed by itself: Python
    imports from beside its target, and ``__file__`` is beside the link."""
    target = script.resolve()
    if target.parent == script.parent.resolve():
        found, place = f"{job.script} is not below {folder}", shlex.quote(str(script.parent))
        return RULES["script-outside-source"].at("SCRIPT", found, fix=f"--source {place}")
    words = ["launch", *_verb(job).split(), shortest(target)]
    if job.source is not None:
        words += ["--source", shortest(target.parent)]
    found = f"{job.script} is a link to {target}, which is not below {folder}"
    fix = f"name the file itself: {shlex.join(words)}"
    return RULES["script-outside-source"].at("SCRIPT", found, fix=fix)


def _is_shared(folder: Path, script: str) -> bool:
    ours = script.startswith(SHARED_SCRIPTS) and "/" not in script
    return ours and folder.resolve() == entrypoints_folder().resolve()


def _located_module(job: JobSpec, module: str) -> tuple[Source, list[Problem]]:
    folder = at_home(job.source or "")
    if not folder.is_dir():
        folder = folder.absolute()
        return Source(folder, "", module=module), [_no_source(job.source or folder)]
    folder = straight(folder)
    file, problem = find_module(folder, module, _verb(job))
    problems = [problem] if problem else []
    if job.script is not None:
        problems.append(
            RULES["script-and-module"].at(
                "SCRIPT and -m", f"{job.script} and {module}", fix="leave out `script` or `module`"
            )
        )
    return Source(folder, file, module=module), problems


def _no_source(folder: str | Path) -> Problem:
    return RULES["source-missing"].at("--source", str(folder))


def _requirements_file(job: JobSpec) -> tuple[Path | None, list[Problem]]:
    if job.requirements is None:
        return None, []
    path = at_home(job.requirements)
    if path.is_file():
        return straight(path), []
    return path.absolute(), [
        RULES["requirements-missing"].at("--requirements", f"{job.requirements} (no such file)")
    ]


def _near(script: Path) -> str:
    if not script.parent.is_dir():
        return f"the folder {script.parent} does not exist"
    from launchers.core.model.problems import did_you_mean

    names = [path.name for path in script.parent.glob("*.py") if path != script]
    return did_you_mean(script.name, names) or "give its path"
