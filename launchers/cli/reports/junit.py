"""The report for GitLab, Jenkins and others: JUnit's XML, a suite a document, a case a problem.

A problem that fails the check is a failure, an ignored one is skipped with its reason, a warning is
a case that passes and says itself in its output.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from launchers.cli.checking.findings import Check, Checked, Finding
from launchers.core.printable import printable

# What XML 1.0 (section 2.2) has no way to write.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report(check: Check) -> str:
    """The XML document."""
    suites = Element("testsuites", {"name": "launch check"})
    for part in check.parts:
        _suite(suites, check, part)
    for name in ("tests", "failures", "errors", "skipped"):
        suites.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    suites.set("time", "0")
    indent(suites)
    body = tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(suites: Element, check: Check, part: Checked) -> None:
    cases = Counter[str]()
    suite = SubElement(suites, "testsuite", {"name": _xml(part.title)})
    if part.answer:
        _case(suite, part, "a job", None)
        SubElement(suite[-1], "system-out").text = _xml(part.answer)
    for found in part.findings:
        name = f"{found.problem.rule} {found.problem.path}"
        cases[name] += 1
        # Readers keep one of two cases with the same name.
        if cases[name] > 1:
            name = f"{name} ({cases[name]})"
        _case(suite, part, name, found)
        _outcome(suite[-1], check, found)
    for key, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite)))
    suite.set("errors", "0")
    suite.set("time", "0")


def _case(suite: Element, part: Checked, name: str, found: Finding | None) -> None:
    case = SubElement(suite, "testcase", {"name": _xml(name), "classname": _xml(part.title)})
    case.set("file", _xml(part.file))
    if found and found.line:
        case.set("line", str(found.line))
    case.set("time", "0")


def _outcome(case: Element, check: Check, found: Finding) -> None:
    problem = found.problem
    if found.ignored:
        SubElement(case, "skipped", {"message": _xml(found.ignored)})
    elif check.fails(found):
        failure = SubElement(case, "failure", {"message": _xml(problem.found)})
        failure.set("type", problem.rule)
        failure.text = _xml(f"{found.place}: {problem}")
    else:
        text = f"{problem.severity}: {found.place}: {problem}"
        SubElement(case, "system-out").text = _xml(text)


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", printable(text))
