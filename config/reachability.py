"""Whether a store's server can be reached, and in one line why not; never with credentials."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Literal

from domain.errors import StoreUnavailable

Kind = Literal["valkey", "milvus"]
CHECK_SECONDS = 3.0


def answers(kind: Kind, port: int) -> bool:
    """Whether the expected kind of server answers on loopback's ``port``, within a second."""
    if kind == "valkey":
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
    import grpc

    # Raw bytes spare the import of pymilvus: an empty request has an empty encoding, and the reply
    # names the server in the clear.
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        version = channel.unary_unary("/milvus.proto.milvus.MilvusService/GetVersion")
        try:
            return b"milvus_lite" in version(b"", timeout=1.0)
        except grpc.RpcError:
            return False


def check_redis(url: str) -> None:
    """One PING.

    Raises:
        StoreUnavailable: no answer within ``CHECK_SECONDS``, or a refusal; never with credentials.
    """
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    def ping() -> None:
        timeouts = {"socket_connect_timeout": CHECK_SECONDS, "socket_timeout": CHECK_SECONDS}
        with redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), **timeouts) as client:
            client.ping()

    def reason(error: Exception) -> str:
        if isinstance(error, redis.AuthenticationError | redis.exceptions.NoPermissionError):
            return "it refuses the user name or password"
        if isinstance(error, redis.TimeoutError):
            return f"no answer within {CHECK_SECONDS:g} s"
        if isinstance(error, redis.ConnectionError):
            return "no connection could be made"
        if isinstance(error, ValueError):
            return "write redis://host:port/number, rediss:// or unix://"
        return f"it answered with {type(error).__name__}"

    _check("the server of REDIS_URL", ping, reason)


def check_milvus(uri: str, token: str | None = None) -> None:
    """One connection and one question for the version.

    Raises:
        StoreUnavailable: no answer within ``CHECK_SECONDS``, or a refusal; never with credentials.
    """
    what = "the server of MILVUS_URI"
    if not uri.startswith(("http://", "https://", "tcp://")):
        raise StoreUnavailable(what, "write http://host:port or https://host")
    from pymilvus import MilvusClient

    def connect() -> None:
        client = MilvusClient(uri=uri, token=token or "", timeout=CHECK_SECONDS, dedicated=True)
        try:
            client.get_server_version(timeout=CHECK_SECONDS)
        finally:
            client.close()

    def reason(error: Exception) -> str:
        if "auth" in str(error).lower() or "permission" in str(error).lower():
            return "it refuses the token"
        return "no connection could be made"

    _check(what, connect, reason)


def _check(what: str, ask: Callable[[], None], reason: Callable[[Exception], str]) -> None:
    """Run ``ask`` in a thread, because a name lookup keeps to no timeout of the client."""
    outcome: Future[None] = Future()

    def run() -> None:
        try:
            ask()
        except Exception as error:  # noqa: BLE001 - handed on below
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    threading.Thread(target=run, name="store-check", daemon=True).start()
    try:
        outcome.result(CHECK_SECONDS + 0.5)
    except FutureTimeout:
        raise StoreUnavailable(what, f"no answer within {CHECK_SECONDS:g} s") from None
    except Exception as error:  # noqa: BLE001 - every client fails in its own way
        # The cause is cut off: its text may hold the address with its credentials.
        raise StoreUnavailable(what, reason(error)) from None
