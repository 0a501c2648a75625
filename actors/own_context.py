"""Work that belongs to the process although a request began it.

Ray notes in which task an actor call is made, and cancels the calls of a task that is cancelled.
When a client goes away, Serve cancels the request's task; a turn that is to go on must therefore
not have called its actors in that task's name. Where a turn is to end, its own cancellation reaches
every call that it awaits (see ``handles``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")


def own_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task in a context of its own, in which nothing of the request's is known."""
    return asyncio.create_task(work, context=Context())
