"""What a specialist may do: its tools, how its paused calls go on, and how its errors are met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from langchain_core.tools import BaseTool

from actors.pausing import Continuation


@dataclass(frozen=True)
class Toolbox:
    """The tools of one specialist.

    ``continuations`` take up the calls that paused, by tool name. ``pausing`` names the tools that
    can only end in a pause; a client that cannot show one is never offered them. ``transitions``
    are no business tools: a tenant that excludes all business tools keeps those, not these.
    With ``recovers`` a failed tool is a result that the model reads; otherwise it stops the turn.
    """

    tools: tuple[BaseTool, ...]
    continuations: Mapping[str, Continuation] = field(default_factory=dict)
    pausing: frozenset[str] = frozenset()
    transitions: frozenset[str] = frozenset()
    recovers: bool = False

    @property
    def names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)

    def offered(
        self, excluded: frozenset[str], *, interactive: bool
    ) -> tuple[frozenset[str], bool]:
        """The tools that are offered, and whether a tenant's exclusion had to be ignored."""
        business = self.names - self.transitions
        ignored = bool(business) and not business - excluded
        names = self.names - (excluded - business if ignored else excluded)
        return (names if interactive else names - self.pausing), ignored
