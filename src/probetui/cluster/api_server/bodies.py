"""Request bodies: JSON, and protobuf for reviews.

Source: k8s.io/apiserver pkg/endpoints/handlers/negotiation/errors.go, v0.36.2.
"""

from __future__ import annotations

from typing import Any

import msgspec

from probetui.cluster.api_server import protobuf_reviews
from probetui.cluster.api_server.failure import ApiFailure, bad_request
from probetui.cluster.api_server.resources import ApiResource
from probetui.cluster.serving.http_server import HttpRequest
from probetui.k8s.api.codec import Json

_LONGEST_REVIEW = 1 << 16


def decode_json(request: HttpRequest) -> Any:
    """Decode a JSON body.

    Raises:
        ApiFailure: it is not JSON.
    """
    try:
        return msgspec.json.decode(request.body)
    except RecursionError:
        raise bad_request("the request body is nested too deep") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise bad_request(f"the request body is not JSON: {error}") from None


def read_object(request: HttpRequest) -> Json:
    """Decode a body that holds an object.

    Raises:
        ApiFailure: it holds no object, or has an unknown media type.
    """
    content_type = request.headers.get("content-type", "application/json")
    if content_type.partition(";")[0] != "application/json":
        message = (
            "the body of the request was in an unknown format - accepted media types "
            "include: application/json"
        )
        raise ApiFailure(415, "UnsupportedMediaType", message, {})
    body = decode_json(request)
    if not isinstance(body, dict):
        raise bad_request("the request body is not an object")
    return body


def decode_review(request: HttpRequest) -> Json:
    """Decode a review from JSON or protobuf.

    Raises:
        ApiFailure: it is no review, or too long.
    """
    if len(request.body) > _LONGEST_REVIEW:
        raise ApiFailure(413, "RequestEntityTooLarge", "the review is too long", {})
    if request.headers.get("content-type") != protobuf_reviews.CONTENT_TYPE:
        return read_object(request)
    try:
        return protobuf_reviews.decode_review(request.body)
    except ValueError as error:
        raise bad_request(str(error)) from None


def check_type(value: Json, resource: ApiResource) -> None:
    """Check that an object has the type of a resource, or none.

    Raises:
        ApiFailure: it is of another type.
    """
    kind, version = value.get("kind"), value.get("apiVersion")
    of_this_kind = kind in (None, "", resource.kind)
    if not of_this_kind or version not in (None, "", resource.group_version):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"{_word(version)}, {_word(kind)}"
        )


def _word(value: object) -> str:
    return value if isinstance(value, str) else f"a {type(value).__name__}"
