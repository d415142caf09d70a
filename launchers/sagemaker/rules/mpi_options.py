"""Which words may stand in ``sagemaker_mpi_custom_mpi_options``: an allow-list.

The container's toolkit (sagemaker-training 4.4 to 5.1.4, mpi.py) parses that text with argparse
before mpirun sees it. ``-h``, ``-host a`` or an abbreviation of them end the container there with
exit code 0: no mpirun, no training, status Completed. So what is allowed is said here, and all
else is refused, whether it is known to do harm or not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from launchers.core.model.problems import Problem
from launchers.core.rules.environment import is_reserved
from launchers.sagemaker.catalogue import RULES

ALLOWED = "-x NAME, -x NAME=VALUE (no blanks), --mca KEY VALUE, -verbose"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What the toolkit's own parser takes for itself; argparse accepts any unique beginning of it.
_EATEN = ("-h", "-H", "--help", "-host", "--host", "-hostfile", "--hostfile", "-n", "-np", "--np")
_SET_BY_TOOLKIT = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONPATH")
_REFUSED_MCA = {
    "mca_base_env_list": "it sets variables in every rank behind the launcher's back: use --env",
    "orte_abort_on_non_zero_status": "the toolkit sets it to 1, so that a failed rank ends the job",
}


@dataclass(frozen=True)
class Option:
    """One option: its flag and its words."""

    flag: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.flag, *self.words))


def problems_in(
    text: str, path: str, carried: Collection[str] = (), own: bool = True
) -> list[Problem]:
    """What in ``text`` is not on the allow-list.

    Args:
        path: Where the text stands, for the problems.
        carried: Keys of the document's own Environment: ``-x KEY`` without a value passes for
            them, whatever their name, since it only carries what the document says.
        own: Whether a user typed the text for us; then ``-x`` of a reserved name is refused even
            where the document carries it.
    """
    problems: list[Problem] = []
    if re.search(r"[\n\r\0]", text):
        problems.append(RULES["mpi-option"].at(path, "a line break", "one line"))
    options = list(_options(text.split(), path, problems))
    for option in options:
        if option.flag == "-x":
            problems += _exported(option, path, carried)
        elif option.flag in ("--mca", "-mca") and option.words[0] in _REFUSED_MCA:
            reason = _REFUSED_MCA[option.words[0]]
            problems.append(RULES["mpi-option"].at(path, str(option), ALLOWED, reason))
    return problems


def exported(text: str) -> list[str]:
    """The names that ``-x`` gives to every rank, in order."""
    return [
        option.words[0].partition("=")[0]
        for option in _options(text.split(), "", [])
        if option.flag == "-x"
    ]


def _options(words: list[str], path: str, problems: list[Problem]) -> Iterator[Option]:
    index = 0
    while index < len(words):
        word = words[index]
        count = {"-x": 1, "--mca": 2, "-mca": 2, "-verbose": 0, "--verbose": 0}.get(word)
        values = tuple(words[index + 1 : index + 1 + (count or 0)])
        index += 1 + (count or 0)
        if count is None:
            problems.append(_refused(word, path))
        elif len(values) < count:
            found = f"{word} without its {'name' if count == 1 else 'key and value'}"
            problems.append(RULES["mpi-option"].at(path, found, ALLOWED))
        elif any(value.startswith("-") for value in values):
            # argparse knows no --mca: it would take such a value for a flag of its own.
            problems.append(_refused(next(v for v in values if v.startswith("-")), path))
        else:
            yield Option(word, values)


def _refused(word: str, path: str) -> Problem:
    name = word.partition("=")[0]
    eaten = name.startswith("-") and any(flag.startswith(name) for flag in _EATEN)
    if not word.startswith("-"):
        fix = "a value with a blank is split by the toolkit: put it into the environment (--env)"
    elif eaten or name in _EATEN:
        fix = (
            "the container's toolkit takes it for itself, and some such words end the job with "
            "exit code 0 and no training; hosts and ranks come from --instances and --processes"
        )
    else:
        fix = "leave it out"
    return RULES["mpi-option"].at(path, word[:60], ALLOWED, fix)


def _exported(option: Option, path: str, carried: Collection[str]) -> list[Problem]:
    name, equals, _ = option.words[0].partition("=")
    if not _NAME.fullmatch(name):
        return [RULES["mpi-option"].at(path, str(option), "-x with a variable's name")]
    if equals and name in _SET_BY_TOOLKIT:
        why = "the toolkit sets it for every rank, and mpirun takes one value alone"
        return [RULES["mpi-option"].at(path, f"-x {name}=...", f"-x {name}, without a value", why)]
    if not is_reserved(name) or (name in carried and not equals):
        return []
    return [
        RULES["env-reserved"].at(
            path, f"-x {name}", fix="the launcher, the toolkit or mpirun sets it"
        )
    ]
