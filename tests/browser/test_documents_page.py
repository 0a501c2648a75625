"""Documents of a conversation: added, refused, removed, and never overtaken by a message."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report ü.md"
    file.write_text("# Report\n\nAll is well.\n", encoding="utf-8")
    return file


def test_a_document_begins_a_conversation_and_can_be_removed(
    page_server: Any, open_page: Any, scripted: Any, ask: Any, report: Path
) -> None:
    page_server.script(*scripted.ended("replied", "All is well."))
    page = open_page(page_server.url)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add a document").click()
    chooser.value.set_files(report)
    page.get_by_role("button", name="Remove report ü.md").wait_for()
    page.get_by_text("report ü.md was added.").wait_for()
    thread, name, content = page_server.records.uploads[0]
    assert (name, content) == ("report ü.md", report.read_bytes())
    assert page.locator("#welcome").is_visible(), "nothing was asked yet"
    page.locator(".past-title").get_by_text("report ü.md").wait_for()
    ask(page, "What does it say?")
    page.locator(".text").get_by_text("All is well.").wait_for()
    assert page_server.runs[0].body["threadId"] == thread
    page_server.records.refuse_next("DELETE", f"/v1/conversations/{thread}", 503, "Not now.")
    page.get_by_role("button", name="Remove report ü.md").click()
    page.locator(".chip").get_by_text("Not now.").wait_for()
    page.get_by_role("button", name="Remove report ü.md").click()
    page.locator(".chip").wait_for(state="detached")
    assert page_server.records.conversations[thread]["documents"] == []
    assert page.evaluate("document.activeElement.id") == "attach"


def test_a_refused_document_says_why_beside_the_others(
    page_server: Any, open_page: Any, report: Path, tmp_path: Path
) -> None:
    other = tmp_path / "picture.png"
    other.write_bytes(b"png")
    page_server.records.refuse_next("POST", "/v1/conversations/", 400, "file: cannot be read")
    page = open_page(page_server.url)
    page.set_input_files("#attach-file", other)
    page.locator(".chip.refused").get_by_text("file: cannot be read").wait_for()
    page.set_input_files("#attach-file", report)
    page.get_by_role("button", name="Remove report ü.md").wait_for()
    page.get_by_role("button", name="Dismiss the message about picture.png").click()
    assert page.locator(".chip-name").all_inner_texts() == ["report ü.md"]


def test_a_message_waits_for_the_document(
    page_server: Any, open_page: Any, scripted: Any, ask: Any, report: Path
) -> None:
    page_server.script(*scripted.ended("replied", "Read."))
    page = open_page(page_server.url)
    held: list[Any] = []
    page.context.route("**/documents", lambda route: held.append(route))
    page.set_input_files("#attach-file", report)
    page.get_by_role("progressbar", name="Uploading report ü.md").wait_for()
    ask(page, "What does it say?")
    assert page.get_by_label("Your message").input_value() == "What does it say?"
    assert page_server.runs == []
    held[0].continue_()
    page.get_by_text("Read.").wait_for()
    assert len(page_server.records.uploads) == 1


def test_an_upload_can_be_cancelled(page_server: Any, open_page: Any, report: Path) -> None:
    page = open_page(page_server.url)
    page.context.route("**/documents", lambda route: None)
    page.set_input_files("#attach-file", report)
    page.get_by_role("button", name="Cancel the upload of report ü.md").click()
    page.locator(".chip").wait_for(state="detached")
    assert not page.locator("#documents").is_visible()
    assert page_server.records.uploads == []


def test_a_dropped_document_is_added(page_server: Any, open_page: Any) -> None:
    page = open_page(page_server.url)
    files = page.evaluate_handle(
        """() => {
          const files = new DataTransfer();
          files.items.add(new File(["All is well."], "note.txt", { type: "text/plain" }));
          return files;
        }"""
    )
    page.dispatch_event("#main", "dragover", {"dataTransfer": files})
    page.get_by_text("Drop a document to add it to this conversation").wait_for()
    page.dispatch_event("#main", "drop", {"dataTransfer": files})
    page.get_by_role("button", name="Remove note.txt").wait_for()
    assert not page.locator("#drop").is_visible()
    assert page_server.records.uploads[0][1:] == ("note.txt", b"All is well.")


def test_each_conversation_has_its_own_documents(
    page_server: Any, open_page: Any, scripted: Any, ask: Any, report: Path
) -> None:
    go = threading.Event()
    page_server.script(go, *scripted.ended("replied", "Read."))
    page = open_page(page_server.url)
    page.set_input_files("#attach-file", report)
    page.get_by_role("button", name="Remove report ü.md").wait_for()
    ask(page, "What does it say?")
    page.get_by_role("button", name="New conversation").click()
    assert not page.locator("#documents").is_visible()
    page.locator(".past-open").click()
    page.get_by_role("button", name="Remove report ü.md").wait_for()
    go.set()
    page.get_by_text("Read.").wait_for()
