"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("serve", "graph", "actors", "retrieval", "crawler", "providers", "config", "domain")
OURS = (*PACKAGES, "manta")
PROJECT = "manta-assistant"
MAX_LINES = 400
TABLES = {"tests/unit/crawler/test_crawler_server.py"}
"""Files that are one table: the server cases in their order."""
REMOTE = {"actors/handles.py", "actors/cell.py", "retrieval/ingest.py"}
EAGER_RAY = {"serve/cluster.py", "serve/deployment.py"}
# Numbers that nobody but a policy has a reason to name; small ones stand for many things.
POLICY_NUMBERS = {240, 6_000, 16_000, 400_000, 45}


def sources() -> list[Path]:
    files = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    return [*files, ROOT / "manta.py"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def all_files() -> list[Path]:
    tests = sorted((ROOT / "tests").rglob("*.py"))
    pages = [
        p for kind in ("js", "css", "html") for p in sorted((ROOT / "serve/page").glob(f"*.{kind}"))
    ]
    return [*sources(), *tests, *pages]


def in_functions(tree: ast.Module) -> set[ast.AST]:
    """Every node inside a function, or under ``if TYPE_CHECKING``."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if lazy or typing:
            inside.update(child for child in ast.walk(node) if child is not node)
    return inside


def imported(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node, node.module


def test_the_packages_of_the_house_are_these() -> None:
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found - {"evaluation"} == set(PACKAGES)


def test_no_installed_distribution_claims_a_name_of_ours() -> None:
    claimed = packages_distributions()
    for name in (*OURS, "evaluation"):
        assert set(claimed.get(name, [])) <= {PROJECT}, name


def test_tests_are_no_package() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def parsed() -> Iterator[tuple[str, ast.Module]]:
    for path in sources():
        yield name_of(path), ast.parse(path.read_text(encoding="utf-8"))


def test_remote_stands_only_where_actors_are_reached() -> None:
    used = {name_of(p) for p in sources() if ".remote(" in p.read_text(encoding="utf-8")}
    assert used == REMOTE


def test_ray_is_imported_only_when_it_is_used() -> None:
    eager = set()
    for name, tree in parsed():
        lazy = in_functions(tree)
        modules = [module for node, module in imported(tree) if node not in lazy]
        if "ray" in [module.split(".")[0] for module in modules]:
            eager.add(name)
    assert eager == EAGER_RAY


def test_packages_never_import_serve_by_its_bare_name() -> None:
    bare = [
        name
        for name, tree in parsed()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and "serve" in [alias.name for alias in node.names]
    ]
    assert bare == []


def test_rays_serve_stands_only_in_serve_and_actors() -> None:
    users = [
        name
        for name, tree in parsed()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "ray"
        and "serve" in [alias.name for alias in node.names]
    ]
    assert users
    assert all(name.startswith(("serve/", "actors/")) for name in users)


def test_every_module_says_what_it_is() -> None:
    assert [name for name, tree in parsed() if not ast.get_docstring(tree)] == []


def test_no_source_but_the_policy_names_a_number_of_the_policy() -> None:
    found = {
        name: node.value
        for name, tree in parsed()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and type(node.value) in (int, float)
        and node.value in POLICY_NUMBERS
    }
    assert set(found) == {"config/policy.py"}


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    long = {
        name_of(path): count
        for path in all_files()
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
        and name_of(path) not in TABLES
    }
    assert long == {}


def test_no_module_is_called_after_nothing_in_particular() -> None:
    vague = re.compile(r"^(utils?|helpers?|misc|common|base)$")
    assert [name_of(path) for path in sources() if vague.match(path.stem)] == []
