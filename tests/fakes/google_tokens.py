"""Who sends a request to the fake Google Cloud: the token endpoint and the metadata server.

Source: Google, "Using OAuth 2.0 for server to server applications", "Service account
authorization without OAuth" (the clients' self-signed JWTs) and "About VM metadata".
"""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from tests.fakes.google_account import GoogleAccount, Identity, private_key
from tests.fakes.google_wire import UNAUTHENTICATED, write_json
from tests.fakes.wire import Answer, Request, ServiceError

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_FLAVOR = {"Metadata-Flavor": "Google"}


class Tokens:
    """Gives tokens out, and knows whose they are.

    Attributes:
        required: Whether a request without a good token is refused.
        lifetime: Seconds that a token is good for, by this machine's time: the clients go by it.
        refusal: What the token endpoint answers instead of a token: error and description
            (``("invalid_grant", "Invalid JWT Signature.")``), or None. The key is no good then, so
            JWTs that it signed are refused, too.
    """

    def __init__(self, account: GoogleAccount):
        self._account = account
        self._lock = threading.Lock()
        self._given: dict[str, tuple[Identity, float]] = {}
        self._seen_jwts: set[str] = set()
        self._expired_jwts: set[str] = set()
        self.required = True
        self.lifetime = 3599
        self.refusal: tuple[str, str] | None = None

    def expire(self) -> None:
        """No token that was given out or used is good any more.

        A self-signed JWT is refused once: one that its client makes anew in the same second
        is the same, byte for byte.
        """
        with self._lock:
            self._given.clear()
            self._expired_jwts |= self._seen_jwts

    def give(self, identity: Identity) -> str:
        """A new access token."""
        with self._lock:
            token = f"ya29.loopback-{len(self._given) + 1}-{time.monotonic_ns():x}"
            self._given[token] = (identity, time.time() + self.lifetime)
        return token

    def identify(self, request: Request) -> Identity:
        """Who sent the request.

        Raises:
            ServiceError: It has no good token.
        """
        scheme, _, token = request.header("Authorization").partition(" ")
        identity = self._of(token) if scheme == "Bearer" else None
        if identity is None and self.required:
            raise UNAUTHENTICATED
        return identity or self._account.caller

    def token(self, request: Request) -> Answer:
        """What the token endpoint answers."""
        asked = dict(urllib.parse.parse_qsl(request.body.decode()))
        if self.refusal:
            raise ServiceError(*self.refusal)
        if asked.get("grant_type") != _GRANT:
            raise ServiceError("unsupported_grant_type", f"Invalid grant_type: {asked}")
        identity = self._signer(asked.get("assertion", ""))
        if identity is None:
            raise ServiceError("invalid_grant", "Invalid JWT: Token must be signed by its account.")
        return self._told(identity)

    def metadata(self, request: Request) -> Answer:
        """What the metadata server answers, to a replica."""
        if request.header("Metadata-Flavor") != "Google" and request.path != "/":
            raise ServiceError("Forbidden", "Missing Metadata-Flavor:Google header.", 403)
        path = request.path.removeprefix("/computeMetadata/v1").strip("/")
        who = self._account.replica
        here = "instance/service-accounts/default"
        about = {"aliases": ["default"], "email": who.email, "scopes": [_SCOPE]}
        texts = {
            "": "computeMetadata/",
            "project/project-id": self._account.project,
            "project/numeric-project-id": self._account.number,
            "instance/zone": f"projects/{self._account.number}/zones/us-central1-a",
            "universe/universe-domain": "googleapis.com",
            f"{here}/email": who.email,
            f"{here}/scopes": _SCOPE,
        }
        if path.replace(who.email, "default") == f"{here}/token":
            answer = self._told(who)
        elif path.replace(who.email, "default") == here:
            answer = write_json(about)
        elif path in texts:
            answer = Answer(200, {"Content-Type": "application/text"}, texts[path].encode())
        else:
            raise ServiceError("NotFound", f"{request.path}: not found", 404)
        answer.headers.update(_FLAVOR)
        return answer

    def _told(self, identity: Identity) -> Answer:
        token = self.give(identity)
        told = {"access_token": token, "expires_in": self.lifetime, "token_type": "Bearer"}
        return write_json(told)

    def _of(self, token: str) -> Identity | None:
        with self._lock:
            identity, until = self._given.get(token, (None, 0.0))
            if identity is not None:
                return identity if time.time() < until else None
            if self.refusal:
                return None
            if token in self._expired_jwts:
                self._expired_jwts.discard(token)
                return None
            known = token in self._seen_jwts
        identity = self._signer(token, check_signature=not known)
        if identity is not None:
            with self._lock:
                self._seen_jwts.add(token)
        return identity

    def _signer(self, token: str, check_signature: bool = True) -> Identity | None:
        """The service account that signed a JWT which is good now."""
        try:
            head, claims, signature = token.split(".")
            if check_signature:
                signed = f"{head}.{claims}".encode()
                key = private_key().public_key()
                key.verify(_decoded(signature), signed, padding.PKCS1v15(), hashes.SHA256())
            said: dict[str, Any] = json.loads(_decoded(claims))
            good = float(said["iat"]) - 300 <= time.time() < float(said["exp"])
        except (ValueError, KeyError, TypeError, InvalidSignature):
            return None
        return self._account.service_accounts.get(str(said.get("iss"))) if good else None


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
