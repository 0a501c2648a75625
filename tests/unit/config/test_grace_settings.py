"""How long a turn goes on that nobody reads: the deployment's own choice."""

from __future__ import annotations

import pytest

from config.settings import Settings
from domain.errors import InvalidConfiguration


def test_a_page_has_a_grace_and_an_openai_client_none() -> None:
    settings = Settings.load()
    assert settings.disconnect_grace_openai_seconds == 0
    assert settings.disconnect_grace_seconds == 30


@pytest.mark.parametrize("name", ["disconnect_grace_seconds", "disconnect_grace_openai_seconds"])
def test_a_grace_is_not_negative(name: str) -> None:
    assert getattr(Settings.load(**{name: 0}), name) == 0
    with pytest.raises(InvalidConfiguration, match=f"MANTA_{name.upper()}"):
        Settings.load(**{name: -0.1})
