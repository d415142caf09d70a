"""What a credential looks like by its own text, whatever it is called.

Each shape is the issuer's documented format, and begins with a plain substring, its anchor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from launchers.core.credentials.anchors import LONG, RUN_CHARACTERS


class Shape(NamedTuple):
    """A kind of credential that is known by its text.

    Attributes:
        kind: What it is, with its article, for a message.
        anchors: Substrings with one of which every such text begins.
        pattern: The regular expression, matched where an anchor stands. A group ``literal`` is
            the part that must be a real value, and not a placeholder, for the match to count.
        strict: Whether no random bytes look like it, so that binary files are searched for it.
        unbroken: Whether each begins with :data:`LONG` or more of :data:`RUN_CHARACTERS`.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    strict: bool = True
    unbroken: bool = False


_ALONE = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
# An option of curl, on its line or on those that a backslash joins to it.
_CURL = r"curl (?:[^\n|;]|(?<=\\)\n){0,300}?\s?(?<=\s)"

# Sources: AWS "IAM identifiers"; GitHub "About authentication"; GitLab "Token overview"; Slack
# "Token types"; Hugging Face "User access tokens"; Google Cloud "API keys"; RFC 7468 (PEM),
# RFC 7519 (JWT), RFC 6750 (Bearer); Azure Storage "Connection strings"; Microsoft Teams "Incoming
# webhooks"; Mailchimp "About API keys"; 1Password "Secret Key"; Yandex Cloud "IAM token"; Sidekiq
# "Commercial FAQ"; SoftLayer API "Authentication"; Harness "Manage API keys"; Freemius SDK
# "Keys"; Docker CLI "docker login"; W&B "wandb login". Lengths that no issuer tells follow gitleaks
# and detect-secrets. Written 2026-11.
_OWN: tuple[Shape, ...] = (
    Shape(
        "an AWS access key id",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        _ALONE + r"A(?:[KSB]IA|CCA)[A-Z0-9]{16}" + _END,
        unbroken=True,
    ),
    Shape(
        "an AWS session token",
        ("IQoJb3JpZ2luX2Vj", "FwoGZXIvYXdzE"),
        _ALONE + r"[A-Za-z0-9/+=]{80,}",
    ),
    Shape(
        "a private key",
        ("-----BEGIN ",),
        # The key itself must follow, also inside a quoted string, or as the next one of a list of
        # lines, as a notebook's output has it: code may name the mere header.
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\\n[\"'],\s*[\"']|\\[nr]|[\s\"'+\\bf(#])*"
        r"(?:[A-Za-z0-9+/]{16}|Proc-Type:|Version:|Comment:)",
    ),
    Shape(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        _ALONE + r"gh[pousr]_[A-Za-z0-9]{30,}",
        unbroken=True,
    ),
    Shape("a GitHub token", ("github_pat_",), _ALONE + r"github_pat_\w{22,}", unbroken=True),
    Shape("a GitLab token", ("glpat-",), _ALONE + r"glpat-[\w-]{20,}", unbroken=True),
    Shape(
        "a Slack token",
        ("xox", "xapp-"),
        # A digit: `xox-` stands in no word, but in a pattern of such tokens.
        _ALONE + r"(?:xox[abeoprs]|xapp)-(?=[A-Za-z-]*\d)[A-Za-z0-9-]{10,}",
    ),
    Shape(
        "a Slack webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)"
        r"/(?:T\w+/[BA]?\w+/\w{16,}|[A-Za-z0-9+/]{43,})",
    ),
    Shape(
        "a Teams webhook",
        ("webhook.office.com/webhookb2/",),
        r"webhook\.office\.com/webhookb2/[\w@-]{40,}/IncomingWebhook/[\w-]{16,}",
    ),
    Shape("a Hugging Face token", ("hf_",), _ALONE + r"hf_[A-Za-z0-9]{30,}" + _END, unbroken=True),
    Shape(
        "an API key",
        ("sk-", "sk_live_", "rk_live_"),
        _ALONE + r"(?:sk-[A-Za-z0-9]{20,}|sk-[\w-]{10,}T3BlbkFJ[\w-]{10,}"
        r"|sk-(?:proj|svcacct|admin|ant|or)-[\w-]{20,}"
        r"|[sr]k_live_[A-Za-z0-9]{16,})",
        unbroken=True,
    ),
    Shape("a Weights & Biases key", ("wandb_v1_",), r"wandb_v1_\w{20,}", unbroken=True),
    Shape(
        "a Weights & Biases key",
        ("wandb.login",),
        r"wandb\.login\([^)\n]*key\s*=\s*\\?[\"'][0-9a-f]{40}",
        strict=False,
    ),
    Shape(
        "a Weights & Biases key",
        ("wandb login ",),
        r"wandb login (?:--?[\w-]+ ){0,4}\\?[\"']?(?!0{40})[0-9a-f]{40}" + _END,
        strict=False,
    ),
    Shape("a Google API key", ("AIza",), _ALONE + r"AIza[\w-]{35}(?![\w-])", unbroken=True),
    Shape("a Google OAuth secret", ("GOCSPX-",), _ALONE + r"GOCSPX-[\w-]{20,}", unbroken=True),
    Shape("a Google access token", ("ya29.",), _ALONE + r"ya29\.[\w.-]{20,}"),
    # Before the JSON web token, whose anchor it shares.
    Shape("a Neptune API token", ("eyJhcGlfYWRkcmVzcyI6",), r"eyJhcGlfYWRkcmVzcyI6[\w+/=]{20,}"),
    Shape("a JSON web token", ("eyJ",), _ALONE + r"eyJ[\w-]{8,}\.ey[\w-]{8,}\.(?:[\w-]{8,})?"),
    Shape("a Databricks token", ("dapi",), _ALONE + r"dapi[0-9a-f]{32}" + _END, unbroken=True),
    Shape(
        "an Azure key",
        ("AccountKey=", "SharedAccessKey="),
        r"\w+=[A-Za-z0-9+/]{32,}={0,2}",
        strict=False,
    ),
    Shape(
        "an Azure AD secret",
        ("Q~",),
        r"(?<=(?<![A-Za-z0-9_~.-])[\w~.]{3}\d)Q~[\w~.-]{31,34}(?![\w~.-])",
    ),
    Shape("a Twilio key", ("SK",), _ALONE + r"SK[0-9a-fA-F]{32}" + _END, unbroken=True),
    Shape(
        "a Telegram bot token",
        (":AA",),
        r"(?<=(?<!\d)\d{8}):AA[\w-]{33}(?![\w-])|(?<=(?<!\d)\d{9}):AA[\w-]{33}(?![\w-])"
        r"|(?<=(?<!\d)\d{10}):AA[\w-]{33}(?![\w-])",
    ),
    Shape(
        "an npm credential",
        ("_authToken", "_password", "_auth"),
        r"(?<=:)_(?:authToken|password|auth)\s*=\s*(?P<literal>[^\s\"'${}]{8,})",
        strict=False,
    ),
    Shape(
        "a Terraform Cloud token",
        (".atlasv1.",),
        r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[\w=-]{60,70}",
    ),
    Shape(
        "a password for curl",
        ("curl ",),
        _CURL + r"(?:-u|--user)[ =]{0,2}[\"']?[^\s:\"'${}<>]*[\"']?"
        r":[\"']?(?P<literal>[^\s\"'$\\{}<>]{3,})",
        strict=False,
    ),
    Shape(
        "a key for curl",
        ("curl ",),
        # As a user without a password.
        _CURL + r"(?:-u|--user)[ =]{0,2}[\"']?"
        r"(?=[A-Za-z_.~+/-]*\d)(?P<literal>[\w.~+/-]{20,}):(?=[\"'\s])",
        strict=False,
    ),
    Shape(
        "a header for curl",
        ("curl ",),
        _CURL + r"(?:-H|--header)[ =]{0,2}(?P<quote>[\"'])(?i:"
        r"authorization:\s*(?:(?:basic|bearer|(?:api-?)?token|apikey)\s+)?"
        r"|(?:x-(?!idempotency|request|trace|cache)(?:[a-z]+-)?)?(?:api-?)?(?:key|token):\s*)"
        r"(?=[A-Za-z_=~@.+/-]*\d)(?P<literal>[\w=~@.+/-]{8,})(?P=quote)",
        strict=False,
    ),
    Shape(
        "a password of a login",
        ("sshpass ", "docker login ", "machine "),
        r"(?:sshpass\s+-p[ ]?|docker login [^\n|;]{0,120}?(?:-p|--password)[ =]"
        r"|machine\s+\S+\s+login\s+\S+\s+password\s)[\"']?(?P<literal>[^\s\"'$\\{}<>]{3,})",
        strict=False,
    ),
    Shape(
        "a login for a registry",
        ('"auths"',),
        r"\"auths\"\s*:\s*\{[^{}]{0,300}\{[^{}]{0,300}?"
        # Not an example's "base64string", or user:pass in it.
        r"\"auth\"\s*:\s*\"(?!(?i:base64)|dXNlcjpwYXNz|dXNlcm5hbWU6cGFzc)"
        r"(?P<literal>[A-Za-z0-9+/]{8,}={0,2})\"",
        strict=False,
    ),
    Shape(
        "a signed URL",
        ("-Signature=", "sig="),
        r"(?:(?<=X-Amz|-Goog)-Signature|(?<=[?&])sig)=(?P<literal>[\w%+/=-]{16,})",
        strict=False,
    ),
    Shape(
        "a URL with a password in it",
        ("://",),
        # `user:tag@sha256:` is an image reference, not a password.
        r"://[^/\s:@\"'<>]*:(?P<literal>[^/\s@\"'<>]+)@(?!sha256:)",
        strict=False,
    ),
    Shape(
        "an Authorization header",
        ("earer ",),
        r"(?<=[Bb])earer +(?=[A-Za-z._~+/-]*\d)(?P<literal>[\w.~+/-]{16,}=*)",
        strict=False,
    ),
    Shape(
        "an Authorization header",
        ("uthorization",),
        # A value, not the name of one: it ends where the text that it stands in does.
        r"(?<=(?<![A-Za-z0-9])[Aa])uthorization[\"']?\s*[:=,]\s*[\"']?(?:(?:Basic|Token|token|ApiKey|Bot|SSWS)\s+)?"
        r"(?=[A-Za-z_.~+/-]*\d)(?P<literal>[\w.~+/-]{12,}={0,2})(?=[\"'\\])",
        strict=False,
    ),
    Shape(
        "a token in a conda channel",
        ("/t/",),
        # Anaconda's own on any host, any on its channels' hosts: a forum has /t/TITLE. Source:
        # conda's "Managing channels".
        r"/t/[a-z]{2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])"
        r"|(?:(?<=//conda\.anaconda\.org)|(?<=//repo\.anaconda\.cloud))/t/(?=[A-Za-z_-]*\d)"
        r"(?P<literal>[\w-]{16,})",
        strict=False,
    ),
    Shape(
        "a Kaggle key",
        ("username",),
        # kaggle.json under any name, or its text in a program.
        r"username\\?[\"']\s*:\s*\\?[\"'][\w.-]+\\?[\"']\s*,\s*\\?[\"']key\\?[\"']\s*:\s*"
        r"\\?[\"'](?P<literal>(?!0{32})[0-9a-f]{32})" + _END,
        strict=False,
    ),
    Shape("a Mailchimp key", ("-us",), r"(?<=(?<![0-9a-f])[0-9a-f]{32})-us\d{1,2}(?!\w)"),
    Shape(
        "a 1Password secret key",
        ("A3-",),
        _ALONE
        + r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"
        + _END,
        unbroken=True,
    ),
    Shape(
        "a Harness token",
        ("pat.", "sat."),
        _ALONE + r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}" + _END,
        unbroken=True,
    ),
    Shape(
        "a Freemius secret key",
        ("secret_key",),
        # In PHP; a sign or a digit, which a placeholder of words has not.
        r"secret_key[\"']\s*=>\s*[\"'](?=\S*[^\sA-Za-z_\"'-]\S*[\"'])(?P<literal>sk_\S{29})[\"']",
        strict=False,
    ),
    Shape("a Yandex Cloud token", ("t1.",), _ALONE + r"t1\.[\w-]+=*\.[\w-]{86}=*"),
    Shape(
        "a Sidekiq credential",
        ("__CONTRIBSYS__COM",),
        r"__CONTRIBSYS__COM[^\n0-9a-f]{1,12}[0-9a-f]{8}:[0-9a-f]{8}" + _END,
    ),
    Shape(
        "a SoftLayer key",
        ("api.softlayer.com/",),
        r"api\.softlayer\.com/(?:soap|xmlrpc|rest)/v3(?:\.1)?/[0-9a-f]{64}" + _END,
    ),
)


