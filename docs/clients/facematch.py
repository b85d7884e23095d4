"""Client of a facematch server in a single file. Requires Python 3.9 or later, and no packages.

    from facematch import FacematchClient
    client = FacematchClient("http://127.0.0.1:8080", "fm_…")
    print(client.match("one.jpg", "two.jpg")["confidence_percent"])
"""

from __future__ import annotations

import http.client
import json
import os
import random
import secrets
import socket
import time
import urllib.parse
import urllib.request
from typing import Any, Iterable, Optional, Union

# Statuses after which the same request may succeed later. Sending a request twice is safe, except live.
RETRYABLE = (408, 429, 503, 504)
# Statuses after which the challenge in the request is still valid.
CHALLENGE_VALID = (429, 503)

# The bytes of a JPEG, PNG or WebP, or the path of a file.
ImageFile = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]
# The value of a form field.
Field = Union[str, int, float, bool, None]
# A JSON object; docs/openapi.json describes its members.
Response = dict[str, Any]
# A body and its content type.
Content = tuple[Optional[bytes], Optional[str]]


class FacematchError(Exception):
    """Raised when a request has no result.

    code: an error code of the server, or "network" (no connection, or the connection broke), "timeout", or
        "unexpected" (a response that is not facematch's, such as a proxy's page).
    status: the HTTP status; None if there was no response.
    problem: the body of the response (RFC 9457) as a dict; None with the three codes above.
    retry_after: Retry-After in seconds; None if it is missing or not a number.
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: int | None = None,
        problem: Response | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.problem = problem
        self.retry_after = retry_after


class FacematchClient:
    """Client of one server. Every method returns the response body as a dict, or raises FacematchError.

    An image is bytes, or the path of a file; OSError is raised if it cannot be read. Fields that are None are omitted.

    timeout: maximum time in seconds to connect, and to wait for each part of the response.
    retries: maximum number of retries of a request.
    max_wait: maximum wait before a retry in seconds. A request is not retried if Retry-After is longer.
    """

    def __init__(
        self,
        url: str,
        key: str,
        timeout: float = 15.0,
        retries: int = 2,
        max_wait: float = 60.0,
    ) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"not an http or https URL: {url}")
        if not key:
            raise ValueError("no API key: pass it as key")
        self._base = url.rstrip("/") + "/API/v1.0"
        self._key = key.strip()
        self._timeout = timeout
        self._retries = max(0, retries)
        self._max_wait = max_wait
        # urlopen's default handlers would follow redirects and send the key to another host.
        self._opener = urllib.request.OpenerDirector()
        for handler in (urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
            self._opener.add_handler(handler())

    def match(self, image1: ImageFile, image2: ImageFile, **fields: Field) -> Response:
        """Compares two images. Fields other than threshold_percent need a key with the scope match:advanced."""
        advanced = any(value is not None for name, value in fields.items() if name != "threshold_percent")
        path = "/face/match/upload/advanced" if advanced else "/face/match/upload"
        return self._ask(path, multipart({"image1": image1, "image2": image2}, fields))

    def many(self, image1: ImageFile, images2: Iterable[ImageFile], **fields: Field) -> Response:
        """Compares one image with up to 16 others. Each of them has its own result or problem."""
        images = {"image1": image1, "image2": list(images2)}
        return self._ask("/face/match/upload/many", multipart(images, fields))

    def person(self, images1: Iterable[ImageFile], images2: Iterable[ImageFile], **fields: Field) -> Response:
        """Compares up to 4 photos of one person with up to 16 of another, as one decision."""
        images = {"image1": list(images1), "image2": list(images2)}
        return self._ask("/face/match/upload/person", multipart(images, fields))

    def challenge(self) -> Response:
        """Gets a challenge for live. The operator must enable this endpoint."""
        return self._ask("/face/match/challenge", (b"", None))

    def live(
        self, challenge: str, frames: Iterable[ImageFile], images2: Iterable[ImageFile], **fields: Field
    ) -> Response:
        """Checks that the frames show the movements of a challenge, and compares them with up to 16 photos of one person.

        A challenge is accepted once, so the request is retried only while the challenge is still valid.
        """
        content = multipart(
            {"frame": list(frames), "image2": list(images2)}, {**fields, "challenge": challenge}
        )
        return self._ask("/face/match/upload/live", content, retryable=CHALLENGE_VALID)

    def detect(self, image: ImageFile, **fields: Field) -> Response:
        """Finds the faces of an image. An image without a face is not an error."""
        return self._ask("/face/detect/upload", multipart({"image": image}, fields))

    def embed(self, image: ImageFile, **fields: Field) -> Response:
        """Finds the faces of an image, and returns their embeddings. The operator must enable this endpoint."""
        return self._ask("/face/embed/upload", multipart({"image": image}, fields))

    def match_embeddings(self, request: Response) -> Response:
        """Compares one person's embeddings with those of up to 1,000 people. The operator must enable this endpoint."""
        return self._ask("/face/match/embeddings", (json.dumps(request).encode(), "application/json"))

    def models(self) -> Response:
        """Describes the loaded model pack."""
        return self._ask("/models", (None, None))

    def _ask(self, path: str, content: Content, retryable: tuple[int, ...] = RETRYABLE) -> Response:
        retry = 0
        while True:
            try:
                return self._try(path, *content)
            except FacematchError as error:
                may_retry = retryable is RETRYABLE if error.code == "network" else error.status in retryable
                # A retry before Retry-After would be rejected again.
                if not may_retry or retry == self._retries or (error.retry_after or 0) > self._max_wait:
                    raise
                wait = min(2**retry / 2, self._max_wait) if error.retry_after is None else error.retry_after
            # Up to a second of jitter, so that clients rejected together do not retry together.
            time.sleep(wait + random.random())
            retry += 1

    def _try(self, path: str, body: bytes | None, content_type: str | None) -> Response:
        headers = {"x-api-key": self._key}
        if content_type is not None:
            headers["content-type"] = content_type
        elif body is not None:
            # Without this header, urllib would send the content type of a form.
            headers["content-type"] = "application/octet-stream"
        request = urllib.request.Request(self._base + path, data=body, headers=headers)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                text = response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            reason, server = getattr(error, "reason", error), self._base
            if isinstance(reason, socket.timeout):
                raise FacematchError("timeout", f"no response from {server} for {self._timeout} s") from error
            raise FacematchError("network", f"no response from {server}: {reason}") from error
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if response.status in (200, 201) and isinstance(value, dict):
            return value
        raise error_from(response, value, text)


