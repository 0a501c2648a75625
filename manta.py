"""The command line: ``manta serve``, ``ask``, ``index`` and ``doctor``. Wiring only."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from config.settings import Settings
from domain.errors import InvalidInput, MantaError

# Roles share the cores: threads of numpy that wait for each other made a busy machine many times
# slower. Numpy reads this when it is first imported; Ray sets the same for its workers.
os.environ.setdefault("OMP_NUM_THREADS", "1")

cli = typer.Typer(
    help="A supervised, knowledge-grounded assistant for organisations.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Demo = Annotated[bool, typer.Option("--demo", help="Use the demo organisation.")]
Tenant = Annotated[str, typer.Option("--tenant", help="The organisation's id.")]


@cli.command()
def serve(
    demo: Demo = False,
    port: Annotated[int | None, typer.Option(help="The port of the HTTP server.")] = None,
) -> None:
    """Start the stores, Ray and the chat; stop all of it with Ctrl-C."""
    from serve.local_server import run_server

    run_server(_settings(demo, port=port), demo=demo)


@cli.command()
def ask(
    question: str,
    tenant: Tenant,
    conversation: Annotated[str | None, typer.Option(help="Continue this conversation.")] = None,
    user: Annotated[str | None, typer.Option(help="Whose tasks and conversation.")] = None,
    locale: Annotated[str | None, typer.Option(help="en, fr or de.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    demo: Demo = False,
) -> None:
    """Run one turn in this process, without Ray and HTTP."""
    from serve.one_turn import ask_once

    answer = asyncio.run(
        ask_once(_settings(demo), tenant, question, conversation, user, locale, demo=demo)
    )
    print(json.dumps(answer, ensure_ascii=False) if as_json else _readable(answer))
    if answer["status"] == "failed":
        raise typer.Exit(1)


@cli.command()
def index(
    path: Annotated[Path, typer.Argument(help="A folder of documents, or a file of records.")],
    tenant: Tenant,
    records: Annotated[
        str | None,
        typer.Option(help="What the file holds: opportunities, trainings, people, occupations."),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(help="Where a folder goes: documents (the default), faq, troubleshooting."),
    ] = None,
    demo: Demo = False,
    no_ray: Annotated[bool, typer.Option("--no-ray", help="Convert in this process.")] = False,
) -> None:
    """Index a folder of documents, or a JSON Lines file of records: what is new is added, what is
    gone is removed."""
    from serve.indexing import index_folder, index_records

    settings = _settings(demo)
    if records is None:
        into = collection or "documents"
        if not index_folder(settings, path, tenant, use_ray=not no_ray, collection=into):
            raise typer.Exit(1)
    elif collection is not None:
        raise InvalidInput("--collection", "is of folders, not of records", "leave one out")
    else:
        index_records(settings, records, path, tenant)


@cli.command()
def doctor(demo: Demo = False) -> None:
    """Say what would be used, and what is wrong, one line each."""
    from serve.doctor import examine

    sound = True
    for line in examine(_settings(demo)):
        print(line)
        sound = sound and not line.startswith("wrong")
    if not sound:
        raise typer.Exit(1)


@cli.command()
def key(
    tenant: Tenant,
    user: Annotated[
        str | None, typer.Option(help="The one person it stands for; without, any of the tenant.")
    ] = None,
    permission: Annotated[
        list[str] | None, typer.Option(help="chat, history, administration; may be repeated.")
    ] = None,
    name: Annotated[str | None, typer.Option("--id", help="What the entry is called.")] = None,
) -> None:
    """Make an API key: shown once, with the entry that the file of keys needs."""
    from serve.key_command import make_key

    for line in make_key(tenant, user, permission, name):
        print(line)


def _settings(demo: bool, **overrides: Any) -> Settings:
    given = {name: value for name, value in overrides.items() if value is not None}
    if demo:
        from serve.demo import demo_settings

        given = {**demo_settings(), **given}
    return Settings.load(**given)


def _readable(answer: dict[str, Any]) -> str:
    lines = [answer["answer"], ""]
    for citation in answer["citations"]:
        where = citation["url"] or citation["title"]
        lines.append(f"[{citation['number']}] {where}: {citation['quote']}")
    return "\n".join(lines).strip()


def main() -> None:
    """The console script. An error of ours is one clear line and exit code 2."""
    try:
        cli()
    except MantaError as error:
        print(f"manta: {error.message}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
