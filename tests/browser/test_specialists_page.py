"""A conversation with each specialist through the page, over the real application and records.

The models are scripted; what they call and what the page shows of it is real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from acme import GUARD, SUPERVISOR
from demo_served import demo_served
from model_server import ModelServer
from scripted_replies import Chosen, Reply, Text, call
from served import Served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
SECONDS = 20_000
REPLY = call("reply_to_user")


@pytest.fixture(scope="module")
def demo(
    model_server: ModelServer,
    redis_url: str,
    milvus_uri: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("data")
    with demo_served(model_server, redis_url, milvus_uri, data) as running:
        yield running


CASES: dict[str, tuple[Reply, str, str]] = {
    "opportunity_search": (
        call("search_opportunities", query="quay maintenance", place="Falmouth"),
        "Positions and missions",
        "O-101",
    ),
    "training_search": (call("search_trainings", query="leading a team"), "Trainings", "TR-501"),
    "talent_search": (call("search_people", query="payroll"), "People search", "P-803"),
    "task_guidance": (call("list_my_tasks"), "Task guidance", "T-101"),
    "career_chat": (call("get_my_profile"), "Career chat", "Ana Penrose"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_specialist_answers_on_the_page(
    models: ModelServer, demo: Served, open_page: Any, ask: Any, name: str
) -> None:
    tool, shown, found = CASES[name]
    models.script(GUARD, Chosen("allow"))
    models.script(SUPERVISOR, Chosen(name))
    models.script(f"manta.{name}", tool, REPLY, Text("This is what I found."))
    page = open_page(demo.url)
    ask(page, f"Please help, {name}")
    page.get_by_text("This is what I found.").wait_for(timeout=SECONDS)
    assert page.locator(".agent").inner_text() == shown
    told = [m for m in models.asked(f"manta.{name}")[-1]["messages"] if m["role"] == "tool"]
    assert found in json.dumps(told)
    page.get_by_role("button", name="Helpful", exact=True).click()
    page.get_by_text("Thank you for telling us.").wait_for()
    page.reload()
    page.get_by_text("This is what I found.").wait_for()
    assert page.locator(".agent").inner_text() == shown


def test_a_person_is_chosen_in_a_form_that_survives_a_reload(
    models: ModelServer, demo: Served, open_page: Any, ask: Any
) -> None:
    people = "manta.person_disambiguation"
    models.script(SUPERVISOR, Chosen("person_disambiguation"))
    models.script(people, call("choose_person", person_ids=["P-809", "P-824"]))
    page = open_page(demo.url)
    ask(page, "Who is Marie Le Gall?")
    page.locator(".pause-form").wait_for(timeout=SECONDS)
    page.reload()
    page.locator(".pause-form").wait_for()
    assert page.locator(".question").all_inner_texts() == ["Who is Marie Le Gall?"]
    models.script(people, REPLY, Text("Marie from Brest."))
    page.get_by_label("Ingénieure structure").check()
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Marie from Brest.").wait_for(timeout=SECONDS)
    assert page.locator(".agent").inner_text() == "Who is who"
    told = [m for m in models.asked(people)[-1]["messages"] if m["role"] == "tool"]
    assert json.loads(told[0]["content"])["chosen"]["id"] == "P-824"


def test_a_plan_is_made_in_two_steps_and_the_last_one_is_left(
    models: ModelServer, demo: Served, open_page: Any, ask: Any
) -> None:
    plan = "manta.profile_analysis"
    models.script(SUPERVISOR, Chosen("profile_analysis"), Chosen("profile_analysis"))
    models.script(plan, call("build_learning_plan"))
    page = open_page(demo.url)
    ask(page, "Make me a learning plan")
    page.get_by_label("Ready to lead the quay team").check(timeout=SECONDS)
    page.get_by_role("button", name="Answer").click()
    page.get_by_label("yes, save it").wait_for(timeout=SECONDS)
    page.get_by_role("button", name="Leave it").click()
    page.get_by_text("Left unanswered").wait_for(timeout=SECONDS)
    # The run that closed the pause ends a moment later; until then nothing can be sent.
    page.locator("#log:not([aria-busy])").wait_for(timeout=SECONDS)
    assert list(demo.settings.data.rglob("learning_plans.jsonl")) == []
    models.script(plan, call("list_my_objectives"), REPLY, Text("You have three objectives."))
    ask(page, "What are my objectives?")
    page.get_by_text("You have three objectives.").wait_for(timeout=SECONDS)
    assert page.locator(".agent").last.inner_text() == "Profile and plans"


def test_a_message_instead_of_an_answer_abandons_the_pause(
    models: ModelServer, demo: Served, open_page: Any, ask: Any
) -> None:
    chat = "manta.career_chat"
    models.script(SUPERVISOR, Chosen("career_chat"), Chosen("career_chat"))
    models.script(chat, call("request_clarification", questions=["Which team?", "Since when?"]))
    page = open_page(demo.url)
    ask(page, "Help me with my next step")
    page.get_by_role("textbox", name="Which team?").fill("Payroll", timeout=SECONDS)
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Please answer every question.").wait_for()
    models.script(chat, REPLY, Text("As you like."))
    ask(page, "Never mind")
    page.get_by_text("As you like.").wait_for(timeout=SECONDS)
    assert page.locator(".turn").first.get_by_text("Left unanswered").count() == 2
    assert page.locator(".pause-form").count() == 0
