"""HTTP: the Ray Serve application, schemas, streaming and the chat page."""
