"""Keeping a replica's own gRPC server on loopback where the whole node is.

Ray listens on loopback only when the node's address is loopback; the one exception in Ray 2.60 is
the server between deployments, which a replica opens on every interface (``replica.py``,
``_on_initialized``). Manta has one deployment and nothing outside the node ever calls it.
"""

from __future__ import annotations

from typing import Any


def keep_replica_on_loopback() -> None:
    """Bind the replica's server to the node's address when that is loopback; else do nothing.

    Must run in the replica before Ray opens the server, which it does after the constructor.
    """
    import ray
    from ray.serve._private import replica

    module: Any = replica
    if ray.util.get_node_ip_address() != "127.0.0.1":  # type: ignore[no-untyped-call]
        return
    add_port = module.add_port_to_grpc_server

    def add_loopback_port(server: Any, address: str) -> int:
        port: int = add_port(server, address.replace("[::]", "127.0.0.1"))
        return port

    module.add_port_to_grpc_server = add_loopback_port
