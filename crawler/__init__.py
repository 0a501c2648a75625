"""Bounded public pages: scope, connection, fetch, extraction and a request's browsing session."""
