"""An identity provider: real keys, signed tokens, and a server on loopback that publishes keys."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER = "https://login.acme.example/"
AUDIENCE = "manta"


class Signer:
    """One key of the provider."""

    def __init__(self, name: str, algorithm: str = "RS256") -> None:
        self.name = name
        self.algorithm = algorithm
        self.private: Any = (
            ec.generate_private_key(ec.SECP256R1())
            if algorithm.startswith("ES")
            else rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        )

    @property
    def public_jwk(self) -> dict[str, Any]:
        kind = ECAlgorithm if self.algorithm.startswith("ES") else RSAAlgorithm
        key = json.loads(kind.to_jwk(self.private.public_key()))
        return {**key, "kid": self.name, "use": "sig", "alg": self.algorithm}

    @property
    def public_pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def sign(self, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token that is valid but for what ``claims`` and ``headers`` change; a claim of
        ``None`` is left out."""
        return jwt.encode(
            claims_of(**claims),
            self.private,
            algorithm=self.algorithm,
            headers={"kid": self.name, **(headers or {})},
        )


def claims_of(**claims: Any) -> dict[str, Any]:
    usual = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ana",
        "tenant": "acme",
        "exp": int(time.time()) + 600,
    }
    return {name: value for name, value in {**usual, **claims}.items() if value is not None}


class Provider:
    """What the server publishes now, and how often it was asked."""

    def __init__(self, *signers: Signer) -> None:
        self.signers = list(signers)
        self.asked = 0
        self.status = 200
        self.body: bytes | None = None
        self.delay = 0.0
        self.url = ""

    def answer(self) -> bytes:
        if self.body is not None:
            return self.body
        return json.dumps({"keys": [signer.public_jwk for signer in self.signers]}).encode()


@contextmanager
def provider(*signers: Signer) -> Iterator[Provider]:
    published = Provider(*signers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            published.asked += 1
            time.sleep(published.delay)
            body = published.answer()
            self.send_response(published.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests read no access log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    published.url = f"http://127.0.0.1:{server.server_port}/keys"
    try:
        yield published
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
