"""Records of a tenant's catalogues: read from JSON Lines, kept in Milvus, searched by meaning with
structured filters."""
