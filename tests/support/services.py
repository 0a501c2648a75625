"""What a test needs from the machine: missing, it skips on a laptop and fails in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def require(path: Path, package: str) -> Path:
    """``path``, which Debian's ``package`` installs."""
    if not path.exists():
        message = f"{path} is missing: apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path
