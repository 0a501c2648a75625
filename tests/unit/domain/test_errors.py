"""Every error that may cross a boundary survives the crossing."""

from __future__ import annotations

import pickle

import pytest

from domain import errors
from domain.errors import (
    ActorUnavailable,
    AllowanceExhausted,
    ConversationBusy,
    DeadlineExceeded,
    Forbidden,
    InvalidConfiguration,
    InvalidInput,
    MantaError,
    ModelUnavailable,
    NotFound,
    PageFailed,
    PageRejected,
    StoreUnavailable,
    TurnFailed,
    Unauthenticated,
    Unavailable,
)

SAMPLES: list[tuple[MantaError, str, dict[str, object]]] = [
    (MantaError("plain", detail=3), "error", {"detail": 3}),
    (
        InvalidInput("messages", "is empty", "write"),
        "invalid_input",
        {"field": "messages", "reason": "is empty", "mend": "write"},
    ),
    (
        InvalidConfiguration("chatbot.x", "is unknown", "remove it"),
        "invalid_configuration",
        {"field": "chatbot.x", "reason": "is unknown", "mend": "remove it"},
    ),
    (Unauthenticated("no key"), "invalid_api_key", {}),
    (Forbidden("chat"), "permission_missing", {"permission": "chat"}),
    (NotFound("the tenant"), "not_found", {"what": "the tenant"}),
    (ConversationBusy(), "conversation_busy", {}),
    (
        AllowanceExhausted("page_attempts", 3, "source 2"),
        "allowance_exhausted",
        {"allowance": "page_attempts", "limit": 3, "source": "source 2"},
    ),
    (
        DeadlineExceeded("gate.decide", 15.0),
        "deadline_exceeded",
        {"operation": "gate.decide", "seconds": 15.0},
    ),
    (PageRejected("out_of_scope"), "out_of_scope", {}),
    (
        PageFailed("http_error", status=404, error_type="HTTPStatus"),
        "http_error",
        {"status": 404, "error_type": "HTTPStatus"},
    ),
    (Unavailable("it", "timeout"), "unavailable", {"what": "it", "reason": "timeout"}),
    (StoreUnavailable("Redis", "gone"), "store_unavailable", {"what": "Redis", "reason": "gone"}),
    (ModelUnavailable("the model", "refusal"), "model_unavailable", {"reason": "refusal"}),
    (ActorUnavailable("guardrail", "its process ended"), "actor_unavailable", {}),
    (
        TurnFailed("gate", "deadline_exceeded"),
        "turn_failed",
        {"stage": "gate", "cause": "deadline_exceeded"},
    ),
]
IDS = [type(error).__name__ for error, _, _ in SAMPLES]


def test_every_error_of_the_module_is_sampled_here() -> None:
    defined = {
        value.__name__
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, MantaError)
    }
    assert defined == set(IDS)


@pytest.mark.parametrize(("error", "code", "fields"), SAMPLES, ids=IDS)
def test_an_error_carries_its_code_and_fields(
    error: MantaError, code: str, fields: dict[str, object]
) -> None:
    assert error.code == code
    for name, value in fields.items():
        assert getattr(error, name) == value
    assert str(error) == error.message != ""


@pytest.mark.parametrize("error", [error for error, _, _ in SAMPLES], ids=IDS)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_an_error_survives_pickling_with_all_its_fields(error: MantaError, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is type(error)
    assert (again.message, str(again), again.code) == (error.message, str(error), error.code)
    assert again.fields == error.fields
    for name, value in error.fields.items():
        assert getattr(again, name) == value


def test_a_pickled_error_is_pickled_again_unchanged() -> None:
    error = AllowanceExhausted("reads", 4, "the research")
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(error))))
    assert twice.fields == error.fields


def test_fields_added_later_travel_too() -> None:
    error = PageFailed("timeout")
    error.fields["trail"] = ("a", "b")
    assert pickle.loads(pickle.dumps(error)).trail == ("a", "b")


def test_an_exhausted_allowance_says_which_one_and_whose() -> None:
    error = AllowanceExhausted("page_attempts", 3, "source 2")
    assert str(error) == "source 2 allows 3 page attempts"


def test_a_refused_input_says_field_reason_and_mend() -> None:
    assert str(InvalidInput("n", "is 2", "use 1")) == "n: is 2; use 1"


def test_a_deadline_names_the_operation_and_the_seconds() -> None:
    assert str(DeadlineExceeded("gate.decide", 15.0)) == "gate.decide did not end within 15 s"


def test_a_stopped_turn_shows_neither_its_stage_nor_its_cause() -> None:
    error = TurnFailed("supervisor", "model_unavailable")
    assert "supervisor" not in str(error)
    assert "model" not in str(error)


@pytest.mark.parametrize("kind", [StoreUnavailable, ModelUnavailable, ActorUnavailable])
def test_every_unavailability_can_be_caught_as_one(kind: type[Unavailable]) -> None:
    with pytest.raises(Unavailable, match=r"^x is unavailable: y$"):
        raise kind("x", "y")
