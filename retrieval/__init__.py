"""Passages: documents, chunks, their store and the search over them."""
