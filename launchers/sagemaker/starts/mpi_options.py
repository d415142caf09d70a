"""Which words may stand in ``sagemaker_mpi_custom_mpi_options``.

The container's toolkit (sagemaker-training 4.4 to 5.1.4, mpi.py) parses that text with argparse
before mpirun sees it. ``-h``, ``-host a`` or an abbreviation of them end the container there with
exit code 0: no mpirun, no training, status Completed. So of what a user asks of us, the options of
mpi_options.json that change nothing are allowed, and all else is refused. In a request that
something else made, what is known to change the ranks is an error, and what is not known a warning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from launchers.core.credentials.elsewhere import masked_arguments
from launchers.core.model.problems import Problem
from launchers.core.rules.environment import is_reserved
from launchers.sagemaker.catalogue import RULES

ALLOWED = (
    "-x NAME, -x NAME=VALUE (no blanks), --mca KEY VALUE, --NCCL_DEBUG=VALUE, and what changes "
    "neither hosts nor ranks, as -verbose, --tag-output, -bind-to none, -map-by slot"
)

_FILE = Path(__file__).with_name("mpi_options.json")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What the toolkit's own parser takes for itself; argparse accepts any unique beginning of it.
_EATEN = ("--help", "--host", "--hostfile")
_TOOLKITS_OWN = "--NCCL_DEBUG"
_SET_BY_TOOLKIT = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONPATH")
_MCA_VARIABLE = "OMPI_MCA_"
# More than that do not fit into the 2,500 characters that the service takes of a hyperparameter.
_MOST_WORDS = 2_500
_REFUSED_MCA = {
    "mca_base_env_list": "it sets variables in every rank behind the launcher's back: use --env",
    "orte_abort_on_non_zero_status": "the toolkit sets it to 1, so that a failed rank ends the job",
}


class Option(NamedTuple):
    """One option: its flag and its words."""

    flag: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.flag, *self.words))


def problems_in(
    text: str, path: str, carried: Collection[str] = (), own: bool = True
) -> list[Problem]:
    """What in ``text`` is not on the allow-list, or does harm.

    Args:
        path: Where the text stands, for the problems.
        carried: Keys of the document's own Environment: ``-x KEY`` without a value passes for
            them, whatever their name, since it only carries what the document says.
        own: Whether the document is ours, with an allow-list; of another only harm is an error.
    """
    problems: list[Problem] = []
    if re.search(r"[\n\r\0]", text) and own:
        problems.append(RULES["mpi-option"].at(path, "a line break", "one line"))
    options = list(_options(_words(text), path, problems, own))
    for option in options:
        match option:
            case ("-x", (assigned,)):
                problems += _exported(assigned, path, carried, own)
            case ("--mca" | "-mca", (key, value)):
                problems += _mca(key, value, str(option), path)
            case ("--map-by" | "-map-by", (how,)) if how.startswith("ppr"):
                problems.append(_limits(option, path, own))
    return problems


def exported(text: str) -> list[str]:
    """The names that ``-x`` gives to every rank, in order."""
    return [
        assigned.partition("=")[0]
        for option in _options(_words(text), "", [], own=True)
        if option.flag == "-x"
        for assigned in option.words
    ]


def _words(text: str) -> list[str]:
    return text.split(maxsplit=_MOST_WORDS)[:_MOST_WORDS]


def _options(words: list[str], path: str, problems: list[Problem], own: bool) -> Iterator[Option]:
    """The options that may stand there; of the others a problem each, and their values with it."""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word.startswith(f"{_TOOLKITS_OWN}="):
            continue
        count = _counts().get(word)
        if count is None:
            problems.append(_refused(word, path, own))
            known = _table()["changes"]["0"]
            while (
                word.startswith("-")
                and word not in known
                and index < len(words)
                and not words[index].startswith("-")
                and not own
            ):
                index += 1
            continue
        values = tuple(words[index : index + count])
        index += count
        if len(values) < count:
            what = {1: "value", 2: "key and value"}[count]
            problems.append(RULES["mpi-option"].at(path, f"{word} without its {what}", ALLOWED))
        elif any(value.startswith("-") for value in values):
            # argparse knows none of these: it would take such a value for a flag of its own.
            value = next(value for value in values if value.startswith("-"))
            problems.append(_refused(value, path, own))
        else:
            yield Option(word, values)


@cache
def _table() -> Mapping[str, Any]:
    table: dict[str, Any] = json.loads(_FILE.read_bytes())
    return table


@cache
def _counts() -> Mapping[str, int]:
    """How many words follow an option that may stand there."""
    known = {flag: int(count) for count, flags in _table()["harmless"].items() for flag in flags}
    return {**known, "-x": 1, "--mca": 2, "-mca": 2, _TOOLKITS_OWN: 1}


def _refused(word: str, path: str, own: bool) -> Problem:
    name = word.partition("=")[0]
    eaten = name.startswith("-h") or any(
        flag.startswith(name) for flag in _EATEN if name.startswith("--h")
    )
    changes = any(name in flags for flags in _table()["changes"].values())
    if not word.startswith("-"):
        fix = "a value with a blank is split by the toolkit: put it into the environment (--env)"
        return RULES["mpi-option"].at(path, word[:60], ALLOWED, fix)
    if eaten or changes:
        fix = (
            "the container's toolkit treats it as its own option; some of these end the job with "
            "exit code 0 and no training; hosts and ranks come from --instances and --processes"
        )
        if not own:
            fix = (
                "it changes which ranks start, or the container's toolkit takes it for itself and "
                "ends the job with exit code 0 and no training"
            )
        return RULES["mpi-option"].at(path, word[:60], ALLOWED, fix)
    (shown,) = masked_arguments([word])
    problem = RULES["mpi-option"].at(path, shown[:60], ALLOWED, "leave it out")
    if own:
        return problem
    return replace(
        problem, severity="warning", expected="an option of mpirun that is known", fix=""
    )


def _limits(option: Option, path: str, own: bool) -> Problem:
    why = "it limits the ranks of a host beside the toolkit's own count"
    problem = RULES["mpi-option"].at(path, str(option), "-map-by without ppr", why)
    return problem if own else replace(problem, severity="warning")


def _mca(key: str, value: str, shown: str, path: str) -> list[Problem]:
    if key in _REFUSED_MCA:
        return [RULES["mpi-option"].at(path, shown, ALLOWED, _REFUSED_MCA[key])]
    set_to = _table()["toolkit_mca"].get(key, value)
    if set_to == value:
        return []
    why = f"the toolkit sets it to {set_to}, and mpirun refuses two values of one parameter"
    return [RULES["mpi-option"].at(path, shown, "a parameter that the toolkit leaves", why)]


def _exported(assigned: str, path: str, carried: Collection[str], own: bool) -> list[Problem]:
    name, equals, _ = assigned.partition("=")
    if not _NAME.fullmatch(name):
        return [RULES["mpi-option"].at(path, f"-x {assigned}", "-x with a variable's name")]
    if name.startswith(_MCA_VARIABLE):
        return _mca_variable(name.removeprefix(_MCA_VARIABLE), path, own)
    if equals and name in _SET_BY_TOOLKIT and (own or name == "LD_PRELOAD"):
        why = "the toolkit sets it for every rank, and mpirun takes one value alone"
        return [RULES["mpi-option"].at(path, f"-x {name}=...", f"-x {name}, without a value", why)]
    if not is_reserved(name) or (name in carried and not equals):
        return []
    problem = RULES["env-reserved"].at(
        path, f"-x {name}", fix="the launcher, the toolkit or mpirun sets it"
    )
    if own:
        return [problem]
    if name.startswith("LAUNCH_") or name == "CUDA_VISIBLE_DEVICES":
        return []
    return [replace(problem, severity="warning")]


def _mca_variable(key: str, path: str, own: bool) -> list[Problem]:
    """A parameter of Open MPI by its variable, which the ranks read."""
    if key not in _REFUSED_MCA:
        return []
    shown = f"-x {_MCA_VARIABLE}{key}"
    problem = RULES["mpi-option"].at(path, shown, ALLOWED, _REFUSED_MCA[key])
    return [problem if own else replace(problem, severity="warning")]
