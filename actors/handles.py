"""How a role is reached: in this process, or in a Ray actor. The only file that says ``.remote``.

A port waits no longer than it is given, translates what it meets into errors of ours, and when it
is cancelled or runs out of time it cancels the remote call and waits until its clean-up has ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from config.policy import POLICY
from domain.errors import ActorUnavailable, DeadlineExceeded, MantaError

if TYPE_CHECKING:
    from ray.actor import ActorHandle

log = logging.getLogger("manta.actors")


class Port(Protocol):
    """One role, wherever it runs. ``seconds`` is the wall clock left; ``None`` is unlimited."""

    async def call(self, method: str, *args: Any, seconds: float | None = None) -> Any: ...

    def stream(
        self, method: str, *args: Any, seconds: float | None = None
    ) -> AsyncGenerator[Any, None]: ...

    async def health(self, seconds: float) -> None:
        """Returns when the role works and is prepared; raises an error of ours otherwise."""
        ...


class LocalPort:
    """A role in this process."""

    def __init__(self, name: str, role: Any) -> None:
        self._name = name
        self._role = role

    async def call(self, method: str, *args: Any, seconds: float | None = None) -> Any:
        try:
            async with asyncio.timeout(seconds) as timer:
                return await getattr(self._role, method)(*args)
        except TimeoutError as error:
            if timer.expired() and seconds is not None:
                raise DeadlineExceeded(f"{self._name}.{method}", seconds) from error
            raise

    async def stream(
        self, method: str, *args: Any, seconds: float | None = None
    ) -> AsyncGenerator[Any, None]:
        deadline = _Deadline(f"{self._name}.{method}", seconds)
        async with aclosing(getattr(self._role, method)(*args)) as items:
            while True:
                try:
                    item = await deadline.bounded(anext(items))
                except StopAsyncIteration:
                    return
                yield item

    async def health(self, seconds: float) -> None:
        """A role in this process works as long as the process does."""


class ActorPort:
    """A role in a Ray actor of class ``RoleHost``."""

    def __init__(self, name: str, actor: ActorHandle[Any]) -> None:
        self._name = name
        self._actor = actor

    async def call(self, method: str, *args: Any, seconds: float | None = None) -> Any:
        deadline = _Deadline(f"{self._name}.{method}", seconds)
        ref: Any = self._actor.call.remote(self._name, method, args)
        try:
            reply = await deadline.bounded(ref)
        except (asyncio.CancelledError, DeadlineExceeded):
            await self._drain(ref, ref)
            raise
        except Exception as error:
            raise self._translated(error) from error
        return _opened(reply)

    async def stream(
        self, method: str, *args: Any, seconds: float | None = None
    ) -> AsyncGenerator[Any, None]:
        deadline = _Deadline(f"{self._name}.{method}", seconds)
        generator: Any = self._actor.stream.options(num_returns="streaming").remote(
            self._name, method, args
        )
        finished = False
        try:
            while True:
                try:
                    reply = await deadline.bounded(await deadline.bounded(anext(generator)))
                except StopAsyncIteration:
                    finished = True
                    return
                except (asyncio.CancelledError, DeadlineExceeded):
                    raise
                except Exception as error:
                    finished = True
                    raise self._translated(error) from error
                yield _opened(reply)
        finally:
            # A dropped generator does not stop the actor's, so whatever ended this one early
            # (an error, a cancellation, a consumer that closed it) is passed on.
            if not finished:
                await self._drain(generator, generator.completed())

    async def health(self, seconds: float) -> None:
        await self.call("health", seconds=seconds)

    async def _drain(self, cancelled: Any, ended: Any) -> None:
        """Cancel the remote call and wait until its own clean-up has ended."""
        import ray

        ray.cancel(cancelled, recursive=False)
        try:
            async with asyncio.timeout(POLICY.nodes.drain):
                await ended
        except TimeoutError:
            log.error("drain_timeout", extra={"role": self._name})
        except Exception as error:  # noqa: BLE001
            # The ordinary end of a cancelled call: TaskCancelledError in one form or another.
            log.debug("drained", extra={"role": self._name, "error_type": type(error).__name__})

    def _translated(self, error: Exception) -> MantaError:
        import ray.exceptions as ray_errors

        if isinstance(error, MantaError):
            return error
        if isinstance(error, ray_errors.RayActorError | ray_errors.WorkerCrashedError):
            return ActorUnavailable(self._name, "its process ended")
        log.error("role_error", extra={"role": self._name, "error_type": type(error).__name__})
        return ActorUnavailable(self._name, "unexpected error")


class _Deadline:
    """One wall clock over several awaits, anchored to this process's clock."""

    def __init__(self, operation: str, seconds: float | None) -> None:
        self._operation = operation
        self._seconds = seconds
        loop = asyncio.get_running_loop()
        self._at = None if seconds is None else loop.time() + seconds

    async def bounded(self, awaitable: Any) -> Any:
        try:
            async with asyncio.timeout_at(self._at) as timer:
                return await awaitable
        except TimeoutError as error:
            if timer.expired() and self._seconds is not None:
                raise DeadlineExceeded(self._operation, self._seconds) from error
            raise


def _opened(reply: tuple[str, Any]) -> Any:
    """A host replies with a tagged value, because Ray rewraps the exceptions that it carries."""
    kind, value = reply
    if kind == "error":
        raise value
    return value
