"""The roles of a turn, their tools, and how they are placed on Ray."""
