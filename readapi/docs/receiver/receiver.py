"""Receives webhooks: verifies each request, stores its event once, and answers. A worker reads what is stored."""

import base64
import hashlib
import hmac
import os
import re
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE = 300  # seconds
MAX_BODY = 64 << 10
MIN_KEY = 24


class Refused(Exception):
    """Why a request is not accepted."""


def decode_keys(secrets):
    """Returns the keys of secrets. Refuses an empty or short one: others could sign with it, too."""
    try:
        keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    except ValueError:
        raise Refused("secret")
    if any(len(key) < MIN_KEY for key in keys):
        raise Refused("secret")
    return keys


def verify(secrets, headers, body, now):
    """Raises Refused unless one of the secrets signed the request, at most five minutes from now.

    body is the body as received, in bytes; now is in seconds since 1970."""
    keys = decode_keys(secrets)
    event_id, timestamp = headers.get("webhook-id"), headers.get("webhook-timestamp")
    if not event_id or not re.fullmatch("[0-9]+", timestamp or ""):
        raise Refused("headers")
    if abs(now - int(timestamp)) > TOLERANCE:
        raise Refused("timestamp")
    signed = f"{event_id}.{timestamp}.".encode() + body
    for key in keys:
        want = b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
        for signature in headers.get("webhook-signature", "").split():
            if hmac.compare_digest(signature.encode(), want):  # in constant time
                return
    raise Refused("signature")


def store(inbox, event_id, body):
    """Writes the event to the disk, unless it is there. Nobody sees a part of a file.

    With a database, use a table whose primary key is the id."""
    with tempfile.NamedTemporaryFile(dir=inbox, prefix=".") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(file.name, os.path.join(inbox, os.path.basename(event_id) + ".json"))
        except FileExistsError:
            pass


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 when the event is stored, however often it arrives."""

    timeout = 10

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if not 0 <= length <= MAX_BODY:
            return self.answer(413)
        body = self.rfile.read(length)
        try:
            verify(SECRETS, self.headers, body, time.time())
        except Refused:
            return self.answer(401)
        store(INBOX, self.headers["webhook-id"], body)  # an exception closes the connection: it is sent again
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()


if __name__ == "__main__":
    INBOX = os.environ["INBOX"]  # a folder that exists
    SECRETS = os.environ.get("WEBHOOK_SECRET", "").split(",")
    try:
        decode_keys(SECRETS)
    except Refused:
        sys.exit("WEBHOOK_SECRET is missing, or has an invalid secret: separate secrets by commas, with none after the last")
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver)
    print("listening on", "%s:%d" % server.server_address, flush=True)
    server.serve_forever()
