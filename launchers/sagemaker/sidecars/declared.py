"""What stands beside SageMaker's containers in a rehearsal: object store, credentials, data."""

from __future__ import annotations

import os
from pathlib import Path

from launchers.core.model.containers import Access, DataSource, MachineAccount, Sidecar

STORE = Sidecar(
    "launch-object-store", Path(__file__).with_name("object_store.py"), "/launch/objects"
)
STORE_URL = f"http://{STORE.name}:9000"
# The variables by which boto3 (1.28 and later) and AWS's toolkit are sent to another endpoint.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT_URL")
_CREDENTIALS = "/launch/credentials"


def data_source(with_credentials: bool) -> DataSource | None:
    """The S3 endpoint that the environment names, else AWS where its credentials may be used."""
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), None)
    if not endpoint and not with_credentials:
        return None

    def fetch(uri: str, folder: Path, what: str) -> None:
        from launchers.sagemaker.extra import SDK

        SDK.require()
        from launchers.sagemaker.service.s3_objects import fetch as fetch_objects

        fetch_objects(uri, folder, what, endpoint)

    return DataSource(endpoint or "AWS", "s3://", fetch)


def _borrow(folder: Path) -> Path:
    from launchers.sagemaker.extra import SDK

    SDK.require()
    from launchers.sagemaker.service.host_credentials import write_credentials

    return write_credentials(folder)


# Where EC2 gives a machine the keys of its role; boto3 and AWS's own tools heed the variable.
MACHINE_ACCOUNT = MachineAccount(("169.254.169.254",), {"AWS_EC2_METADATA_DISABLED": "true"})

# The engine keeps a container's environment on disk and AWS's toolkit writes it to
# /etc/environment, so credentials never go there; only the name of their file does.
ACCESS = Access(
    borrow=_borrow,
    path=_CREDENTIALS,
    environment={"AWS_SHARED_CREDENTIALS_FILE": _CREDENTIALS},
    note="this machine's AWS credentials, from a read-only file in memory",
    # boto3 signs a request before it sends it; the object store looks at no signature.
    placeholder=b"[default]\naws_access_key_id = rehearsal\naws_secret_access_key = rehearsal\n",
)
