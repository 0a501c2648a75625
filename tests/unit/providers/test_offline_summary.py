"""The offline summary quotes what the user said and keeps to its size."""

from __future__ import annotations

from langchain_core.messages import HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from config.policy import POLICY
from providers.labelled_data import labelled
from providers.offline_summary import summary_step


def said(*texts: str, previous: str = "") -> str:
    records = [{"role": "user", "text": text} for text in texts]
    records.append({"role": "assistant", "text": "never quoted"})
    return summary_step([labelled("summary", previous), labelled("conversation", records)]).text


def test_what_the_user_said_follows_the_previous_lines() -> None:
    first = said("I moved to Brest")
    second = said("Who is\nthe nurse?", previous=first)
    assert second.splitlines()[1:] == ["- “I moved to Brest”", "- “Who is the nurse?”"]
    assert "never quoted" not in second


def test_the_oldest_words_go_when_room_is_short() -> None:
    text = said(*(f"message {number} {'word ' * 50}" for number in range(60)))
    assert "message 59" in text and "message 0 " not in text
    body = "\n".join(text.splitlines()[1:])
    assert count_tokens_approximately([HumanMessage(body)]) <= POLICY.summary.tokens
    one_more = count_tokens_approximately([HumanMessage(body + "\n- “" + "word " * 40 + "”")])
    assert one_more > POLICY.summary.tokens, "as much is kept as there is room for"


def test_a_long_message_is_cut() -> None:
    [_, line] = said("x" * 201).splitlines()
    assert line == f"- “{'x' * 200}”"
