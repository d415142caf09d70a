"""Names, labels and addresses: what the API's documentation says of a field's text.

Source: the API's CustomJob and CustomJobSpec; Google Cloud's page on labels.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from launchers.core.credentials.search import problems_in_environment
from launchers.core.model.document import at, entries, mapping
from launchers.core.model.problems import Problem
from launchers.vertex.catalogue import RULES

LONGEST_DISPLAY_NAME = 128
LONGEST_LABEL = 63
MOST_LABELS = 64

_PROJECT = r"(?:[a-z0-9.-]+:)?[a-z0-9-]+"
_LOCATION = r"(?P<location>[a-z0-9-]+)"
_CONTEXT = (
    rf"projects/{_PROJECT}/locations/{_LOCATION}/metadataStores/[\w-]+/contexts/[a-z0-9][a-z0-9-]*"
)
_CONTEXT_TEXT = "projects/P/locations/L/metadataStores/default/contexts/NAME"
# What stands at a path below $: its form, and what that looks like.
_FORMS = {
    ("jobSpec", "network"): (
        r"projects/\d+/global/networks/[a-z0-9-]+",
        "projects/NUMBER/global/networks/NAME, with the project's number",
    ),
    ("jobSpec", "persistentResourceId"): (
        r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
        "its ID alone: at most 63 lower case letters, digits and hyphens, beginning with a letter",
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
    ("jobSpec", "experiment"): (_CONTEXT, _CONTEXT_TEXT),
    ("jobSpec", "experimentRun"): (_CONTEXT, _CONTEXT_TEXT),
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


def check_field_locations(document: object, location: str) -> list[Problem]:
    """Addresses that lie in another place than ``location``, where the job is sent."""
    problems = []
    for keys, (pattern, _) in _FORMS.items():
        value = at(document, *keys)
        match = re.fullmatch(pattern, value) if isinstance(value, str) else None
        elsewhere = match.groupdict().get("location") if match else None
        if elsewhere and elsewhere != location:
            found = f"in {elsewhere}, for a job in {location}"
            path = ".".join(("$", *keys))
            problems.append(RULES["location"].at(path, found, f"one in {location}"))
    return problems


def _name(document: object) -> list[Problem]:
    name = at(document, "displayName")
    if not isinstance(name, str) or len(name) <= LONGEST_DISPLAY_NAME:
        return []
    expected = f"at most {LONGEST_DISPLAY_NAME} characters"
    return [RULES["display-name"].at("$.displayName", f"{len(name)} characters", expected)]


def _labels(document: object) -> list[Problem]:
    # A YAML file may have numbers for keys; the model's own check tells of those.
    labels: dict[Any, Any] = mapping(document, "labels")
    problems = []
    if len(labels) > MOST_LABELS:
        found = f"{len(labels)} labels"
        problems.append(RULES["label-count"].at("$.labels", found, f"at most {MOST_LABELS}"))
    for key, value in labels.items():
        if not isinstance(key, str):
            continue
        path = f"$.labels.{key[:LONGEST_LABEL]}"
        if not _is_label(key, least=1):
            expected = f"{_LABEL_TEXT}, beginning with a letter"
            found, fix = f"the key {key[:70]!r}", _as_label(key, least=1)
            problems.append(RULES["label-text"].at(path, found, expected, fix))
        if isinstance(value, str) and not _is_label(value, least=0):
            found, fix = f"the value {value[:70]!r}", _as_label(value, least=0)
            if problems_in_environment({key: value}, ""):  # A credential, which is told elsewhere.
                found, fix = f"a value of {len(value)} characters", ""
            problems.append(RULES["label-text"].at(path, found, _LABEL_TEXT, fix))
    return problems


def _as_label(text: str, least: int) -> str:
    """The nearest label, where one is near."""
    near = re.sub(r"[^\w-]+", "-", text.lower())[:LONGEST_LABEL].strip("-")
    return f"write {near}" if _is_label(near, max(least, 1)) else ""


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
            problems.append(RULES["resource-address"].at(path, value[:80], expected, _fix(value)))
    return problems


def _fix(value: str) -> str:
    """What was probably meant by a name of the wrong form."""
    network = re.fullmatch(r"(?:projects/(?P<project>[^/]+)/global/networks/)?[a-z0-9-]+", value)
    if network and network["project"]:
        return (
            f"gcloud projects describe {network['project']} --format 'value(projectNumber)' says it"
        )
    key = re.fullmatch(r"(?P<key>projects/.+/cryptoKeys/[\w-]+)/cryptoKeyVersions/.+", value)
    if key:
        return f"without its version: {key['key']}"
    resource = re.fullmatch(r"projects/.+/persistentResources/(?P<id>[a-z0-9-]+)", value)
    return f"write {resource['id']}" if resource else ""


def _together(document: object) -> list[Problem]:
    spec = mapping(document, "jobSpec")
    problems = []
    if spec.get("network") and spec.get("pscInterfaceConfig"):
        problems.append(
            RULES["network-twice"].at("$.jobSpec.network", "together with pscInterfaceConfig")
        )
    if spec.get("reservedIpRanges") and not spec.get("network"):
        where, found = "$.jobSpec.reservedIpRanges", "without network"
        problems.append(RULES["reserved-ip"].at(where, found))
    problems += _reachable(spec)
    if spec.get("experiment") and not spec.get("serviceAccount"):
        where, expected = "$.jobSpec.serviceAccount", "the account that writes to the experiment"
        problems.append(
            RULES["experiment"].at(
                where, "missing", expected, "--service-account", severity="warning"
            )
        )
    if spec.get("tensorboard"):
        needed = {
            "serviceAccount": "the service account that writes to the TensorBoard",
            "baseOutputDirectory": "where the job's logs are read from (AIP_TENSORBOARD_LOG_DIR)",
        }
        problems += _needed(spec, needed)
    return problems


def _reachable(spec: dict[str, object]) -> Iterable[Problem]:
    """Shares of the user's own network, which replicas outside of it cannot mount."""
    if any(spec.get(key) for key in ("network", "pscInterfaceConfig", "persistentResourceId")):
        return
    for index, pool in enumerate(entries(spec, "workerPoolSpecs")):
        for key in ("nfsMounts", "lustreMounts"):
            if pool.get(key):
                where = f"$.jobSpec.workerPoolSpecs[{index}].{key}"
                yield RULES["mount-network"].at(where, "without a network of yours")
                return


def _needed(spec: dict[str, object], needed: dict[str, str]) -> Iterable[Problem]:
    for key, expected in needed.items():
        if not spec.get(key):
            yield RULES["tensorboard"].at(f"$.jobSpec.{key}", "missing", expected)
