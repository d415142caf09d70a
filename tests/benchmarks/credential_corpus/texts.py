"""The corpus of the search for credentials: its files, made of templates at run time.

A template has a credential's random part as a pattern between guillemets, so that this repository
holds nothing with a credential's shape: ``token = "ghp_«[A-Za-z0-9]{36}»"``. More directives:
``«jwt ALG N»`` is a JSON web token with a signature of N characters, ``«jwt64 HEADER»`` one with
that header, in base64; ``«base64 PATTERN»`` is what a pattern gives, in base64.

``peers.json`` is made by `python -m infra.refresh.credential_cases` of the tests of gitleaks and of
detect-secrets; ``ours.json`` (a value of each shape under a neutral name, files as people have
them) and ``innocents.json`` are written by hand. The positives were fixed before the rules were
changed for them.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from infra.refresh.regex_samples import sample

_HERE = Path(__file__).parent
_DIRECTIVE = re.compile("«([^»]*)»")


class Case(NamedTuple):
    """One file of the corpus.

    Attributes:
        group: ``gitleaks``, ``detect-secrets``, ``shapes``, ``contexts`` or ``innocents``.
        source: Which test, rule or shape it is after.
        name: The file's name.
        text: Its content.
    """

    group: str
    source: str
    name: str
    text: str


def cases() -> Iterator[Case]:
    """The whole corpus, the same at each call."""
    for file in ("peers.json", "ours.json", "innocents.json"):
        table = json.loads((_HERE / file).read_text("utf-8"))
        for group, rows in table["groups"].items():
            for number, row in enumerate(rows):
                text = made(row["text"], random.Random(number))
                yield Case(group, row["source"], row["file"], text)


def made(template: str, drawn: random.Random) -> str:
    """``template`` with a value drawn for each directive."""
    return _DIRECTIVE.sub(lambda found: _value(found[1], drawn), template)


def _value(directive: str, drawn: random.Random) -> str:
    word, _, rest = directive.partition(" ")
    if word == "jwt":
        algorithm, _, length = rest.partition(" ")
        header = json.dumps({"alg": algorithm, "typ": "JWT"}, separators=(",", ":"))
        return _web_token(header, int(length), drawn)
    if word == "jwt64":
        return base64.b64encode(_web_token(rest, 43, drawn).encode()).decode()
    if word == "base64":
        return base64.b64encode(sample(rest, drawn).encode()).decode()
    return sample(directive, drawn)


def _web_token(header: str, signature: int, drawn: random.Random) -> str:
    claims = f'{{"sub":"{drawn.randrange(10**9, 10**10)}","name":"nobody"}}'
    parts = [
        base64.urlsafe_b64encode(one.encode()).decode().rstrip("=") for one in (header, claims)
    ]
    return ".".join([*parts, sample(f"[A-Za-z0-9_-]{{{signature}}}", drawn)])
