"""What a credential looks like by its own text, whatever it is called.

Each shape is the issuer's documented format. It begins with a plain substring, its anchor: a text
is searched for the anchors, and the regular expression is tried only where one stands, so that a
megabyte of ordinary source costs milliseconds.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple


class Shape(NamedTuple):
    """A kind of credential that is known by its text.

    Attributes:
        kind: What it is, with its article, for a message.
        anchors: Substrings with one of which every such text begins.
        pattern: The regular expression, matched where an anchor stands. A group ``literal`` is
            the part that must be a real value, and not a placeholder, for the match to count.
        unbroken: Whether the anchor is part of at least 20 letters, digits, ``_`` and ``-`` in a
            row, so that only such runs need to be searched for it.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    unbroken: bool = True


_ALONE = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"

# Sources: AWS "IAM identifiers"; GitHub "About authentication"; GitLab "Token overview"; Slack
# "Token types"; Hugging Face "User access tokens"; Google Cloud "API keys"; RFC 7468 (PEM),
# RFC 7519 (JWT), RFC 6750 (Bearer); Azure Storage "Connection strings". Written 2026-11.
SHAPES: tuple[Shape, ...] = (
    Shape("an AWS access key id", ("AKIA", "ASIA"), _ALONE + r"A[KS]IA[A-Z0-9]{16}" + _END),
    Shape(
        "an AWS session token",
        ("IQoJb3JpZ2luX2Vj", "FwoGZXIvYXdzE"),
        _ALONE + r"[A-Za-z0-9/+=]{80,}",
        unbroken=False,
    ),
    Shape(
        "a private key",
        ("-----BEGIN ",),
        # The key itself must follow, also inside a quoted string: code may name the mere header.
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s\"'+\\bf(#])*"
        r"(?:[A-Za-z0-9+/]{16}|Proc-Type:|Version:|Comment:)",
        unbroken=False,
    ),
    Shape(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        _ALONE + r"gh[pousr]_[A-Za-z0-9]{30,}",
    ),
    Shape("a GitHub token", ("github_pat_",), _ALONE + r"github_pat_\w{22,}"),
    Shape("a GitLab token", ("glpat-",), _ALONE + r"glpat-[\w-]{20,}"),
    Shape("a Slack token", ("xox", "xapp-"), _ALONE + r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{16,}"),
    Shape(
        "a Slack webhook",
        ("hooks.slack.com/services/",),
        r"hooks\.slack\.com/services/T\w+/B\w+/\w{16,}",
        unbroken=False,
    ),
    Shape("a Hugging Face token", ("hf_",), _ALONE + r"hf_[A-Za-z0-9]{30,}" + _END),
    Shape(
        "an API key",
        ("sk-", "sk_live_", "rk_live_"),
        _ALONE + r"(?:sk-[A-Za-z0-9]{20,}|sk-(?:proj|svcacct|admin|ant|or)-[\w-]{20,}"
        r"|[sr]k_live_[A-Za-z0-9]{16,})",
    ),
    Shape("a Weights & Biases key", ("wandb_v1_",), r"wandb_v1_\w{20,}"),
    Shape(
        "a Weights & Biases key",
        ("wandb.login",),
        r"wandb\.login\([^)\n]*key\s*=\s*\\?[\"'][0-9a-f]{40}",
        unbroken=False,
    ),
    Shape("a Google API key", ("AIza",), _ALONE + r"AIza[\w-]{35}(?![\w-])"),
    Shape("a Google OAuth secret", ("GOCSPX-",), _ALONE + r"GOCSPX-[\w-]{20,}"),
    Shape("a Google access token", ("ya29.",), _ALONE + r"ya29\.[\w.-]{20,}", unbroken=False),
    # Before the JSON web token, whose anchor it shares.
    Shape("a Neptune API token", ("eyJhcGlfYWRkcmVzcyI6",), r"eyJhcGlfYWRkcmVzcyI6[\w+/=]{20,}"),
    Shape("a JSON web token", ("eyJ",), _ALONE + r"eyJ[\w-]{8,}\.ey[\w-]{8,}\.[\w-]{8,}"),
    Shape("a Databricks token", ("dapi",), _ALONE + r"dapi[0-9a-f]{32}" + _END),
    Shape(
        "an Azure key",
        ("AccountKey=", "SharedAccessKey="),
        r"\w+=[A-Za-z0-9+/]{32,}={0,2}",
        unbroken=False,
    ),
    Shape(
        "a signed URL",
        ("-Signature=", "sig="),
        r"(?:(?<=X-Amz|-Goog)-Signature|(?<=[?&])sig)=(?P<literal>[\w%+/=-]{16,})",
        unbroken=False,
    ),
    Shape(
        "a URL with a password in it",
        ("://",),
        # `user:tag@sha256:` is an image reference, not a password.
        r"://[^/\s:@\"'<>]*:(?P<literal>[^/\s@\"'<>]+)@(?!sha256:)",
        unbroken=False,
    ),
    Shape(
        "an Authorization header",
        ("earer ",),
        r"(?<=[Bb])earer +(?=[A-Za-z._~+/-]*\d)(?P<literal>[\w.~+/-]{16,}=*)",
        unbroken=False,
    ),
)

_RUN = 20
_RUN_CHARACTERS = (string.ascii_letters + string.digits + "_-").encode()
_AS_RUNS = bytes(ord("a") if byte in _RUN_CHARACTERS else ord(" ") for byte in range(256))

_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


class Match(NamedTuple):
    """One place in a text that has a credential's shape; ``start`` and ``end`` are offsets."""

    start: int
    end: int
    kind: str
    literal: str | None


def matches(text: str) -> Iterator[Match]:
    """Every place in ``text`` that has one of :data:`SHAPES`, shape by shape."""
    runs = _long_runs(text)
    for shape in SHAPES:
        for anchor in shape.anchors:
            if shape.unbroken and anchor not in runs:
                continue
            at = text.find(anchor)
            while at >= 0:
                found = _compiled(shape.pattern).match(text, at)
                if found:
                    literal = found.groupdict().get("literal")
                    yield Match(at, found.end(), shape.kind, literal)
                at = text.find(anchor, at + len(anchor))


def aws_secret_keys(text: str) -> Iterator[Match]:
    """Runs of 40 characters in ``text`` that can be an AWS secret access key.

    The shape alone is weak (it is that of any base64 text of 30 bytes), so the caller asks only
    near an access key id or a name that says secret. A hexadecimal run is a git hash or a digest.
    """
    for found in _AWS_SECRET.finditer(text):
        if _mixed(found.group()) and not _readable_base64(found.group()):
            yield Match(found.start(), found.end(), "an AWS secret access key", None)


def is_bare_aws_secret_key(value: str) -> bool:
    """Whether the whole of ``value`` is so random that it is an AWS secret access key by itself.

    The bounds were set on 200,000 random keys (99 in 100 pass) and on paths and identifiers of the
    same length, which are made of words: few changes between letter cases, long runs of lower case.
    """
    if not _AWS_SECRET.fullmatch(value) or not _mixed(value) or _readable_base64(value):
        return False
    changes = sum(_class(a) != _class(b) for a, b in pairwise(value))
    in_words = sum(len(run) for run in re.findall(r"[a-z]{4,}", value))
    return changes >= 12 and in_words < 14 and entropy(value) >= 4.2


def entropy(value: str) -> float:
    """Shannon entropy of the characters of ``value``, in bits per character; 0.0 when empty."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def _long_runs(text: str) -> str:
    """The unbroken runs of ``text`` in which a token can stand, one a line.

    They are a tenth of ordinary source. Finding them by a translation table and one long needle
    costs a fifth of searching the whole text for every anchor.
    """
    data = text.encode("utf-8", "replace")
    mapped = data.translate(_AS_RUNS) + b" "
    needle, runs = b"a" * _RUN, []
    at = mapped.find(needle)
    while at >= 0:
        end = mapped.find(b" ", at + _RUN)
        runs.append(data[at:end])
        at = mapped.find(needle, end)
    return b"\n".join(runs).decode("ascii")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


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
