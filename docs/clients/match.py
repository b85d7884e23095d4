#!/usr/bin/env python3
"""Do two photos show the same person?

    FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=… python3 match.py ONE.jpg TWO.jpg

Exit codes: 0 a match, 1 no match, 2 an error. Needs Python 3.9 and no package.
"""

import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
import uuid

MAX_ATTEMPTS = 4
LONGEST_WAIT_S = 60  # a longer Retry-After is not worth waiting for here: give up instead of coming too early
TIMEOUT_S = 60


class MatchError(Exception):
    """There is no answer; the message says why, for people."""


def multipart(files, fields):
    """Body and content type of a form (RFC 7578). `files` maps names to bytes, `fields` names to text."""
    boundary = uuid.uuid4().hex  # 122 random bits are in no picture
    parts = [(f'name="{name}"; filename="{name}"', data) for name, data in files.items()]
    parts += [(f'name="{name}"', str(value).encode()) for name, value in fields.items()]
    body = b"".join(
        b'--%b\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n' % (boundary.encode(), head.encode(), data)
        for head, data in parts
    )
    return body + b"--%b--\r\n" % boundary.encode(), f"multipart/form-data; boundary={boundary}"


def explain(error):
    """A problem (RFC 9457) in one line, or whatever a proxy on the way says."""
    text = error.read().decode(errors="replace")
    try:
        problem = json.loads(text)
        return f"{error.code} {problem['code']}: {problem['detail']} (request_id {problem['request_id']})"
    except (ValueError, KeyError, TypeError):
        return f"{error.code}: {text[:200]}"


def match(image1, image2, url, key, **fields):
    """The answer of the service as a dict. Pictures as bytes. Raises MatchError."""
    body, content_type = multipart({"image1": image1, "image2": image2}, fields)
    request = urllib.request.Request(
        f"{url}/API/v1.0/face/match/upload",
        data=body,
        headers={"x-api-key": key, "content-type": content_type},
    )
    for attempt in range(1, MAX_ATTEMPTS + 1):
        retry_after = None
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            reason = explain(error)
            if error.code not in (429, 503):
                raise MatchError(reason) from None
            value = error.headers.get("Retry-After", "")
            retry_after = int(value) if value.isdecimal() else None
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", error)
            # The connection was refused, or ended before the answer. Sending the request again does no harm.
            if not isinstance(cause, ConnectionError):
                raise MatchError(str(cause)) from None
            reason = str(cause)
        if attempt == MAX_ATTEMPTS:
            raise MatchError(f"{reason}; gave up after {attempt} attempts")
        if retry_after is not None and retry_after > LONGEST_WAIT_S:
            raise MatchError(f"{reason}; it asks to wait {retry_after} s")
        # What the server asks for, else half a second and twice as much each time; and up to a second more, so that
        # those who were refused together do not come again together.
        wait = (2**attempt / 4 if retry_after is None else retry_after) + random.random()
        print(f"{reason}; waiting {round(wait * 1000)} ms", file=sys.stderr)
        time.sleep(wait)


def main():
    if len(sys.argv) != 3:
        raise MatchError("usage: match.py IMAGE1 IMAGE2")
    key = os.environ.get("FACEMATCH_KEY")
    if not key:
        raise MatchError("put your API key into FACEMATCH_KEY")
    pictures = []
    for name in sys.argv[1:]:
        with open(name, "rb") as file:
            pictures.append(file.read())
    answer = match(*pictures, os.environ.get("FACEMATCH_URL", "http://127.0.0.1:8080"), key)
    verdict = "match" if answer["match"] else "no match"
    print(f"{verdict}: {answer['confidence_percent']} % (the threshold is {answer['threshold_percent']} %)")
    for warning in answer["warnings"]:
        print(f"warning: {warning['detail']}")
    return 0 if answer["match"] else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:  # whatever it is: Python's own exit code of 1 would say that they do not match
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
