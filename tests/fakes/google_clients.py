"""Google's official clients, unmodified, of the loopback service; and jobs that it accepts."""

from __future__ import annotations

import json
from typing import Any

from google.auth.transport.requests import AuthorizedSession
from google.cloud import aiplatform_v1, storage
from google.oauth2 import service_account

from tests.fakes.vertex_service import LOCATION, VertexService

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


def credentials(google: VertexService) -> Any:
    """The caller's, as ``google.auth.default`` makes them of the environment."""
    return service_account.Credentials.from_service_account_file(
        str(google.credentials_file), scopes=_SCOPES
    )


def job_client(google: VertexService) -> Any:
    """A client of Vertex AI's jobs, over REST."""
    return aiplatform_v1.JobServiceClient(
        transport="rest",
        credentials=credentials(google),
        client_options={"api_endpoint": google.url},
    )


def session(google: VertexService) -> Any:
    """For the services that have no client here: URLs are ``f"{google.url}/v2/entries:list"``."""
    return AuthorizedSession(credentials(google))


def storage_client(google: VertexService) -> Any:
    """A client of Cloud Storage."""
    return storage.Client(
        project=google.account.project,
        credentials=credentials(google),
        client_options={"api_endpoint": google.url},
    )


def parent_of(google: VertexService, location: str = LOCATION) -> str:
    """Where jobs are made."""
    return f"projects/{google.account.project}/locations/{location}"


def job_document(name: str = "job-1", replicas: int = 2, **more: Any) -> dict[str, Any]:
    """A small CustomJob, as protobuf JSON; ``more`` are further members of it."""
    first = {
        "machineSpec": {
            "machineType": "g2-standard-24",
            "acceleratorType": "NVIDIA_L4",
            "acceleratorCount": 2,
        },
        "replicaCount": "1",
        "containerSpec": {"imageUri": "us-docker.pkg.dev/p/r/horovod:1", "command": ["python3"]},
    }
    others = [{**first, "replicaCount": str(replicas - 1)}] if replicas > 1 else []
    return {"displayName": name, "jobSpec": {"workerPoolSpecs": [first, *others]}, **more}


def create(google: VertexService, client: Any = None, **wanted: Any) -> Any:
    """A job by :func:`job_document`; gives what the client got."""
    job = aiplatform_v1.CustomJob.from_json(json.dumps(job_document(**wanted)))
    sender = client or job_client(google)
    return sender.create_custom_job(parent=parent_of(google), custom_job=job, retry=None)
