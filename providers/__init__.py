"""Models behind one interface: decide, generate, embed."""
