"""Project, location and bucket: what is known of the account without asking it.

A dry run does not go online. What flags, launch.yaml, the environment and gcloud's configuration
do not say is a placeholder there, of a form that the service's own model accepts.
"""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass
from pathlib import Path

from launchers.core.paths import at_home
from launchers.core.planning import plan
from launchers.vertex.options import VertexJob

PLACEHOLDER_PROJECT = "placeholder-project"
PLACEHOLDER_BUCKET = "placeholder-bucket"
ASSUMED_LOCATION = "us-central1"
BUCKET_VARIABLE = "LAUNCH_VERTEX_BUCKET"
# In this order; the second of each is what gcloud itself reads.
PROJECT_VARIABLES = ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
LOCATION_VARIABLES = ("CLOUDSDK_AI_REGION", "GOOGLE_CLOUD_REGION", "GOOGLE_CLOUD_LOCATION")
KEY_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
_CONFIGURATION = "gcloud's configuration"


@dataclass(frozen=True)
class Account(plan.Account):
    """What a request needs of an account, each with where it came from."""

    project: str
    project_origin: str
    location: str
    location_origin: str
    bucket: str
    bucket_origin: str

    @property
    def project_is_placeholder(self) -> bool:
        """Whether the project is yet to be filled in."""
        return self.project == PLACEHOLDER_PROJECT

    @property
    def bucket_is_placeholder(self) -> bool:
        """Whether the bucket is yet to be filled in."""
        return self.bucket == PLACEHOLDER_BUCKET

    @property
    def location_is_assumed(self) -> bool:
        """Whether nobody said where; a submission needs it said."""
        return self.location_origin == "assumed"


def account_of(job: VertexJob) -> Account:
    """What ``job``, the environment and gcloud's configuration say; placeholders for the rest."""
    project, project_origin = _project(job)
    location, location_origin = _location(job)
    bucket, bucket_origin = _bucket(job)
    return Account(
        project=project,
        project_origin=job.origin("project", project_origin),
        location=location,
        location_origin=job.origin("region", location_origin),
        bucket=bucket.removeprefix("gs://").rstrip("/"),
        bucket_origin=job.origin("bucket", bucket_origin),
    )


def default_bucket(project: str, location: str) -> str:
    """The name that Vertex AI's own SDK gave a project's staging bucket in a location, until it
    began to add a random text. Anybody may own a bucket of that name: whoever uses it must see
    first that it is the project's."""
    # A project of a domain is named example.com:project; no bucket may hold a colon.
    return f"{project.replace('.', '-').replace(':', '-')}-vertex-staging-{location}"


def credentials_file() -> Path:
    """Where `gcloud auth application-default login` puts them (google-auth: _cloud_sdk.py)."""
    return _folder() / "application_default_credentials.json"


def own_account() -> str:
    """Whom gcloud calls, which a user's own credentials are usually of; empty where it does not
    say."""
    return _configured("core", "account")


def _project(job: VertexJob) -> tuple[str, str]:
    if job.options.project:
        return job.options.project, "--project"
    found = _from_environment(PROJECT_VARIABLES)
    if found[0]:
        return found
    project = _configured("core", "project")
    return (project, _CONFIGURATION) if project else (PLACEHOLDER_PROJECT, "placeholder")


def _location(job: VertexJob) -> tuple[str, str]:
    if job.region:
        return job.region, "--location"
    found = _from_environment(LOCATION_VARIABLES)
    if found[0]:
        return found
    location = _configured("ai", "region")
    if not location and (found := _from_environment(("CLOUDSDK_COMPUTE_REGION",)))[0]:
        return found
    location = location or _configured("compute", "region")
    return (location, _CONFIGURATION) if location else (ASSUMED_LOCATION, "assumed")


def _bucket(job: VertexJob) -> tuple[str, str]:
    if job.bucket:
        return job.bucket, "--bucket"
    found = _from_environment((BUCKET_VARIABLE,))
    return found if found[0] else (PLACEHOLDER_BUCKET, "placeholder")


def _from_environment(variables: tuple[str, ...]) -> tuple[str, str]:
    for variable in variables:
        value = os.environ.get(variable, "")
        # `global` is where models answer, set for other clients; no training runs there.
        if value and value != "global":
            return value, variable
    return "", ""


def _configured(section: str, key: str) -> str:
    """A property of gcloud's active configuration, as gcloud itself finds it."""
    folder = _folder()
    parser = configparser.RawConfigParser()
    try:
        active = os.environ.get("CLOUDSDK_ACTIVE_CONFIG_NAME") or _active(folder)
        parser.read(folder / "configurations" / f"config_{active}", encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return ""
    return parser.get(section, key, fallback="").strip()


def _folder() -> Path:
    return at_home(os.environ.get("CLOUDSDK_CONFIG") or "~/.config/gcloud")


def _active(folder: Path) -> str:
    try:
        name = (folder / "active_config").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return "default"
    return name or "default"
