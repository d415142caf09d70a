"""Names, labels and addresses: what the API's documentation says of a field's text.

Source: the API's CustomJob and CustomJobSpec; Google Cloud's page on labels.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from launchers.core.document import at, mapping
from launchers.core.problems import Problem

LONGEST_DISPLAY_NAME = 128
LONGEST_LABEL = 63
MOST_LABELS = 64

_PROJECT = r"(?:[a-z0-9.-]+:)?[a-z0-9-]+"
_LOCATION = r"(?P<location>[a-z0-9-]+)"
# What stands at a path below $: its form, and what that looks like.
_FORMS = {
    ("jobSpec", "network"): (
        r"projects/\d+/global/networks/[a-z0-9-]+",
        "projects/NUMBER/global/networks/NAME, with the project's number",
    ),
    ("jobSpec", "serviceAccount"): (
        r"[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com",
        "a service account's address, NAME@PROJECT.iam.gserviceaccount.com",
    ),
    ("jobSpec", "baseOutputDirectory", "outputUriPrefix"): (
        r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/[^\r\n]*)?",
        "a place in Cloud Storage, gs://BUCKET/FOLDER",
    ),
    ("jobSpec", "tensorboard"): (
        rf"projects/{_PROJECT}/locations/{_LOCATION}/tensorboards/\w+",
        "projects/P/locations/L/tensorboards/ID",
    ),
    ("encryptionSpec", "kmsKeyName"): (
        rf"projects/{_PROJECT}/locations/{_LOCATION}/keyRings/[\w-]+/cryptoKeys/[\w-]+",
        "projects/P/locations/L/keyRings/R/cryptoKeys/K",
    ),
    ("jobSpec", "pscInterfaceConfig", "networkAttachment"): (
        rf"(projects/{_PROJECT}/regions/{_LOCATION}/networkAttachments/)?[a-z0-9-]+",
        "projects/P/regions/R/networkAttachments/NAME",
    ),
}


def check_fields(document: object) -> list[Problem]:
    """Rules over names, labels and addresses; a field of the wrong type is left to the model's
    own check."""
    return [*_name(document), *_labels(document), *_forms(document), *_together(document)]


def check_location(document: object, location: str) -> list[Problem]:
    """Resources that the document names in another place than the job's.

    Args:
        location: Where the job is sent, ``us-central1``; the document does not say so itself.
    """
    problems = []
    for keys, (pattern, _) in _FORMS.items():
        value = at(document, *keys)
        match = re.fullmatch(pattern, value) if isinstance(value, str) else None
        elsewhere = match.groupdict().get("location") if match else None
        if elsewhere and elsewhere != location:
            found = f"in {elsewhere}, for a job in {location}"
            path = ".".join(("$", *keys))
            problems.append(Problem(path, found, f"one in {location}", rule="location"))
    return problems


def _name(document: object) -> list[Problem]:
    name = at(document, "displayName")
    if not isinstance(name, str) or len(name) <= LONGEST_DISPLAY_NAME:
        return []
    expected = f"at most {LONGEST_DISPLAY_NAME} characters"
    return [Problem("$.displayName", f"{len(name)} characters", expected, rule="display-name")]


def _labels(document: object) -> list[Problem]:
    # A YAML file may have numbers for keys; the model's own check tells of those.
    labels: dict[Any, Any] = mapping(document, "labels")
    problems = []
    if len(labels) > MOST_LABELS:
        found = f"{len(labels)} labels"
        problems.append(Problem("$.labels", found, f"at most {MOST_LABELS}", rule="label-count"))
    for key, value in labels.items():
        if not isinstance(key, str):
            continue
        path = f"$.labels.{key[:LONGEST_LABEL]}"
        if not _is_label(key, least=1):
            expected = f"{_LABEL_TEXT}, beginning with a letter"
            problems.append(Problem(path, f"the key {key[:70]!r}", expected, rule="label"))
        if isinstance(value, str) and not _is_label(value, least=0):
            problems.append(Problem(path, f"the value {value[:70]!r}", _LABEL_TEXT, rule="label"))
    return problems


_LABEL_TEXT = (
    f"at most {LONGEST_LABEL} characters: letters without capitals, digits, underscores, hyphens"
)


def _is_label(text: str, least: int) -> bool:
    """A key has ``least`` 1 character, the first of them a letter."""
    # Letters of any script that are not capitals, digits of any script.
    kinds = [unicodedata.category(character) for character in text]
    good = all(
        kind in ("Ll", "Lo", "Nd", "Nl", "No") or character in "_-"
        for kind, character in zip(kinds, text, strict=True)
    )
    begins = not least or kinds[:1] in (["Ll"], ["Lo"])
    return good and begins and least <= len(text) <= LONGEST_LABEL


def _forms(document: object) -> list[Problem]:
    problems = []
    for keys, (pattern, expected) in _FORMS.items():
        value = at(document, *keys)
        if isinstance(value, str) and value and not re.fullmatch(pattern, value):
            path = ".".join(("$", *keys))
            problems.append(Problem(path, value[:80], expected, rule="address"))
    return problems


def _together(document: object) -> list[Problem]:
    spec = mapping(document, "jobSpec")
    problems = []
    if spec.get("network") and spec.get("pscInterfaceConfig"):
        problems.append(
            Problem(
                "$.jobSpec.network",
                "together with pscInterfaceConfig",
                "one of the two",
                "a job is peered with a network, or has an interface in it",
                rule="network-psc",
            )
        )
    if spec.get("tensorboard"):
        needed = {
            "serviceAccount": "the service account that writes to the TensorBoard",
            "baseOutputDirectory": "where the job's logs are read from (AIP_TENSORBOARD_LOG_DIR)",
        }
        problems += _needed(spec, needed)
    return problems


def _needed(spec: dict[str, object], needed: dict[str, str]) -> Iterable[Problem]:
    for key, expected in needed.items():
        if not spec.get(key):
            yield Problem(f"$.jobSpec.{key}", "missing", expected, rule="tensorboard")