def error_from(response: Any, value: Any, text: str) -> FacematchError:
    """Returns the error that a response describes."""
    wait = response.headers.get("Retry-After", "")
    retry_after = int(wait) if wait.isascii() and wait.isdecimal() else None
    if not isinstance(value, dict) or not isinstance(value.get("code"), str):
        return FacematchError("unexpected", f"{response.status}: {text[:200]}", response.status, None, retry_after)
    message = f"{response.status} {value['code']}: {value.get('detail')} (request_id {value.get('request_id')})"
    return FacematchError(value["code"], message, response.status, value, retry_after)


def multipart(images: dict[str, Any], fields: dict[str, Field]) -> Content:
    """Returns body and content type of a form (RFC 7578)."""
    boundary = secrets.token_hex(16).encode()  # no image contains these 128 random bits
    parts = []
    for name, sent in images.items():
        for image in sent if isinstance(sent, list) else [sent]:
            parts.append(part(boundary, name, *named(name, image)))
    for name, value in fields.items():
        if value is not None:
            parts.append(part(boundary, name, None, field_text(value).encode()))
    return b"".join(parts) + b"--%b--\r\n" % boundary, f"multipart/form-data; boundary={boundary.decode()}"


def field_text(value: Field) -> str:
    """Returns the value in the server's format: booleans in lower case, numbers without an exponent."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{value:.20f}" if isinstance(value, float) and "e" in text else text


def named(field: str, image: ImageFile) -> tuple[str, bytes]:
    """Returns file name and bytes of an image."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return field, bytes(image)
    if not isinstance(image, (str, os.PathLike)):
        # open() would treat a number as the descriptor of an open file.
        raise TypeError(f"{field} is {type(image).__name__}: pass bytes, or the path of a file")
    with open(image, "rb") as file:
        return os.path.basename(os.fsdecode(image)), file.read()


def part(boundary: bytes, field: str, filename: str | None, data: bytes) -> bytes:
    """Returns one part of a form."""
    name = f'name="{quoted(field)}"'
    if filename is not None:
        name += f'; filename="{quoted(filename)}"'
    head = f"Content-Disposition: form-data; {name}".encode(errors="replace")
    return b"--%b\r\n%b\r\n\r\n%b\r\n" % (boundary, head, data)


def quoted(name: str) -> str:
    """Escapes a name as browsers do, so that it cannot end the quoted string or the line."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
