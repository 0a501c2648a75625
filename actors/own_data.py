"""The user's own profile and objectives, from the tenant's directory."""

from __future__ import annotations

import json
from collections.abc import Callable

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool

from actors.specialist_run import SpecialistRun
from config.tenants import SpecialistName, TenantConfig
from domain.errors import NotFound, Unavailable
from domain.events import Activity
from retrieval.directory import Caller, Directory

Directories = Callable[[TenantConfig], Directory]
"""Which directory a tenant has."""

NO_PROFILE = json.dumps({"error": "no_profile", "meaning": "no profile is recorded for the user"})


def caller(run: SpecialistRun) -> Caller:
    """Whose data is read: the request decides, never a model. The token goes no further."""
    return Caller(tenant=run.context.tenant, user=run.context.user, token=run.request.token)


def profile_tool(directories: Directories, agent: SpecialistName) -> BaseTool:
    @tool
    async def get_my_profile(runtime: ToolRuntime[SpecialistRun]) -> str:
        """Read the user's own profile: role, team, skills, languages, experience, wishes."""
        run = runtime.context
        runtime.stream_writer(Activity(code="reading_profile", agent=agent))
        try:
            profile = await directories(run.tenant).profile(caller(run))
        except NotFound:
            return NO_PROFILE
        except Unavailable as failure:
            # A conversation can go on without a profile, whichever specialist leads it.
            return json.dumps({"error": failure.code})
        return json.dumps({"profile": profile.shown()}, ensure_ascii=False)

    return get_my_profile


def objectives_tool(directories: Directories, agent: SpecialistName) -> BaseTool:
    @tool
    async def list_my_objectives(runtime: ToolRuntime[SpecialistRun]) -> str:
        """List the user's own objectives with their action plans."""
        run = runtime.context
        runtime.stream_writer(Activity(code="reading_profile", agent=agent))
        objectives = await directories(run.tenant).objectives(caller(run))
        shown = [objective.shown() for objective in objectives]
        return json.dumps({"objectives": shown}, ensure_ascii=False)

    return list_my_objectives
