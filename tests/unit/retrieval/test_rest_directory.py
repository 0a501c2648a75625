"""A tenant's own directory over HTTP: the user's token, its bounds, and what its failures say."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from directory_server import DirectoryState, directory_server
from pydantic import SecretStr
from served import settings_for

from config.policy import POLICY
from config.tenants import DirectoryConfig, TenantConfig
from domain.errors import NotFound, Unavailable
from retrieval.directories import TenantDirectories
from retrieval.directory import Caller, Directory, LearningPlan
from retrieval.file_directory import FileDirectory
from retrieval.rest_directory import RestDirectory, directory_client

TOKEN = "token-of-ana-1234"
ANA = Caller(tenant="acme", user="ana", token=SecretStr(TOKEN))
BEN = Caller(tenant="acme", user="ben", token=SecretStr("token-of-ben"))
PLAN = LearningPlan(objective_id="B-1", objective="Lead", training_ids=("T-1",), steps=("Learn",))
SECRET_BODY = b'{"secret": "body of the service"}'


@pytest.fixture
def server() -> Iterator[tuple[DirectoryState, str]]:
    with directory_server() as (state, url):
        state.users = {
            TOKEN: {
                "profile": {"name": "Ana", "role": "Diver", "skills": ["diving"], "grade": 7},
                "tasks": [
                    {"id": "T-1", "title": "Later", "due": "2027-02-01"},
                    {"id": "T-2", "title": "Sooner", "due": "2027-01-01", "priority": "high"},
                ],
                "objectives": [
                    {"id": "B-1", "title": "Lead", "action_plan": [{"text": "Ask", "x": 1}]}
                ],
            },
            "token-of-ben": {"tasks": [{"id": "T-9", "title": "Ben's"}]},
        }
        yield state, url


@pytest.fixture
async def directory(server: tuple[DirectoryState, str]) -> AsyncIterator[RestDirectory]:
    async with directory_client() as client:
        yield RestDirectory(DirectoryConfig(url=server[1]), client)


async def test_everything_is_the_users_whose_token_it_is(
    directory: RestDirectory, server: tuple[DirectoryState, str]
) -> None:
    profile = await directory.profile(ANA)
    assert (profile.name, profile.skills) == ("Ana", ("diving",))
    assert [task.id for task in await directory.tasks(ANA)] == ["T-2", "T-1"]
    assert (await directory.task(ANA, "T-1")).title == "Later"
    [objective] = await directory.objectives(ANA)
    assert objective.action_plan[0].text == "Ask"
    assert [task.id for task in await directory.tasks(BEN)] == ["T-9"]
    with pytest.raises(NotFound, match="the task"):
        await directory.task(ANA, "T-9")
    with pytest.raises(NotFound, match="the profile"):
        await directory.profile(BEN)
    state = server[0]
    assert {asked.headers["authorization"] for asked in state.asked[:4]} == {f"Bearer {TOKEN}"}
    assert [asked.path for asked in state.asked[:3]] == ["/profile", "/tasks", "/tasks/T-1"]


async def test_a_plan_is_saved_once_for_a_key(
    directory: RestDirectory, server: tuple[DirectoryState, str]
) -> None:
    other = PLAN.model_copy(update={"objective": "Another"})
    assert await directory.save_learning_plan(ANA, PLAN, "k1") == PLAN
    assert await directory.save_learning_plan(ANA, other, "k1") == PLAN
    assert await directory.save_learning_plan(BEN, other, "k1") == other
    asked = server[0].asked[0]
    assert (asked.method, asked.path) == ("POST", "/learning-plans")
    assert asked.headers["idempotency-key"] == "k1"
    assert json.loads(asked.body) == PLAN.shown()


async def every_call(directory: Directory, who: Caller) -> list[BaseException]:
    calls = [
        directory.profile(who),
        directory.tasks(who),
        directory.task(who, "T-1"),
        directory.objectives(who),
        directory.save_learning_plan(who, PLAN, "k"),
    ]
    failures = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(failure, BaseException) for failure in failures), failures
    return [failure for failure in failures if isinstance(failure, BaseException)]


def sanitized(failure: BaseException, url: str) -> None:
    """Neither the text nor a cause that a log would print says where, who or what."""
    seen: BaseException | None = failure
    while seen is not None:
        for secret in (TOKEN, "127.0.0.1", url.rsplit(":", 1)[1].split("/")[0], "body of"):
            assert secret not in f"{seen!r} {seen}"
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((401, {}, SECRET_BODY), "it refused the user's token"),
        ((403, {}, SECRET_BODY), "it refused the user's token"),
        ((500, {}, SECRET_BODY), "it answered with status 500"),
        ((503, {}, SECRET_BODY), "it answered with status 503"),
        ((429, {}, SECRET_BODY), "it answered with status 429"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "it answered with status 302"),
        ((200, {}, b"<html>"), "its reply is malformed"),
        ((200, {}, SECRET_BODY), "its reply is malformed"),
        ((200, {}, b"\xff\xfe"), "its reply is malformed"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(b"{}")), "its reply is compressed"),
    ],
)
async def test_a_failure_says_what_kind_it_is_and_nothing_else(
    directory: RestDirectory,
    server: tuple[DirectoryState, str],
    answer: Any,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    state, url = server
    state.answer = answer
    with caplog.at_level(logging.DEBUG, logger="manta"):
        failures = await every_call(directory, ANA)
    for failure in failures:
        assert isinstance(failure, Unavailable)
        assert failure.message == f"the directory is unavailable: {reason}"
        sanitized(failure, url)
    ours = [record for record in caplog.records if record.name.startswith("manta")]
    assert len(ours) == len(failures)
    for record in ours:
        assert TOKEN not in str(record.__dict__) and "body of" not in str(record.__dict__)


async def test_a_redirect_is_not_followed_with_the_token(
    directory: RestDirectory, server: tuple[DirectoryState, str]
) -> None:
    state, _ = server
    with directory_server() as (elsewhere, other):
        state.answer = (307, {"Location": f"{other}/profile"}, b"")
        await every_call(directory, ANA)
        assert elsewhere.asked == []


async def test_a_404_of_a_list_is_no_empty_list(
    directory: RestDirectory, server: tuple[DirectoryState, str]
) -> None:
    server[0].answer = (404, {}, b"{}")
    for call in (directory.tasks(ANA), directory.objectives(ANA)):
        with pytest.raises(Unavailable, match="status 404"):
            await call


async def test_a_reply_may_be_as_large_as_the_policy_says(
    server: tuple[DirectoryState, str],
) -> None:
    state, url = server
    limits = replace(POLICY.directory, response_bytes=2_000)
    body = json.dumps({"name": "Ana", "role": "Diver"}).encode()
    async with directory_client(limits) as client:
        directory = RestDirectory(DirectoryConfig(url=url), client, limits)
        state.answer = (200, {}, body + b" " * (2_000 - len(body)))
        assert (await directory.profile(ANA)).name == "Ana"
        state.answer = (200, {}, body + b" " * (2_001 - len(body)))
        with pytest.raises(Unavailable, match="too large") as caught:
            await directory.profile(ANA)
        sanitized(caught.value, url)


@pytest.mark.parametrize("slow", [{"delay": 1.0}, {"trickle": 0.05}])
async def test_a_slow_service_is_given_up(
    server: tuple[DirectoryState, str], slow: dict[str, float]
) -> None:
    state, url = server
    state.delay, state.trickle = slow.get("delay", 0.0), slow.get("trickle", 0.0)
    async with directory_client() as client:
        directory = RestDirectory(DirectoryConfig(url=url, timeout_seconds=0.2), client)
        started = time.monotonic()
        with pytest.raises(Unavailable, match=r"did not answer within 0\.2 s") as caught:
            await directory.profile(ANA)
        assert time.monotonic() - started < 0.8
        sanitized(caught.value, url)


async def test_a_service_that_is_not_there_is_unavailable() -> None:
    async with directory_client() as client:
        directory = RestDirectory(DirectoryConfig(url="http://127.0.0.1:9/api"), client)
        for failure in await every_call(directory, ANA):
            assert isinstance(failure, Unavailable)
            sanitized(failure, "http://127.0.0.1:9/api")


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (None, "there is none"),
        ("", "there is none"),
        ("a b", "malformed"),
        ("a\r\nX-Other: b", "malformed"),
        ("schlüssel", "malformed"),
    ],
)
async def test_without_a_usable_token_nothing_is_asked(
    directory: RestDirectory, server: tuple[DirectoryState, str], token: str | None, reason: str
) -> None:
    who = Caller(tenant="acme", user="ana", token=SecretStr(token) if token is not None else None)
    for failure in await every_call(directory, who):
        assert isinstance(failure, Unavailable)
        assert reason in failure.reason
        assert not token or token not in failure.message
    assert server[0].asked == []


@pytest.mark.parametrize(
    "task_id", ["", "..", "../profile", "T-1/../T-9", "T-1?x=1", "T-1#", "T 1", "Ü", "x" * 129]
)
async def test_an_id_that_could_change_the_path_is_nobodys_task(
    directory: RestDirectory, server: tuple[DirectoryState, str], task_id: str
) -> None:
    with pytest.raises(NotFound, match="the task"):
        await directory.task(ANA, task_id)
    assert server[0].asked == []


async def test_a_session_of_one_user_is_not_carried_to_another(
    directory: RestDirectory, server: tuple[DirectoryState, str]
) -> None:
    state, _ = server
    state.answer = (200, {"Set-Cookie": "session=anas; Path=/"}, b"[]")
    await directory.tasks(ANA)
    state.answer = None
    await directory.tasks(BEN)
    assert "cookie" not in state.asked[-1].headers
    assert state.asked[-1].headers["authorization"] == "Bearer token-of-ben"


async def test_a_tenant_has_its_service_or_the_files(server: tuple[DirectoryState, str]) -> None:
    state, url = server
    own = {"directory": {"url": url}}
    served = TenantConfig.model_validate({"tenant": "acme", "name": "Acme", "chatbot": own})
    filed = TenantConfig(tenant="tidewater", name="Tidewater")
    directories = TenantDirectories(settings_for())
    try:
        assert isinstance(directories(filed), FileDirectory)
        assert (await directories(served).profile(ANA)).name == "Ana"
        assert len(await directories(filed).tasks(Caller(tenant="tidewater", user="ana"))) == 5
        assert len(state.asked) == 1
    finally:
        await directories.close()
        await directories.close()
