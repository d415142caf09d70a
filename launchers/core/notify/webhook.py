"""A notice by HTTP: a POST of JSON, which chats that read Slack's ``text`` understand as well.

The address is a secret, and no message of this module has more of it than its host. Slack's own
webhooks get ``text`` alone, in which `&`, `<` and `>` are escaped: docs.slack.dev, "Formatting
message text", "Sending messages using incoming webhooks".
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Mapping
from typing import Any

from launchers.core.notify.notice import Notice
from launchers.core.spec.targets import Target, host_of

# What all attempts may take together, and each; between them it waits so long.
MOST_SECONDS = 30.0
SECONDS = 10.0
PAUSES = (1.0, 3.0)
_READ_BYTES = 1024
_SLACK = ("hooks.slack.com", "hooks.slack-gov.com")
_TOO_MANY_REQUESTS = 429


def address_of(target: Target) -> str:
    """The webhook's address, from its variable where it is named by one; empty where that is not
    set."""
    return target.value if target.is_address else os.environ.get(target.value, "").strip()


def fault_of(target: Target) -> str:
    """Why nothing can be sent there, without the address; empty where it can."""
    from urllib.parse import urlsplit

    address = address_of(target)
    if not address:
        return f"${target.value} is not set"
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "no address that can be read"
    if not host or not address.isascii() or not address.isprintable() or " " in address:
        return "no address that can be read"
    if parts.username is not None or parts.password is not None:
        return "an address with a user's name or password"
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        return f"{parts.scheme or 'no scheme'}, not https"
    return ""


def post(target: Target, notice: Notice) -> str:
    """Send the notice. Blocks at most :data:`MOST_SECONDS`; tries again twice where nothing was
    taken, follows no redirect, and reads no more of the answer than its beginning.

    Returns:
        What went wrong; empty where nothing did.
    """
    fault = fault_of(target)
    if fault:
        return fault
    address = address_of(target)
    outcome: queue.SimpleQueue[str] = queue.SimpleQueue()
    deadline = time.monotonic() + MOST_SECONDS

    def work() -> None:
        outcome.put(_sent(address, notice, deadline))

    # A server that sends a byte now and then passes every limit of a socket, not this one.
    threading.Thread(target=work, daemon=True).start()
    try:
        return outcome.get(timeout=MOST_SECONDS)
    except queue.Empty:
        return f"no answer within {MOST_SECONDS:.0f} s"


def _sent(address: str, notice: Notice, deadline: float) -> str:
    body = json.dumps(_payload(address, notice), ensure_ascii=True).encode("ascii")
    why = ""
    for pause in (*PAUSES, None):
        why, again = _attempt(address, body)
        if not again or pause is None or time.monotonic() + pause > deadline:
            break
        time.sleep(pause)
    return why


def _payload(address: str, notice: Notice) -> Mapping[str, Any]:
    if host_of(address) not in _SLACK:
        return notice
    text = str(notice["text"]).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text}


def _attempt(address: str, body: bytes) -> tuple[str, bool]:
    """What went wrong, and whether the same may do a moment later: only where it is known that
    nothing was taken, so that nobody is told twice."""
    import http.client
    import urllib.error
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: Any) -> None:
            """None of them: the next host would get what was meant for this one."""

    handlers: list[Any] = [NoRedirects]
    if _is_loopback(host_of(address)):
        handlers.append(urllib.request.ProxyHandler({}))
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "launch"}
    request = urllib.request.Request(address, body, headers, method="POST")
    try:
        opener = urllib.request.build_opener(*handlers)
        with opener.open(request, timeout=SECONDS) as answer:
            answer.read(_READ_BYTES)
        return "", False
    except urllib.error.HTTPError as error:
        with error:
            if 300 <= error.code < 400:
                return f"it answered {error.code}, a redirect, which is not followed", False
            passing = error.code >= 500 or error.code == _TOO_MANY_REQUESTS
            return f"it answered {error.code}", passing
    except urllib.error.URLError as error:
        reason = error.reason
        return f"not reached: {getattr(reason, 'strerror', None) or type(reason).__name__}", True
    except TimeoutError:
        return f"no answer within {SECONDS:.0f} s", False
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"no usable answer: {type(error).__name__}", False


def _is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
