"""The turn: graphs whose nodes are calls to actors, pure routing, state and checkpoints."""
