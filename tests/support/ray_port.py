"""Where Serve listens in a session of tests: it keeps the address of its first start."""

PORT = 18_431
