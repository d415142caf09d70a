"""How the ranks are started: our guard as the program, every variable carried to every rank, and
nothing among the MPI options that would end the container without training."""

from __future__ import annotations

import re
from dataclasses import replace

from launchers.core.model.document import entries, mapping
from launchers.core.model.problems import Problem
from launchers.sagemaker.catalogue import RULES
from launchers.sagemaker.document import (
    CODE_CHANNEL,
    CODE_PATH,
    GUARD,
    LAUNCH_ARGS,
    LAUNCH_MODULE,
    LAUNCH_SCRIPT,
    MPI_OPTIONS,
    PROGRAM,
    SUBMIT_DIRECTORY,
    hyperparameter,
    uses_mpi,
)
from launchers.sagemaker.rules.agent_start import check_agent_start, is_agents
from launchers.sagemaker.starts import mpi_options

_HYPER = "$.HyperParameters"


def check_start(document: object, ours: bool) -> list[Problem]:
    """Rules about the start. Those about our own way hold where the document is ours; another is
    told of the values that its ranks would get changed."""
    if ours:
        carried = [_carried(name) for name in _left_behind(document)]
        own_way = _program(document) + carried + _model_dir(document)
        if is_agents(document):
            return own_way + check_agent_start(document)
        return own_way + _options(document, ours)
    variables = mapping(document, "Environment")
    changed = [
        replace(_carried(name), severity="warning")
        for name in _left_behind(document)
        if _is_changed(variables[name])
    ]
    return changed + _options(document, ours)


def _is_changed(value: object) -> bool:
    """Whether /etc/environment, PAM's and sshd's, gives other hosts another value: cut at a #, at
    the end of the first line, or without its quotes."""
    return isinstance(value, str) and bool(re.search(r"[#\n\r\"']", value))


def _options(document: object, ours: bool) -> list[Problem]:
    text = hyperparameter(document, MPI_OPTIONS)
    if text is None:
        return []
    path = f"{_HYPER}.{MPI_OPTIONS}"
    if not isinstance(text, str):
        return [RULES["mpi-option"].at(path, repr(text)[:40], "a text")]
    carried = mapping(document, "Environment")
    return mpi_options.problems_in(text, path, carried, ours)


def _program(document: object) -> list[Problem]:
    problems = []
    wanted = {
        PROGRAM: (GUARD, "the guard asserts the world size in every rank and starts the script"),
        SUBMIT_DIRECTORY: (CODE_PATH, f"the code travels as the input channel {CODE_CHANNEL}"),
    }
    for name, (value, why) in wanted.items():
        found = hyperparameter(document, name)
        if found != value:
            shown = "missing" if found is None else str(found)[:80]
            problems.append(RULES["start-guard"].at(f"{_HYPER}.{name}", shown, f'"{value}"', why))
    channels = [channel.get("ChannelName") for channel in entries(document, "InputDataConfig")]
    if CODE_CHANNEL not in channels:
        problems.append(
            RULES["start-guard"].at(
                "$.InputDataConfig",
                f"no channel {CODE_CHANNEL}",
                f"a channel {CODE_CHANNEL}",
                "it brings the source bundle into every host",
            )
        )
    if hyperparameter(document, PROGRAM) == GUARD:
        problems += _script(document)
    return problems


def _script(document: object) -> list[Problem]:
    problems = []
    script, module = (hyperparameter(document, name) for name in (LAUNCH_SCRIPT, LAUNCH_MODULE))
    wanted = [(LAUNCH_SCRIPT, script, "the script's path in the bundle, as JSON text")]
    if module is not None:
        wanted = [(LAUNCH_MODULE, module, "a module's name, as JSON text")]
        if script is not None:
            expected = f"no such key beside {LAUNCH_MODULE}"
            where = f"{_HYPER}.{LAUNCH_SCRIPT}"
            problems.append(RULES["start-script"].at(where, str(script)[:40], expected))
    for name, value, expected in wanted:
        if not isinstance(value, str) or not value:
            found = "missing" if value is None else str(value)[:40]
            problems.append(RULES["start-script"].at(f"{_HYPER}.{name}", found, expected))
    arguments = hyperparameter(document, LAUNCH_ARGS)
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        problems.append(
            RULES["start-script"].at(
                f"{_HYPER}.{LAUNCH_ARGS}",
                "missing" if arguments is None else str(arguments)[:40],
                "the script's arguments, a JSON list of texts",
            )
        )
    return problems


def _left_behind(document: object) -> list[str]:
    """The variables that mpirun does not carry to its ranks."""
    if not uses_mpi(document):
        return []
    text = hyperparameter(document, MPI_OPTIONS)
    named = mpi_options.exported(text) if isinstance(text, str) else []
    return [name for name in mapping(document, "Environment") if name not in named]


def _carried(name: str) -> Problem:
    return RULES["start-environment"].at(
        f"$.Environment.{name}",
        "reaches the ranks of other hosts through /etc/environment, cut at # and at quotes",
        f"-x {name} in {MPI_OPTIONS}",
    )


def _model_dir(document: object) -> list[Problem]:
    if "model_dir" not in mapping(document, "HyperParameters"):
        return []
    return [
        RULES["start-model-dir"].at(
            f"{_HYPER}.model_dir", "an argument that the script did not ask for"
        )
    ]