def _from_table() -> tuple[Shape, ...]:
    """The rows of shapes.json, where the prefix alone makes the shape."""
    rows = json.loads(Path(__file__).with_name("shapes.json").read_text("utf-8"))["shapes"]
    return tuple(_from_row(row["prefixes"], row["alphabet"], row) for row in rows)


def _from_row(prefixes: Sequence[str], alphabet: str, row: Mapping[str, Any]) -> Shape:
    least, most = row["length"]
    prefix = "|".join(map(re.escape, prefixes))
    length = f"{{{least},{'' if most is None else most}}}"
    end = f"(?![{alphabet}])" if most is not None else ""
    letters = _letters(alphabet)
    # A word of an ordinary identifier has no digit; where the alphabet has one, a key has it too.
    digit = rf"(?=[{alphabet}]*\d)" if letters & set("0123456789") else ""
    pattern = rf"(?<![A-Za-z0-9_/+])(?:{prefix}){digit}[{alphabet}]{length}{end}"
    unbroken = letters <= RUN_CHARACTERS and all(len(one) + least >= LONG for one in prefixes)
    return Shape(row["kind"], tuple(prefixes), pattern, unbroken=unbroken)


@cache
def _letters(alphabet: str) -> frozenset[str]:
    """The characters of a class that a regular expression names so."""
    return frozenset(re.findall(f"[{alphabet}]", "".join(map(chr, range(33, 127)))))


SHAPES: tuple[Shape, ...] = (*_OWN, *_from_table())
