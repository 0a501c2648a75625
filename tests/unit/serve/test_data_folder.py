"""Two servers never share the embedded stores of one folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import Settings
from domain.errors import InvalidConfiguration
from serve.data_folder import own_data_folder


def test_a_second_server_is_refused_and_the_next_one_is_not(tmp_path: Path) -> None:
    settings = Settings.load(data=tmp_path / "data")
    with own_data_folder(settings):
        with pytest.raises(InvalidConfiguration) as caught, own_data_folder(settings):
            pass
        assert caught.value.field == "MANTA_DATA"
        with own_data_folder(Settings.load(data=tmp_path / "other")):
            pass
    with own_data_folder(settings):
        pass


def test_named_stores_may_be_shared(tmp_path: Path) -> None:
    named = {"redis_url": "redis://127.0.0.1:1/0", "milvus_uri": "http://127.0.0.1:1"}
    settings = Settings.load(data=tmp_path, **named)
    with own_data_folder(settings), own_data_folder(settings):
        assert list(tmp_path.iterdir()) == []
