"""From a specialist's name to the specialist; each one's libraries are imported by it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.role_handles import RetrieverHandle
from config.tenants import SpecialistName

if TYPE_CHECKING:
    from actors.resources import ProcessResources
    from actors.toolbox import Toolbox


def build_specialist(
    name: SpecialistName, resources: ProcessResources, retriever: RetrieverHandle
) -> Any:
    """The role of one specialist: all of them are the same loop over different tools."""
    models, settings = resources.models, resources.settings
    if name == "career_chat":
        from actors.career_chat import CareerChat
        from retrieval.uploads import UploadStore

        uploads = UploadStore(resources.redis)
        return CareerChat(models, settings, retriever, resources.directories, uploads)
    from actors.specialist import Specialist

    return Specialist(name, _toolbox(name, resources, retriever), models, settings)


def _toolbox(
    name: SpecialistName, resources: ProcessResources, retriever: RetrieverHandle
) -> Toolbox:
    from actors.catalogue_search import CATALOGUES, catalogue_tools

    if name in CATALOGUES:
        return catalogue_tools(name, retriever)
    if name == "person_disambiguation":
        from actors.person_disambiguation import person_tools

        return person_tools(retriever)
    if name == "profile_analysis":
        from actors.profile_analysis import profile_tools

        return profile_tools(resources.directories, retriever)
    if name == "task_guidance":
        from actors.task_guidance import task_tools

        return task_tools(resources.directories, retriever)
    raise KeyError(name)
