"""Values of secrets from references to them, in the replica, with the job's own role.

The one module here that may import a cloud's client, and only when a secret is named. References:

    arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME[:JSON-KEY]    AWS Secrets Manager
    arn:aws:ssm:REGION:ACCOUNT:parameter/NAME                       AWS Systems Manager
    projects/PROJECT/secrets/NAME/versions/VERSION                  Google Secret Manager
    env:NAME                                                        a variable of this machine
    file:PATH                                                       a file, without its last newline
"""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, MutableMapping

# Set by the service for process 1 of a container; ranks on other hosts may not inherit them.
_CREDENTIAL_VARIABLES = (
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
)
_PARTS_OF_A_SECRET = 7


class SecretError(Exception):
    """A reference gave no value.

    Args:
        name: The variable that was to hold it.
        reference: As the job definition has it.
        why: What went wrong; never a value.
        fix: What to do.
    """

    def __init__(self, name: str, reference: str, why: str, fix: str = ""):
        super().__init__(name, reference, why, fix)
        self.name, self.reference, self.why, self.fix = name, reference, why, fix


def resolve(references: Mapping[str, str], environment: MutableMapping[str, str]) -> dict[str, str]:
    """The values, by variable. May block on the network.

    Raises:
        SecretError: One has no value, or the image lacks the client to ask for it.
    """
    return {name: _value(name, reference, environment) for name, reference in references.items()}


def _value(name: str, reference: str, environment: MutableMapping[str, str]) -> str:
    kind, _, rest = reference.partition(":")
    if kind == "env":
        if rest not in environment:
            fix = "set it before `launch` is started"
            raise SecretError(name, reference, f"the variable {rest} is not set", fix)
        return environment[rest]
    if kind == "file":
        return _from_file(name, reference, rest)
    if reference.startswith("arn:"):
        return _from_aws(name, reference, environment)
    if reference.startswith("projects/"):
        # Here, as a rank without such a secret needs neither HTTP nor TLS.
        from launch_runtime.rank import google_secrets

        try:
            return google_secrets.value(reference, environment)
        except google_secrets.NoValueError as error:
            raise SecretError(name, reference, error.why, error.fix) from None
    raise SecretError(
        name,
        reference,
        "no reference of a known form",
        "use an ARN, projects/P/secrets/NAME/versions/V, env: or file:",
    )


def _from_file(name: str, reference: str, path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SecretError(name, reference, f"the file cannot be read: {why}") from None
    return text[:-1] if text.endswith("\n") else text


def _from_aws(name: str, reference: str, environment: MutableMapping[str, str]) -> str:
    try:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        raise SecretError(
            name,
            reference,
            "this image has no boto3, which asks AWS for the value",
            "add boto3 to the image, or to the file of --requirements",
        ) from None
    _inherit_credentials(environment)
    parts = reference.split(":")
    service, region = parts[2], parts[3]
    try:
        if service == "ssm":
            client = boto3.client("ssm", region_name=region)
            found = client.get_parameter(
                Name=reference.partition(":parameter")[2], WithDecryption=True
            )
            return str(found["Parameter"]["Value"])
        client = boto3.client("secretsmanager", region_name=region)
        found = client.get_secret_value(SecretId=":".join(parts[:_PARTS_OF_A_SECRET]))
    except (BotoCoreError, ClientError) as error:
        raise SecretError(
            name,
            reference,
            str(error).replace("\n", " "),
            "let the job's role read it (secretsmanager:GetSecretValue, ssm:GetParameter)",
        ) from None
    return _part_of(name, reference, found, parts[_PARTS_OF_A_SECRET:])


def _part_of(name: str, reference: str, found: Mapping[str, Any], key: list[str]) -> str:
    """The secret's text, or what stands under a key of the JSON in it."""
    text = found.get("SecretString")
    if text is None:
        raise SecretError(name, reference, "the secret is binary", "store it as text")
    if not key or not key[0]:
        return str(text)
    try:
        return str(json.loads(text)[key[0]])
    except (ValueError, KeyError, TypeError):
        raise SecretError(
            name, reference, "the secret has no JSON key of that name", "check the last part"
        ) from None


def _inherit_credentials(environment: MutableMapping[str, str]) -> None:
    if any(name in environment for name in (*_CREDENTIAL_VARIABLES, "AWS_ACCESS_KEY_ID")):
        return
    try:
        with open("/proc/1/environ", "rb") as file:
            entries = file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return
    for entry in entries:
        variable, _, value = entry.partition("=")
        if variable in _CREDENTIAL_VARIABLES:
            environment[variable] = value
