"""What keeps a script from running at all, told before a rank is paid for."""

from __future__ import annotations

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.python_syntax import Fault, fault_of_error, fault_of_script
from launchers.core.catalogue import RULES
from launchers.core.model.problems import Problem

# Of the files beside the script, so many bytes are parsed for their syntax alone.
_SYNTAX_BYTES = 64_000


def faults_in(
    facts: SourceFacts, shown: str, given: bool, at_most: int = _SYNTAX_BYTES
) -> list[Problem]:
    """What keeps the script, or a file that it is sure to import, from running at all.

    Args:
        given: The user has said which strategy it is: what Python says is then a warning.
        at_most: So many bytes of the files that it imports are parsed.
    """
    script = facts.script
    content, tree = facts.texts.read(script), facts.tree(script)
    fault = fault_of_script(script, content, tree, facts.syntax_error(script))
    if fault:
        return [_fault_problem(fault, shown, script, given)]
    problems = []
    for path in facts.surely_imported(at_most):
        error = facts.syntax_error(path)
        if error is not None:
            fault = fault_of_error(facts.texts.read(path), error)
            problems.append(_fault_problem(fault, path, path, given))
    return problems


_PLAIN = "a Python script"


def _fault_problem(fault: Fault, shown: str, path: str, given: bool) -> Problem:
    """The words for one fault."""
    place = f"{shown}:{fault.line}" if fault.line else shown
    if fault.kind == "notebook":
        fix = f"Make it one: jupyter nbconvert --to script {shown}"
        return RULES["script-notebook"].at(place, "is a notebook", _PLAIN, fix)
    if fault.kind == "empty":
        fix = "Name the script that trains"
        return RULES["script-empty"].at(place, fault.text, fix=fix)
    if fault.kind == "binary":
        return RULES["script-binary"].at(place, "is not text", _PLAIN)
    if fault.kind == "shell":
        fix = "Name the Python script that it starts"
        return RULES["script-shell"].at(place, f"is a shell script ({fault.text})", _PLAIN, fix)
    if fault.kind == "magic":
        found = f"{fault.text!r} is a line for a notebook"
        fix = "Take such lines out, or write them in Python: the ranks run the file with python"
        return RULES["script-notebook"].at(place, found, "plain Python", fix)
    if fault.kind == "old":
        fix = "Bring it up to date: no rank runs Python 2"
        return RULES["script-syntax"].at(place, f"is Python 2: {fault.text}", "Python 3", fix)
    ours = _our_python()
    fix = "Mend it; `python -m py_compile` shows the line"
    severe = fault.certain and not given
    if not fault.certain:
        fix = "It runs where the ranks' Python is new enough for it"
    return RULES["script-syntax"].at(
        place,
        f"a syntax error: {fault.text}",
        f"what Python {ours} can read",
        fix,
        severity="error" if severe else "warning",
    )


def _our_python() -> str:
    import sys

    return f"{sys.version_info[0]}.{sys.version_info[1]}"
