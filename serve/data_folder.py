"""One server a data folder: its embedded stores end with the server that started them.

``manta ask`` and ``manta index`` may borrow the stores of a running server for a moment. A second
server that borrowed them would lose them when the first one stops.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from config.settings import Settings
from domain.errors import InvalidConfiguration

LOCK = "serve.lock"


@contextmanager
def own_data_folder(settings: Settings) -> Iterator[None]:
    """Hold the folder for the block, where a store is embedded in it.

    Raises:
        InvalidConfiguration: another server holds it.
    """
    if settings.redis_url is not None and settings.milvus_uri is not None:
        yield
        return
    settings.data.mkdir(parents=True, exist_ok=True)
    with (settings.data / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidConfiguration(
                "MANTA_DATA",
                f"{settings.data} is in use by another server",
                "name another folder, or name both stores with REDIS_URL and MILVUS_URI",
            ) from None
        yield
