"""How the offline model shows tasks: open ones by their due date, finished ones on demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from config.prompt_files import phrase

DONE = "done"
KNOWN = frozenset({"open", "waiting", DONE})
_NO_DATE = "9999-12-31"

_ALL = re.compile(
    r"""\ball\s+(?:of\s+)?(?:my\s+|the\s+)?(?:tasks|jobs|assignments)
      | \btoutes\s+(?:mes|les)\s+tâches | \balle\s+(?:meine\s+)?aufgaben""",
    re.IGNORECASE | re.VERBOSE,
)
_FINISHED = re.compile(
    r"""\b(?:have|did)\s+i\s+(?:already\s+)?(?:done|do|finish(?:ed)?|completed?|closed?)\b
      | \bi(?:\s+have|'ve)?\s+(?:already\s+)?(?:finished|completed|done)\b
      | \b(?:finished|completed|closed|done)\s+(?:tasks?|jobs?|ones)\b
      | \b(?:tasks|jobs|ones)\s+(?:that\s+)?(?:are\s+)?(?:already\s+)?(?:done|finished|completed)\b
      | \bai-je\s+(?:déjà\s+)?(?:termin|fini|fait|achev)\w*
      | \bj'ai\s+(?:déjà\s+)?(?:terminé|fini|fait|achevé)\w*
      | (?<!être\ )\b(?:terminées|finies|achevées)\b
      | \berledigten?\s+aufgaben? | \b(?:sind|ist)\s+(?:schon\s+|bereits\s+)?(?:erledigt|fertig)\b
      | \bhabe\s+ich\b.{0,30}\b(?:erledigt|abgeschlossen|fertig|geschafft)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def names_id(question: str, task_id: str) -> bool:
    """Whether the question names this very id, and not a longer one that begins with it."""
    return bool(re.search(rf"(?<!\w){re.escape(task_id)}(?!\w)", question, re.IGNORECASE))


def list_text(tasks: Sequence[dict[str, Any]], question: str, locale: str) -> str:
    """The tasks that the question is about, what is open before what is finished."""
    plain = question.replace("’", "'")
    ordered = sorted(tasks, key=lambda task: str(task.get("due") or _NO_DATE))
    unfinished = [task for task in ordered if task.get("status") != DONE]
    finished = [task for task in ordered if task.get("status") == DONE]
    if _ALL.search(plain):
        shown, missing = [*unfinished, *finished], "offline_no_tasks"
    elif _FINISHED.search(plain):
        shown, missing = finished, "offline_no_finished_tasks"
    else:
        shown, missing = unfinished, "offline_no_open_tasks"
    if not shown:
        return phrase(missing if tasks else "offline_no_tasks", locale)
    lines = [_line(task, locale) for task in shown]
    return "\n".join([phrase("offline_tasks_intro", locale), "", *lines])


def task_text(task: dict[str, Any], locale: str) -> str:
    """One task with its steps and notes."""
    lines = [phrase("offline_task_intro", locale), "", _line(task, locale)]
    lines += [f"{number}. {step}" for number, step in enumerate(task.get("steps") or (), start=1)]
    if task.get("notes"):
        lines += ["", str(task["notes"])]
    return "\n".join(lines)


def _line(task: dict[str, Any], locale: str) -> str:
    status = str(task["status"])
    if status in KNOWN:
        status = phrase(f"offline_status_{status}", locale)
    due = f", {phrase('offline_due', locale)} {task['due']}" if task.get("due") else ""
    return f"- {task['title']} ({task['id']}, {status}{due})"
