"""What stands beside Vertex AI's replicas in a rehearsal: the metadata server of their account."""

from __future__ import annotations

from pathlib import Path

from launchers.core.model.containers import Access, MachineAccount, Sidecar

METADATA = Sidecar(
    "launch-metadata",
    Path(__file__).with_name("metadata_server.py"),
    "/launch/token.json",
    "metadata.google.internal",
)
# On Google's machines the server is at an address that no network of an engine has. Google's
# client libraries ask for the second variable first, to learn whether there is a server.
_VARIABLES = ("GCE_METADATA_HOST", "GCE_METADATA_IP")

# The same address on Compute Engine and on EC2, where a rehearsal may run as well; google-auth and
# boto3 heed the variables.
MACHINE_ACCOUNT = MachineAccount(
    ("169.254.169.254",), {"NO_GCE_CHECK": "true", "AWS_EC2_METADATA_DISABLED": "true"}
)


def _borrow(folder: Path) -> Path:
    from launchers.vertex.extra import SDK

    SDK.require()
    from launchers.vertex.service.host_token import write_token

    return write_token(folder)


ACCESS = Access(
    borrow=_borrow,
    path=METADATA.serves,
    environment=dict.fromkeys(_VARIABLES, METADATA.address),
    note="a token of this machine's Google account, from a metadata server beside the containers; "
    "buckets stay empty folders",
    server=METADATA,
)
