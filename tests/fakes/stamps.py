"""The stamp that guard and agent put on their lines, from the nonce of the job's document: of a
job of the fake services whose lines a test has written down."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.log_lines import Lines

_PROOF = re.compile(r"launch: proof: world size \d+: [^\[]*[^\[ ]$")
_FAILURE = re.compile(r"launch: failure: (\{.*\})$")
_EVIDENCE = re.compile(r"launch: evidence: (\{.*\})$")


def stamp_of(nonce: str) -> str:
    """As the contract between replica and launcher has it; "" without a nonce."""
    if not nonce:
        return ""
    return hashlib.sha256(b"launch stamp " + nonce.encode()).hexdigest()[:16]


def nonce_of(document: Any) -> str:
    """LAUNCH_NONCE of a request, in the form of any service; "" where it has none."""
    if isinstance(document, Mapping):
        if isinstance(document.get("LAUNCH_NONCE"), str):
            return str(document["LAUNCH_NONCE"])
        if document.get("name") == "LAUNCH_NONCE":
            return str(document.get("value", ""))
        document = list(document.values())
    if isinstance(document, list):
        return next(filter(None, map(nonce_of, document)), "")
    return ""


def stamped(text: str, nonce: str) -> str:
    """A line as guard or agent print it in that job; any other line as it is."""
    stamp = stamp_of(nonce)
    if not stamp:
        return text
    if _PROOF.search(text):
        return f"{text} [{stamp}]"
    for form, word in ((_FAILURE, "failure"), (_EVIDENCE, "evidence")):
        match = form.search(text)
        if match is None:
            continue
        try:
            fields = json.loads(match[1])
        except ValueError:
            return text
        fields = {**fields, "stamp": stamp}
        return f"{text[: match.start()]}launch: {word}: {json.dumps(fields)}"
    return text


class Stamped:
    """Lines of which those of guard and agent carry the stamp."""

    def __init__(self, lines: Lines, nonce: str):
        self._lines, self._nonce = lines, nonce

    def __len__(self) -> int:
        return len(self._lines)

    def at(self, index: int) -> tuple[int, str]:
        """See :class:`Lines`."""
        moment, text = self._lines.at(index)
        return moment, stamped(text, self._nonce)
