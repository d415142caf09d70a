"""Which Keras the script will get: read from the source, decided in the plan, shown to the user.

The reading and the decision are the guard's own (entrypoints/launch_runtime/keras), so that plan
and rank cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchers.core.analysis.facts import facts_of
from launchers.core.analysis.keras_fit import trained_by_fit
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.core.paths import images_folder
from launchers.core.planning.plan import Row
from launchers.core.shipped import runtime
from launchers.core.source.script import JobSource
from launchers.core.spec.job import JobSpec
from launchers.core.strategies import FIRST, named
from launchers.core.strategies.strategy import Strategy

_OWN_VARIABLES = ("TF_USE_LEGACY_KERAS", "KERAS_BACKEND")  # by which a user decides it himself


@dataclass(frozen=True)
class Stack:
    """What the ranks' Python has. "" for what is not there, None for what nobody knows."""

    tensorflow: str | None = None
    keras: str | None = None
    tf_keras: str | None = None


@dataclass(frozen=True)
class KerasChoice:
    """What was decided.

    Attributes:
        variables: For the document's environment; empty where the rank decides by itself.
        row: For the plan; None where Keras is no subject.
    """

    variables: dict[str, str]
    row: Row | None
    problems: tuple[Problem, ...]

    @property
    def rows(self) -> list[Row]:
        """Its row, if it has one."""
        return [self.row] if self.row else []


def choose_keras(
    job: JobSpec,
    source: JobSource,
    stack: Stack,
    world_size: int,
    inherited: Mapping[str, str] | None = None,
    strategy: Strategy | None = None,
) -> KerasChoice:
    """The Keras of ``job``'s script. Reads the files that the script reaches; starts nothing.

    Args:
        stack: What is known of the ranks' Python.
        inherited: Variables that the ranks have besides those of the job.
        strategy: By what the ranks train; under one that takes Keras as it is, nothing is decided.
    """
    if strategy is not None and not strategy.settles_keras:
        return KerasChoice({}, None, ())
    use = runtime("keras.source").scan(str(source.folder), source.script)
    keras = runtime("keras.decision")
    stack = _with_requirements(source.requirements, stack)
    installed = keras.Installed(stack.tensorflow, stack.keras, stack.tf_keras)
    variables = {
        name: value
        for name, value in {**(inherited or {}), **job.environment}.items()
        if name in _OWN_VARIABLES
    }
    if job.keras == "auto" and not use.keras:
        return KerasChoice({}, None, ())
    decision = keras.decide(job.keras, use, installed, variables)
    problems = _problems(job, stack, decision, use, installed.brings, world_size)
    if strategy is not None and strategy.fit and job.instances > 1:
        own = use.legacy is not None and use.legacy.what == "1"
        keras_3 = decision.keras == "3" or (not decision.keras and installed.brings != "2")
        if keras_3 and not own:
            problems += _fit_problems(job, source, strategy, installed)
    known = installed.brings is not None and stack.tf_keras is not None
    settled = job.keras != "auto" or decision.keras == "3" or known
    word = decision.keras if settled and not decision.missing else ""
    return KerasChoice(
        {keras.VARIABLE: word} if word else {},
        _row(decision, stack, installed.brings, strategy or named(FIRST)),
        tuple(problems),
    )


def our_stack() -> Stack:
    """What the image of `launch image build` has, by its pins."""
    text = (images_folder() / "pins" / "tensorflow.txt").read_text(encoding="utf-8")
    versions = dict(re.findall(r"^([\w-]+)==(\S+)$", text, re.MULTILINE))
    return Stack(versions["tensorflow"], versions["keras"], versions["tf-keras"])


def stack_of_image(uri: str) -> Stack:
    """What is known of an image by its name: ours, or nothing."""
    name = uri.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return our_stack() if name == "launch-horovod" else Stack()


def _row(decision: Any, stack: Stack, brings: str | None, strategy: Strategy) -> Row | None:
    if brings == "2":
        version = ".".join((stack.tensorflow or "").split(".")[:2])
        return Row("keras", f"Keras 2, TensorFlow {version}'s own")
    if decision.missing:
        return Row("keras", "Keras 3, tf-keras is not installed", decision.why)
    if decision.keras == "2":
        if stack.tf_keras:
            version = ".".join(stack.tf_keras.split(".")[:2])
            text = f"Keras 2: keras is tf_keras {version} for the script and {strategy.title}"
        else:
            text = "Keras 2: keras is tf_keras where TensorFlow is 2.16 or later"
        return Row("keras", text, decision.why)
    if decision.keras == "3":
        return Row("keras", "Keras 3", decision.why)
    return None


def _problems(
    job: JobSpec, stack: Stack, decision: Any, use: Any, brings: str | None, world_size: int
) -> list[Problem]:
    found = []
    if decision.missing:
        found.append(_missing(decision, stack))
    if job.keras == "3" and brings == "2":
        found.append(
            RULES["keras-too-new"].at(
                "--keras", f"3, and TensorFlow {stack.tensorflow} of the ranks brings Keras 2"
            )
        )
    if decision.keras == "3" and not decision.missing and use.wrapper and world_size > 1:
        fix = "docs/keras.md has the lines that work on Keras 3"
        if not use.new:
            fix = f"--keras 2; {fix}"
        found.append(
            RULES["keras-3-wrapper"].at(
                f"{use.wrapper.file}:{use.wrapper.line}",
                f"{use.wrapper.what} of Horovod with Keras 3 ({decision.why})",
                fix=fix,
            )
        )
    return found


def _fit_problems(
    job: JobSpec, source: JobSource, strategy: Strategy, installed: Any
) -> list[Problem]:
    """``fit()`` of Keras 3, where the strategy's ranks train by Keras 2's alone. Sure is that only
    where it is known which Keras they have, and nobody has asked for it."""
    facts = facts_of(source)
    fit = trained_by_fit(facts) if facts is not None else None
    if fit is None:
        return []
    sure = installed.brings == "3" and job.keras == "auto"
    there = "" if installed.tf_keras else " (and pip install tf-keras for the ranks)"
    return [
        RULES["keras-3-fit"].at(
            f"{fit.path}:{fit.line}",
            f"fit() of Keras 3 by {strategy.title} on {job.instances} hosts",
            fix=f"--keras {strategy.fit}{there}, or a training loop of the script's own",
            severity="error" if sure else "warning",
        )
    ]


def _missing(decision: Any, stack: Stack) -> Problem:
    asked = decision.keras == "2"
    return RULES["keras-missing"].at(
        "--keras" if asked else "keras",
        f"TensorFlow {stack.tensorflow} with Keras 3, and no tf-keras",
        fix=f"pip install '{decision.missing}' for the ranks' Python",
        severity="error" if asked else "warning",
    )


def _with_requirements(path: Path | None, stack: Stack) -> Stack:
    """What ``--requirements`` installs is not known before; it may well be tf-keras."""
    if path is None or not path.is_file() or stack.tf_keras != "":
        return stack
    text = path.read_text(encoding="utf-8", errors="replace")
    if not re.search(r"^\s*tf[-_.]keras\b", text, re.MULTILINE | re.IGNORECASE):
        return stack
    return Stack(stack.tensorflow, stack.keras, None)
