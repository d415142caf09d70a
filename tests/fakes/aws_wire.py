"""AWS's wire protocols, the server's side: JSON 1.1, Query and EC2, and the XML that S3 answers.

A service works on what :mod:`tests.fakes.wire` has; how each protocol writes it stands here alone.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Mapping
from email.message import Message
from typing import Any
from xml.sax.saxutils import escape

from tests.fakes.wire import Answer, Request, ServiceError

# The part of X-Amz-Target before the dot -> the service (botocore's metadata: targetPrefix).
TARGETS = {
    "SageMaker": "sagemaker",
    "Logs_20140328": "logs",
    "ServiceQuotasV20190624": "servicequotas",
    "TrentService": "kms",
    "AmazonEC2ContainerRegistry_V20150921": "ecr",
    "com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101": "cloudtrail",
}
# The services that speak Query, by the service of the signature -> the XML namespace.
QUERY = {
    "sts": "https://sts.amazonaws.com/doc/2011-06-15/",
    "iam": "https://iam.amazonaws.com/doc/2010-05-08/",
    "ec2": "http://ec2.amazonaws.com/doc/2016-11-15/",
}
S3_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"

_SCOPE = re.compile(r"Credential=([^/\s]+)/\d{8}/([^/]+)/([^/]+)/aws4_request")


def read_head(number: int, method: str, target: str, headers: Message) -> Request:
    """The request without its body: whom it is for, and what it asks, as far as that is known."""
    query_text = target.partition("?")[2]
    query = dict(urllib.parse.parse_qsl(query_text, keep_blank_values=True))
    scope = _SCOPE.search(str(headers.get("Authorization") or ""))
    access_key, region, signed_for = scope.groups() if scope else ("", "", "")
    prefix, _, operation = str(headers.get("X-Amz-Target") or "").rpartition(".")
    # What is neither S3 nor known here is named by its signature, and refused by that name.
    service = TARGETS.get(prefix) or (signed_for if prefix or signed_for in QUERY else "s3")
    return Request(number, method, target, headers, service, operation, query, region, access_key)


def read_parameters(request: Request) -> dict[str, Any]:
    """The parameters of a JSON or Query request; names the operation of a Query request.

    Raises:
        ServiceError: They are not what the protocol asks for.
    """
    if request.service in QUERY:
        flat = dict(urllib.parse.parse_qsl(request.body.decode(), keep_blank_values=True))
        request.operation = flat.pop("Action", "")
        flat.pop("Version", None)
        return _nested(flat)
    try:
        parameters = json.loads(request.body or b"{}")
    except ValueError:
        raise ServiceError("SerializationException", "the body is no JSON") from None
    if not isinstance(parameters, dict):
        raise ServiceError("SerializationException", "the body is no JSON object")
    return parameters


def write_result(request: Request, result: Mapping[str, Any] | None) -> Answer:
    """A JSON or Query operation's result."""
    if request.service not in QUERY:
        body = (
            json.dumps(result or {}, separators=(",", ":")).encode() if result is not None else b""
        )
        return Answer(200, {"Content-Type": "application/x-amz-json-1.1"}, body)
    name, inner = f"{request.operation}Response", elements(result or {}, _list_tag(request))
    if request.service != "ec2":
        inner = f"<{request.operation}Result>{inner}</{request.operation}Result>"
        inner += "<ResponseMetadata><RequestId>0</RequestId></ResponseMetadata>"
    return xml(name, inner, QUERY[request.service])


def write_error(request: Request, error: ServiceError) -> Answer:
    """The error in the form of the request's protocol."""
    code, message = escape(error.code), escape(error.message)
    if request.service == "s3":
        inner = f"<Code>{code}</Code><Message>{message}</Message><RequestId>0</RequestId>"
        for name, tag in (("x-amz-bucket-region", "Region"),):
            if name in error.headers:
                inner += f"<{tag}>{escape(error.headers[name])}</{tag}>"
        answer = xml("Error", inner, status=error.status)
        # A HEAD has no body to say more than the status.
        answer.body = b"" if request.method == "HEAD" else answer.body
    elif request.service == "ec2":
        inner = f"<Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
        answer = xml("Response", f"{inner}<RequestID>0</RequestID>", status=error.status)
    elif request.service in QUERY:
        inner = f"<Type>Sender</Type><Code>{code}</Code><Message>{message}</Message>"
        inner = f"<Error>{inner}</Error><RequestId>0</RequestId>"
        answer = xml("ErrorResponse", inner, QUERY[request.service], error.status)
    else:
        text = json.dumps({"__type": error.code, "message": error.message})
        answer = Answer(error.status, {"Content-Type": "application/x-amz-json-1.1"}, text.encode())
    answer.headers.update(error.headers)
    return answer


def xml(name: str, inner: str, namespace: str = "", status: int = 200) -> Answer:
    """An XML document whose root is ``name``."""
    attribute = f' xmlns="{namespace}"' if namespace else ""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name}{attribute}>{inner}</{name}>'
    return Answer(status, {"Content-Type": "application/xml"}, text.encode())


def elements(content: Mapping[str, Any], list_tag: str = "") -> str:
    """A mapping as XML elements.

    Args:
        list_tag: What each entry of a list is wrapped in; without one the list's own element
            is repeated, as S3 does.
    """
    return "".join(_element(name, value, list_tag) for name, value in content.items())


def _element(name: str, value: Any, list_tag: str) -> str:
    if isinstance(value, list):
        if not list_tag:
            return "".join(_element(name, entry, list_tag) for entry in value)
        return f"<{name}>{''.join(_element(list_tag, one, list_tag) for one in value)}</{name}>"
    if isinstance(value, Mapping):
        return f"<{name}>{elements(value, list_tag)}</{name}>"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"<{name}>{escape(text)}</{name}>"


def _list_tag(request: Request) -> str:
    return "item" if request.service == "ec2" else "member"


def _nested(flat: Mapping[str, str]) -> dict[str, Any]:
    """``{"ActionNames.member.1": "x"}`` and ``{"SubnetId.1": "x"}`` with lists in them."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        parts = [part for part in name.split(".") if part != "member"]
        if len(parts) == 2 and parts[1].isdigit():
            nested.setdefault(parts[0], []).append(value)
        else:
            nested[name] = value
    return nested
