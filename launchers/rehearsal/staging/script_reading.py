"""Can the image's Python read the script, and what it is sure to import? Asked before the first
container of the job: every rank would end with the same SyntaxError, after all of them started."""

from __future__ import annotations

import ast
import base64
import json
import sys
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.script_faults import faults_in
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem
from launchers.image.needs import version
from launchers.image.probe import MARK
from launchers.image.probe_container import NoAnswerError, answer_of

_READ_BYTES = 2_000_000  # of files that are imported, together
_LONGEST_ARGUMENT = 100_000  # execve(2) takes 128 KiB
_SECONDS = 60.0
_RULE = "script-syntax"
# What the image's own Python says of each file. Standard library alone, Python 3.6 and later.
_READER = f"""
import base64, json, sys, zlib
found = {{}}
for path, text in json.loads(zlib.decompress(base64.b64decode("".join(sys.argv[1:])))).items():
    try:
        compile(text.encode("latin-1"), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        found[path] = [getattr(error, "lineno", 0) or 0, getattr(error, "msg", "") or str(error)]
print("\\n{MARK}" + json.dumps(found), flush=True)
"""


def unreadable(client: Any, image: str, python: str, facts: SourceFacts) -> list[Problem]:
    """What that Python cannot read of a script and of the modules that it surely imports.

    Where this launcher's Python is of the same version, it answers. Else the image is asked about
    the files that this one finds wrong, or too new for it: that blocks for a second.

    Args:
        python: The image's version; empty where it is not known.
    """
    theirs, ours = version(python), tuple(sys.version_info[:2])
    said = faults_in(facts, facts.script, given=False, at_most=_READ_BYTES)
    if theirs in (ours, (0, 0)):
        certain = theirs == ours
        return [replace(one, severity="error") if certain else one for one in said]
    suspects = {_path_of(one) for one in said if one.rule == _RULE}
    for path in (facts.script, *facts.surely_imported(_READ_BYTES)):
        if theirs < ours and not _fits(facts.texts.read(path), theirs):
            suspects.add(path)
    others = [one for one in said if one.rule != _RULE]
    if not suspects:
        return others
    texts = {path: facts.texts.read(path).decode("latin-1") for path in sorted(suspects)}
    try:
        found = answer_of(client, image, _question(texts), _SECONDS)
    except NoAnswerError:
        return others
    return [*others, *_problems(found, f"what Python {python} of the image can read")]


def _path_of(problem: Problem) -> str:
    path, _, line = problem.path.rpartition(":")
    return path if line.isdecimal() else problem.path


def _fits(content: bytes, theirs: tuple[int, ...]) -> bool:
    """Whether an older Python's grammar has this, as far as ours tells the difference."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(content, feature_version=(theirs[0], theirs[1]))
    except (SyntaxError, ValueError):
        return False
    return True


def _question(texts: Mapping[str, str]) -> list[str]:
    packed = base64.b64encode(zlib.compress(json.dumps(texts).encode())).decode()
    starts = range(0, len(packed), _LONGEST_ARGUMENT)
    return ["-c", _READER, *(packed[start : start + _LONGEST_ARGUMENT] for start in starts)]


def _problems(found: Mapping[str, Any], expected: str) -> list[Problem]:
    fix = "Mend it, or take an image with another Python"
    places = [(f"{path}:{line}" if line else path, said) for path, (line, said) in found.items()]
    return [
        RULES[_RULE].at(place, f"a syntax error: {said}", expected, fix)
        for place, said in sorted(places)
    ]
