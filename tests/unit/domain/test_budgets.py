"""Allowances at their boundaries, on a clock that the tests move."""

from __future__ import annotations

from typing import get_args

import pytest
from fake_clock import FakeClock
from pydantic import ValidationError

from domain.budgets import Allowance, Budget, Meter, Spent
from domain.errors import AllowanceExhausted, DeadlineExceeded

ALLOWANCES = get_args(Allowance)


def test_an_unset_budget_is_unlimited_everywhere() -> None:
    assert set(Budget().model_dump().values()) == {None}


@pytest.mark.parametrize("name", list(Budget.model_fields))
def test_a_negative_allowance_is_refused_and_zero_is_allowed(name: str) -> None:
    assert getattr(Budget(**{name: 0}), name) == 0
    with pytest.raises(ValidationError, match=name):
        Budget(**{name: -1})


def test_an_unknown_allowance_is_refused() -> None:
    with pytest.raises(ValidationError, match="tokens"):
        Budget(tokens=3)  # type: ignore[call-arg]


def test_narrowing_sets_what_was_unlimited() -> None:
    assert Budget().narrowed(reads=4, seconds=45.0) == Budget(reads=4, seconds=45.0)


@pytest.mark.parametrize(("had", "limit", "gets"), [(5, 4, 4), (4, 4, 4), (3, 4, 3), (0, 4, 0)])
def test_narrowing_never_widens(had: int, limit: int, gets: int) -> None:
    assert Budget(model_calls=had).narrowed(model_calls=limit).model_calls == gets


def test_narrowing_leaves_the_other_allowances_and_the_original_alone() -> None:
    budget = Budget(searches=2, reads=9)
    assert budget.narrowed(reads=4) == Budget(searches=2, reads=4)
    assert budget.reads == 9


def test_narrowing_refuses_a_name_that_is_no_allowance() -> None:
    with pytest.raises((KeyError, ValidationError)):
        Budget().narrowed(tokens=1)


@pytest.mark.parametrize("allowance", ALLOWANCES)
def test_the_last_one_may_be_taken_and_one_more_is_refused(allowance: Allowance) -> None:
    meter = Meter(Budget(**{allowance: 2}), "the research")
    meter.take(allowance)
    meter.take(allowance)
    with pytest.raises(AllowanceExhausted) as caught:
        meter.take(allowance)
    assert (caught.value.allowance, caught.value.limit) == (allowance, 2)
    assert caught.value.source == "the research"
    assert meter.used(allowance) == 2, "a refused one is not counted"


@pytest.mark.parametrize("allowance", ALLOWANCES)
def test_an_allowance_of_zero_gives_none(allowance: Allowance) -> None:
    meter = Meter(Budget(**{allowance: 0}), "x")
    assert meter.left(allowance) == 0
    with pytest.raises(AllowanceExhausted):
        meter.take(allowance)


def test_an_unlimited_allowance_is_counted_and_never_refused() -> None:
    meter = Meter(Budget(), "x")
    for _ in range(500):
        meter.take("reads")
    assert meter.left("reads") is None
    assert meter.used("reads") == 500


def test_one_allowance_does_not_use_another() -> None:
    meter = Meter(Budget(reads=1, searches=1), "x")
    meter.take("reads")
    assert (meter.left("reads"), meter.left("searches")) == (0, 1)


def test_time_is_up_exactly_at_the_limit() -> None:
    clock = FakeClock()
    meter = Meter(Budget(seconds=2.0), "x", clock)
    clock.advance(1.999)
    meter.check_time("a search")
    clock.advance(0.001)
    with pytest.raises(DeadlineExceeded) as caught:
        meter.check_time("a search")
    assert (caught.value.operation, caught.value.seconds) == ("a search", 2.0)


def test_seconds_left_fall_to_zero_and_not_below() -> None:
    clock = FakeClock()
    meter = Meter(Budget(seconds=2.0), "x", clock)
    assert meter.seconds_left() == 2.0
    clock.advance(0.5)
    assert meter.seconds_left() == 1.5
    clock.advance(9.0)
    assert meter.seconds_left() == 0.0


def test_unlimited_time_is_never_up() -> None:
    clock = FakeClock()
    meter = Meter(Budget(), "x", clock)
    clock.advance(1e9)
    meter.check_time("a search")
    assert meter.seconds_left() is None


def test_a_budget_is_anchored_when_it_is_received() -> None:
    clock = FakeClock(now=1e6)
    assert Meter(Budget(seconds=3.0), "x", clock).seconds_left() == 3.0


def test_spent_is_what_was_taken_and_what_callees_used() -> None:
    clock = FakeClock()
    meter = Meter(Budget(), "x", clock)
    meter.take("searches")
    meter.take("model_calls")
    meter.add(Spent(seconds=7.0, model_calls=2, input_tokens=10, cost_usd=0.5))
    clock.advance(1.5)
    assert meter.spent() == Spent(
        seconds=1.5, model_calls=3, searches=1, input_tokens=10, cost_usd=0.5
    )


def test_seconds_of_callees_overlap_and_are_not_added() -> None:
    clock = FakeClock()
    meter = Meter(Budget(), "x", clock)
    meter.add(Spent(seconds=30.0))
    assert meter.spent().seconds == 0.0


def test_what_callees_used_does_not_use_up_the_own_allowance() -> None:
    meter = Meter(Budget(model_calls=1), "x")
    meter.add(Spent(model_calls=5))
    meter.take("model_calls")


def test_spent_adds_every_field() -> None:
    names = list(Spent.model_fields)
    left = Spent(**{name: index + 1 for index, name in enumerate(names)})
    right = Spent(**{name: 10 * (index + 1) for index, name in enumerate(names)})
    total = left + right
    assert total.model_dump() == {name: 11 * (index + 1) for index, name in enumerate(names)}
    assert left + Spent() == left
