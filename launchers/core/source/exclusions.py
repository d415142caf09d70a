"""What never travels with a source tree, whatever its ignore rules say.

Version control, virtual environments, caches and key files, by name; service account keys and
private keys by content, since they have any name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from fnmatch import fnmatchcase, translate

CACHE = "a cache"
VERSION_CONTROL = "version control"
_KEYS = "a file of credentials"
_ENVIRONMENT_FILE = "an environment file, which holds credentials"

_FOLDERS = {
    "__pycache__": CACHE,
    ".mypy_cache": CACHE,
    ".pytest_cache": CACHE,
    ".ruff_cache": CACHE,
    ".hypothesis": CACHE,
    ".ipynb_checkpoints": "a notebook's checkpoints",
    ".tox": "a virtual environment",
    ".nox": "a virtual environment",
    ".hg": VERSION_CONTROL,
    ".svn": VERSION_CONTROL,
    ".aws": _KEYS,
    ".azure": _KEYS,
    ".docker": _KEYS,
    ".gcloud": _KEYS,
    ".gnupg": _KEYS,
    ".kube": _KEYS,
    ".ssh": _KEYS,
}
_FILES = {
    ".ds_store": CACHE,
    "thumbs.db": CACHE,
    ".git-credentials": _KEYS,
    ".netrc": _KEYS,
    "_netrc": _KEYS,
    ".pgpass": _KEYS,
    ".pypirc": _KEYS,
    ".htpasswd": _KEYS,
    "application_default_credentials.json": _KEYS,
    "credentials.json": _KEYS,
    "kaggle.json": _KEYS,
}
_FILE_PATTERNS = {
    "*.py[co]": CACHE,
    "id_rsa*": _KEYS,
    "id_dsa*": _KEYS,
    "id_ecdsa*": _KEYS,
    "id_ed25519*": _KEYS,
    "*.key": _KEYS,
    "*.p12": _KEYS,
    "*.pfx": _KEYS,
    "*.jks": _KEYS,
    "*.keystore": _KEYS,
    "*.kdbx": _KEYS,
    "*.ppk": _KEYS,
}
_ANY_PATTERN = re.compile("|".join(map(translate, _FILE_PATTERNS)))
# A sample of an environment file is made to be shared.
_SHARED_SAMPLES = (".example", ".sample", ".template", ".dist")

_CONTENT_LIMIT = 64 * 1024  # bytes; no key file is longer
_SERVICE_ACCOUNT = re.compile(
    rb'"type"\s*:\s*"(?:service_account|authorized_user|external_account)"'
)


def by_name(name: str, is_folder: bool) -> str:
    """Why a file or folder called ``name`` never travels; empty when it may."""
    folded = name.lower()
    if folded == ".git":  # a folder, or the file that a worktree or a submodule has
        return VERSION_CONTROL
    if is_folder:
        return _FOLDERS.get(folded, "")
    if folded == ".env" or folded == ".envrc" or folded.startswith(".env."):
        return "" if folded.endswith(_SHARED_SAMPLES) else _ENVIRONMENT_FILE
    if folded in _FILES:
        return _FILES[folded]
    if not _ANY_PATTERN.match(folded):  # one look at each of many thousand names
        return ""
    return next(why for glob, why in _FILE_PATTERNS.items() if fnmatchcase(folded, glob))


def is_environment(names: Collection[str]) -> bool:
    """Whether a folder that holds ``names`` is a virtual or a conda environment."""
    return "pyvenv.cfg" in names or "conda-meta" in names


def by_content(path: str, size: int) -> str:
    """Why the file at ``path``, of ``size`` bytes, is a key file; empty when it is none.

    Reads ``.json`` and ``.pem`` files of up to 64 KiB; a ``.pem`` with certificates alone is public
    and travels. Raises OSError where the file cannot be read.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (".json", ".pem") or size > _CONTENT_LIMIT:
        return ""
    with open(path, "rb") as file:
        data = file.read()
    if suffix == ".json":
        return "a key of a cloud account" if _SERVICE_ACCOUNT.search(data) else ""
    return _KEYS if b"PRIVATE KEY" in data else ""
