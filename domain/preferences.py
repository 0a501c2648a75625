"""Durable facts about a user, in the user's own words."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, Field


class Fact(BaseModel):
    """One fact in the first person, in the language it was told in, and since when it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1, max_length=500)
    language: str = Field(default="en", max_length=16)
    since: date
