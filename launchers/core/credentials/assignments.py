"""Values that are given to a name which promises a credential: in code, configuration, prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

from launchers.core.credentials.aws import aws_secret_keys
from launchers.core.credentials.names import (
    NameKind,
    is_secret_literal,
    kind_of_name,
    kind_of_name_in_text,
)
from launchers.core.credentials.services import kind_of_service

# How values stand in a file: code has them in quotes; configuration has them bare; prose and what
# nobody knows has them bare, too, but is so full of words that they must look random.
Manner = Literal["code", "configuration", "prose"]

# Each begins with a literal, which the regular expression engine looks for as fast as `in` does.
_KEYWORDS = tuple(
    re.compile(pattern)
    for pattern in (
        "pass(?:w|phrase)",
        "pwd",
        r"pw(?=[\"'`]?\s{0,3}[:=])",
        "secret",
        "token",
        "api[_-]?key",
        "acc(?:ess|ount)[_-]?key",
        "cred(?:s|ential)",
        r"auth(?=[\"'`]?\s{0,3}[:=])",
        r"key(?=[\"'`]?\s{0,3}[:=])",
        # Names that promise one of a service alone (services.json).
        r"login(?=[\"'`]?\s{0,3}[:?=])",
        r"access[_-]?id(?=[\"'`]?\s{0,3}[:?=])",
    )
)
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_.-]{0,40}$")
# The larger ones are compiled at the first text that needs them, which many a source never has.
# The rest of the name, then a sign that gives it a value (`=`, `:`, `=>`, `?=`, or `,` after a
# quoted name, `>` of a tag, the blank after an option) or compares it with one, then the value.
_ASSIGNED = r"""(?P<rest>[\w-]{0,40})
        (?P<close>\\?["'])? \s*\]? \s*
        (?: :\s*[A-Za-z_][\w.\[\]|\ ]{0,40}?\s*=(?!=) | (?P<typed>[A-Za-z]\w{0,20}\ =)(?!=)
          | => | :{1,3}= | [?.+]= | =(?!=) | :(?!:)
          | (?P<comma>,) | (?P<tag>>) | (?P<compared>[=!]={1,2}) | (?P<option>[ ]) )\s*
        (?: [rbuf]? (?P<quote>\\?["'`]) (?P<quoted>[^"'`\\\n]{3,400}) (?P=quote)
          | (?P<bare>[^\s"'`,;&(){}\[\]\\<]{3,400}) )"""
# The default of an option: argparse, click.
_DEFAULT = r"""(?:add_argument|option|Option)\(\s*(?:["']-\w["']\s*,\s*)?["']--?(?P<name>[\w-]+)["']
        [^()]{0,200}? \bdefault\s*=\s*["'](?P<value>[^"'\\\n]{3,400})["']"""
# A pair: {"Name": "DB_PASSWORD", "Value": "..."}, <add key="Password" value="..." />.
_PAIR = r"""(?i) (?:name|key)["']?\s*[=:]\s*["'](?P<name>[\w.-]{3,60})["']\s*,?\s*
        ["']?value["']?\s*[=:]\s*["'](?P<value>[^"'\\\n]{3,400})["']"""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)


def assignments(text: str, manner: Manner) -> Iterator[tuple[int, str]]:
    """Offsets and kinds of the values in ``text`` that are a credential by their name."""
    folded = _fold(text)
    for keyword in _KEYWORDS:
        for hit in keyword.finditer(folded):
            at = hit.start()
            if hit.group() == "secret":
                line = text[at : at + 120].partition("\n")[0]
                yield from ((at + key.start, key.kind) for key in aws_secret_keys(line))
            match = _compiled(_ASSIGNED).match(text, at)
            kind = _assigned_kind(text, at, match, manner) if match else ""
            if kind:
                yield at, f"{kind}, by its name"
    for pattern, word in ((_DEFAULT, "default"), (_PAIR, "value")):
        for found in _compiled(pattern).finditer(text) if word in folded else ():
            kind = kind_of_name(found["name"])
            if kind and is_secret_literal(kind, found["value"]):
                yield found.start("value"), f"{kind}, by its name"


def _assigned_kind(text: str, at: int, match: re.Match[str], manner: Manner) -> NameKind:
    before = _NAME_BEFORE.search(text[max(0, at - 40) : at])
    start = at - len(before.group() if before else "")
    joined = text[max(0, start - 1) : start] == ";"  # as in a connection string
    value = match["quoted"] or match["bare"]
    name = text[start:at] + match["rest"]
    if not (match["comma"] or match["compared"]) and (match["quoted"] or manner == "configuration"):
        known = kind_of_service(name, value)
        if known:
            return known
    kind = kind_of_name_in_text(name, joined=joined)
    if not kind:
        return ""
    sure: NameKind = kind
    if match["comma"]:  # ("password", "user") is a list of names: here it must look random
        if not (match["close"] and match["quoted"]):
            return ""
        sure = "a key"
    elif match["compared"]:  # what a password is compared with is one; other names have modes
        if kind != "a password" or not match["quoted"] or not re.search(r"[\d\W]", value):
            return ""
    elif match["option"]:
        if not text.startswith("--", start) or manner == "code":
            return ""
        sure = kind if re.search(r"\d", value) else "a key"
    elif match["tag"]:
        if not match["bare"] or not re.match(r"\s*</", text[match.end() :][:80]):
            return ""
        sure = kind if re.search(r"\d", value) else "a key"
    elif match["quoted"]:
        sure = "a key" if match["quote"] == "`" or match["typed"] else kind
    elif manner != "configuration" and not joined:
        if manner == "code" and not _ends_a_string(text, match.end()):
            return ""
        sure = "a key"
    return kind if is_secret_literal(sure, value) else ""


def _ends_a_string(text: str, end: int) -> bool:
    """Whether a string, or a line within it, ends at ``end``: ``"TOKEN=...\\n"``."""
    return text[end : end + 1] in ('"', "'", "`") or text[end : end + 2] in ("\\n", "\\r", '\\"')


def _fold(text: str) -> str:
    """``text`` with ASCII letters in lower case and every offset as it was.

    Through bytes, which fold six times as fast as ``str.lower``.
    """
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
