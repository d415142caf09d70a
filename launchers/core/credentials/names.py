"""Which names promise a credential, and which values under such a name are one.

A name is read by its words: ``DB_PASSWORD``, ``dbPassword`` and ``--db-password`` are the same. The
last word decides, so that ``SECRET_ARN``, ``TOKEN_FILE`` or ``TOKENIZERS_PARALLELISM`` are none.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from launchers.core.credentials.randomness import entropy

NameKind = Literal["", "a password", "a secret", "a token", "a key"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_LISTS = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))


def _words(key: str) -> frozenset[str]:
    return frozenset(word for line in _LISTS[key]["words"] for word in line.split())


_PASSWORDS = ("password", "passwd", "passphrase", "passwort")
_TOKENS = _words("tokens")
_KEYS = tuple(_words("keys"))
_KEY_OWNERS = _words("key_owners")
_PASS_OWNERS = _words("password_owners")
_AUTH_OWNERS = _words("auth_owners")
_VOCABULARY = _words("vocabulary")
_IN_TEXT = _words("in_text")

_WORDS_THAT_SAY_NOTHING = _words("no_values")
_REFERENCE = re.compile(
    r"""
      \$ | %\w*[({%] | \{ | < .* > $ | \[ .* \] $      # ${VAR}, %(name)s, {{ x }}, <token>, [PAD]
    | arn: | projects/[^/]+/secrets/                   # a secret manager's own names
    | [A-Za-z][A-Za-z0-9+.-]*://                       # a URL; one with a password is a shape
    | (?:vault|env|file|secret|secretsmanager|ssm|op|sm|gcpsm|keyring): | !\w+(?:\s|$)
    | /$ | /[\w.-]+ (?: / | $ ) | \.{1,2}/ | ~/        # a path
    | x{3,}$ | \*+$ | \.{2,}$ | -+$ | _+$ | your[-_ ] | my[-_]?(?:secret|token|password|key)$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(
    r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[kKmMgGtT]?i?[bB]?|[smhd%])"
)
_DIGIT_NEXT_TO_LETTER = re.compile(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d")


def kind_of_name(name: str) -> NameKind:
    """Which credential ``name`` promises; empty when it promises none."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words:
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last.endswith(_PASSWORDS) or (last in ("pwd", "pw") and before not in ("", "old")):
        return "a password"
    if (last == "pass" and before in _PASS_OWNERS) or (last == "auth" and before in _AUTH_OWNERS):
        return "a password"
    if last.endswith("secret"):
        return "a secret"
    if last in _TOKENS:
        return "" if before in _VOCABULARY else "a token"
    owned = before in _KEY_OWNERS or before.endswith("api")
    if last.endswith(_KEYS) or (last == "key" and owned):
        return "a key"
    return ""


def kind_of_name_in_text(name: str, *, joined: bool = False) -> NameKind:
    """The same for a name in a file, where more names count, since the value must look random.

    Args:
        joined: Whether it stands in a connection string, after a ``;``: there ``Pwd`` is one.
    """
    kind = kind_of_name(name)
    if kind:
        return kind
    words = [word.lower() for word in _WORD.findall(name)]
    last = words[-1] if words else ""
    if joined and last == "pwd":
        return "a password"
    return "a key" if last in _IN_TEXT else ""


def is_reference(value: str) -> bool:
    """Whether ``value`` is masked or says where a value comes from: ``${VAR}``, an ARN, a path."""
    return bool(_REFERENCE.match(value.strip().strip("\"'")))


def is_literal(value: str) -> bool:
    """Whether ``value`` is a value itself, and not empty, a switch, a placeholder or a reference.

    A number is none either: under a name such as ``MAX_TOKEN`` it is a setting.
    """
    bare = value.strip().strip("\"'")
    if not bare or bare.lower() in _WORDS_THAT_SAY_NOTHING:
        return False
    return not _REFERENCE.match(bare) and not _NUMBER.fullmatch(bare)


def is_secret_value(kind: NameKind, value: str) -> bool:
    """Whether ``value``, given by hand under a name of ``kind``, is a credential.

    Given by hand means an environment variable or an argument: there, almost anything is one. The
    digits of a password count; a number under another name is a setting.
    """
    bare = value.strip().strip("\"'")
    if kind == "a password":
        return (bare.isdigit() and len(bare) >= 6) or (is_literal(bare) and len(bare) >= 3)
    return is_literal(bare) and len(bare) >= 6


def is_secret_literal(kind: NameKind, value: str) -> bool:
    """Whether ``value``, a literal in a source file under a name of ``kind``, is a credential.

    Stricter than :func:`is_secret_value`, since source is full of names and samples: a password
    may be any word but one that is made like an identifier, everything else must look random.
    """
    if any(character.isspace() for character in value) or not is_literal(value):
        return False
    if kind == "a password":
        words_joined = re.fullmatch(r"[A-Za-z]+(?:[_.-]+[A-Za-z]+)+[_.]*", value)
        return len(value) >= 5 and not words_joined
    mixed = len(_DIGIT_NEXT_TO_LETTER.findall(re.sub(r"[^A-Za-z0-9]", "", value)))
    return len(value) >= 16 and mixed >= 3 and entropy(value) >= 3.0
