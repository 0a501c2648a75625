"""A tenant's directory service: where a user's token may travel to."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from config.policy import POLICY
from config.tenants import DirectoryConfig


@pytest.mark.parametrize(
    "url",
    [
        "https://hr.acme.example/api",
        "https://hr.acme.example:8443",
        "http://127.0.0.1:8080/api",
        "http://localhost:8080",
        "http://[::1]:8080",
    ],
)
def test_an_encrypted_or_a_local_service_is_taken(url: str) -> None:
    assert DirectoryConfig(url=url).url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hr.acme.example",
        "http://hr.acme.example/api",
        "http://127.0.0.1.evil.example/",
        "http://10.0.0.1/",
        "ftp://127.0.0.1/",
        "https:///api",
        "https://user:pw@hr.acme.example/",
        "https://hr.acme.example/?a=1",
        "https://hr.acme.example/#a",
        "https://hr.acme.example:0/",
        "https://hr.acme.example:99999/",
        "http://[::1",
    ],
)
def test_any_other_url_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        DirectoryConfig(url=url)


@pytest.mark.parametrize(
    ("seconds", "taken"),
    [(None, True), (0.1, True), (POLICY.directory.seconds, True), (0, False), (-1, False)],
)
def test_a_timeout_is_within_the_policy(seconds: Any, taken: bool) -> None:
    given = {"url": "https://hr.acme.example", "timeout_seconds": seconds}
    if taken:
        assert DirectoryConfig.model_validate(given).timeout_seconds == seconds
    else:
        with pytest.raises(ValidationError):
            DirectoryConfig.model_validate(given)
    with pytest.raises(ValidationError):
        DirectoryConfig(url="https://a.example", timeout_seconds=POLICY.directory.seconds + 0.1)
