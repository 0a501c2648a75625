"""The one place that chooses a provider for the process."""

from __future__ import annotations

from typing import Literal

from config.settings import Settings
from config.tenants import TenantConfig
from providers.interface import Models

Profile = Literal["mini", "large"]


def build_models(settings: Settings) -> Models:
    """The configured provider; heavy clients are imported only by the one that is used."""
    if settings.provider == "offline":
        from providers.offline import OfflineModels

        return OfflineModels(settings)
    from providers.openai_protocol import OpenAIModels

    return OpenAIModels(settings)


def model_name(settings: Settings, tenant: TenantConfig, profile: Profile) -> str:
    """The tenant's model of a profile, else the process's."""
    own = tenant.chatbot.models.mini if profile == "mini" else tenant.chatbot.models.large
    return own or (settings.mini_model if profile == "mini" else settings.large_model)
