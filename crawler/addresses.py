"""Which addresses may be dialled.

The table is explicit because ``ipaddress.is_global`` calls many addresses global that no public
page lives at (multicast, NAT64, 6to4, IPv4-compatible, site-local, everything reserved outside
2000::/3). Sources: the IANA special-purpose registries for IPv4 and IPv6, the IANA IPv6 address
space (only 2000::/3 is delegated), and the cloud vendors' metadata addresses.
"""

from __future__ import annotations

from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

_CLOSED_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private use
        "100.64.0.0/10",  # shared address space; Alibaba's metadata lives here
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's WireServer, globally allocated and still internal
        "169.254.0.0/16",  # link local; most vendors' metadata lives here
        "172.16.0.0/12",  # private use
        "192.0.0.0/24",  # IETF protocol assignments; Oracle's metadata lives here
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT relays
        "192.88.99.0/24",  # deprecated 6to4 and 6a44 relays
        "192.168.0.0/16",  # private use
        "192.175.48.0/24",  # AS112 direct delegation
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the limited broadcast
    )
)

_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")

_CLOSED_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, ORCHID, AS112, anycast
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: any IPv4 address may hide in it
        "2620:4f:8000::/48",  # AS112 direct delegation
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Whether ``address`` may be dialled.

    Args:
        address: one address in its ordinary text form. Anything else (a name, a port, a zone,
            brackets, white space, a short, octal, decimal or hexadecimal IPv4 form) is refused.
    """
    # A zone id selects an interface of this machine, so no scoped address is public.
    if not isinstance(address, str) or "%" in address or not address.isascii():
        return False
    try:
        parsed = ip_address(address)
    except (ValueError, AddressValueError):
        return False
    return is_public_ip(parsed)


def is_public_ip(address: IPv4Address | IPv6Address) -> bool:
    """The same rule for a parsed address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if address.scope_id is not None or address not in _GLOBAL_UNICAST_V6:
        return False
    return not any(address in network for network in _CLOSED_V6)
