"""An AWS account: who may sign, its roles, limits, subnets, keys and images."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from launchers.sagemaker.tables import machines
from tests.fakes.aws_signatures import Identity, made_up
from tests.fakes.wire import Request, ServiceError

ACCOUNT = "111122223333"
# Of a service quota, unless a test says less: nothing is ever short.
PLENTY = 1000.0


@dataclass
class Role:
    """A role of IAM.

    Attributes:
        trusts: The services that may take it on.
        allowed: What SimulatePrincipalPolicy allows it; None for everything.
        denied: What it denies explicitly.
    """

    arn: str
    trusts: tuple[str, ...] = ("sagemaker.amazonaws.com",)
    allowed: frozenset[str] | None = None
    denied: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Without its path."""
        return self.arn.rpartition("/")[2]

    @property
    def trust_policy(self) -> str:
        """The document that says who may take the role on."""
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": list(self.trusts)},
            "Action": "sts:AssumeRole",
        }
        return json.dumps({"Version": "2012-10-17", "Statement": [statement]})

    def decision(self, action: str) -> str:
        """``allowed``, ``implicitDeny`` or ``explicitDeny``."""
        if action in self.denied:
            return "explicitDeny"
        return "allowed" if self.allowed is None or action in self.allowed else "implicitDeny"


@dataclass
class Account:
    """What a fake service knows of its account. Tests change it while the service runs.

    Attributes:
        identities: Access key -> who has it. ``user`` is the first of them.
        denied: Actions that nobody may do, ``iam:SimulatePrincipalPolicy`` or ``s3:*``.
        quotas: Name as ListServiceQuotas gives it -> instances.
        subnets: Id -> (VPC, availability zone).
        security_groups: Id -> VPC.
        keys: KMS key id -> state (``Enabled``, ``Disabled``, ``PendingDeletion``).
        images: (registry, repository) -> {tag: digest}.
    """

    id: str = ACCOUNT
    identities: dict[str, Identity] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    quotas: dict[str, float] = field(default_factory=dict)
    subnets: dict[str, tuple[str, str]] = field(default_factory=dict)
    security_groups: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    images: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.user = self.add_user("launcher")
        for machine in machines.load().values():
            for kind in ("training job", "spot training job"):
                self.quotas[f"{machine.name} for {kind} usage"] = PLENTY

    def add_user(self, name: str) -> Identity:
        """A user with credentials of their own."""
        return self._known(made_up(f"arn:aws:iam::{self.id}:user/{name}"))

    def add_session(self, role: str, session: str) -> Identity:
        """Temporary credentials of a role that was taken on."""
        arn = f"arn:aws:sts::{self.id}:assumed-role/{role}/{session}"
        return self._known(made_up(arn, temporary=True))

    def add_role(self, name: str, path: str = "/", **how: Any) -> Role:
        """A role; ``how`` are the fields of :class:`Role`."""
        role = Role(f"arn:aws:iam::{self.id}:role{path}{name}", **how)
        self.roles[role.name] = role
        return role

    def limit(self, machine: str, instances: float, spot: bool = False) -> None:
        """Set the quota of a machine."""
        kind = "spot training job" if spot else "training job"
        self.quotas[f"{machine} for {kind} usage"] = instances

    def deny(self, *actions: str) -> None:
        """From now on nobody may do these: ``sagemaker:CreateTrainingJob``."""
        self.denied.update(actions)

    def allow(self, *actions: str) -> None:
        """Take a :meth:`deny` back."""
        self.denied.difference_update(actions)

    def expire(self, identities: Iterable[Identity] | None = None) -> None:
        """Credentials (everybody's, unless said) are past their end from now on."""
        for identity in identities or list(self.identities.values()):
            identity.expired = True

    def renew(self, identities: Iterable[Identity] | None = None) -> None:
        """They are good again, as after a new login that gave the same ones."""
        for identity in identities or list(self.identities.values()):
            identity.expired = False

    def permit(self, request: Request) -> None:
        """Refuse what was denied.

        Raises:
            ServiceError: In the words of the service.
        """
        action = f"{request.service}:{_ACTIONS.get(request.operation, request.operation)}"
        if not {action, f"{request.service}:*"} & self.denied:
            return
        if request.service == "s3":
            raise ServiceError("AccessDenied", "Access Denied", 403)
        raise access_denied(request, request.identity.arn, action)

    def _known(self, identity: Identity) -> Identity:
        self.identities[identity.access_key] = identity
        return identity


# Operations of S3 whose permission has another name.
_ACTIONS: Mapping[str, str] = {
    "HeadBucket": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "HeadObject": "GetObject",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject",
}


def access_denied(request: Request, who: str, action: str, resource: str = "*") -> ServiceError:
    """The refusal of an action, as each protocol names it."""
    code, status = {
        "iam": ("AccessDenied", 403),
        "sts": ("AccessDenied", 403),
        "ec2": ("UnauthorizedOperation", 403),
    }.get(request.service, ("AccessDeniedException", 400))
    text = (
        f"User: {who} is not authorized to perform: {action} on resource: {resource} "
        f"because no identity-based policy allows the {action} action"
    )
    return ServiceError(code, text, status)
