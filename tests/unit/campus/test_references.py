"""References hold no token, wherever a service may have put one."""

from __future__ import annotations

import pytest

from actors.campus.references import bare, with_bare_references


@pytest.mark.parametrize(
    ("url", "reference"),
    [
        ("https://rules.uni.example/p/10", "https://rules.uni.example/p/10"),
        ("https://rules.uni.example/p/10?token=SECRET", "https://rules.uni.example/p/10"),
        ("https://rules.uni.example/p/10#access_token=SECRET", "https://rules.uni.example/p/10"),
        ("https://SECRET:x@rules.uni.example/p", "https://rules.uni.example/p"),
        ("https://SECRET@rules.uni.example:8443/p", "https://rules.uni.example:8443/p"),
        ("https://rules.uni.example/p;jsessionid=SECRET/q;v=1", "https://rules.uni.example/p/q"),
        ("  HTTPS://Rules.Uni.Example/P  ", "https://rules.uni.example/P"),
        ("http://[2001:db8::1]:80/p?x", "http://[2001:db8::1]:80/p"),
        ("https://rules.uni.example", "https://rules.uni.example"),
        ("ftp://rules.uni.example/p", ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,SECRET", ""),
        ("/p/10?token=SECRET", ""),
        ("https://", ""),
        ("https://rules.uni.example:port/", ""),
        ("https://[half", ""),
        ("", ""),
    ],
)
def test_a_reference_is_scheme_host_and_path(url: str, reference: str) -> None:
    assert bare(url) == reference


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See https://a.example/p?t=SECRET.", "See https://a.example/p."),
        ("(https://a.example/p#SECRET)", "(https://a.example/p)"),
        ("[a](http://u:SECRET@a.example/p?x=1), b", "[a](http://a.example/p), b"),
        (
            "https://a.example/1?SECRET https://a.example/2",
            "https://a.example/1 https://a.example/2",
        ),
        ("Without an address: 3 > 2; 50 % off?", "Without an address: 3 > 2; 50 % off?"),
        ("Broken: https://[half?SECRET", "Broken: "),
    ],
)
def test_addresses_inside_a_text_are_bare_as_well(text: str, shown: str) -> None:
    assert with_bare_references(text) == shown
