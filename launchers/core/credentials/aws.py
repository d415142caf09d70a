"""AWS secret access keys: forty random characters, known by what stands beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from launchers.core.credentials.matching import Match
from launchers.core.credentials.randomness import entropy

KEY_ID = "an AWS access key id"
_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_NEAR = 3  # lines
_FAR = 1000  # characters, where the lines are longer


def aws_secret_keys(text: str) -> Iterator[Match]:
    """Runs of 40 characters in ``text`` that can be an AWS secret access key.

    The shape alone is weak (it is that of any base64 text of 30 bytes), so the caller asks only
    near an access key id or a name that says secret. A hexadecimal run is a git hash or a digest.
    """
    for found in _SECRET.finditer(text):
        if _mixed(found.group()) and not _readable_base64(found.group()):
            yield Match(found.start(), found.end(), "an AWS secret access key", None)


def is_bare_aws_secret_key(value: str) -> bool:
    """Whether the whole of ``value`` is so random that it is an AWS secret access key by itself.

    The bounds were set on 200,000 random keys (99 in 100 pass) and on paths and identifiers of the
    same length, which are made of words: few changes between letter cases, long runs of lower case.
    """
    if not _SECRET.fullmatch(value) or not _mixed(value) or _readable_base64(value):
        return False
    changes = sum(_class(a) != _class(b) for a, b in pairwise(value))
    in_words = sum(len(run) for run in re.findall(r"[a-z]{4,}", value))
    return changes >= 12 and in_words < 14 and entropy(value) >= 4.2


def secret_keys_beside(text: str, key_id: int) -> Iterator[Match]:
    """Secret access keys within three lines of the key id that stands at offset ``key_id``."""
    before = text[max(0, key_id - _FAR) : key_id].split("\n")[-_NEAR - 1 :]
    after = text[key_id : key_id + _FAR].split("\n")[: _NEAR + 1]
    start = key_id - len("\n".join(before))
    for found in aws_secret_keys("\n".join(before) + "\n".join(after)):
        yield found._replace(start=start + found.start, end=start + found.end)


def _mixed(value: str) -> bool:
    """Both letter cases and a digit: a hexadecimal digest has one case, a word has no digit."""
    return bool(re.search("[a-z]", value) and re.search("[A-Z]", value) and re.search(r"\d", value))


def _readable_base64(value: str) -> bool:
    """Whether ``value`` is base64 of plain text, which no random key is."""
    import base64
    import binascii

    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return decoded.isascii() and decoded.decode("ascii").replace("\n", " ").isprintable()


def _class(character: str) -> str:
    if character.isupper():
        return "upper"
    if character.islower():
        return "lower"
    return "digit" if character.isdigit() else "other"
