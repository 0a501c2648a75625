"""The campus advisor: a specialist whose loop is a graph of its own."""
