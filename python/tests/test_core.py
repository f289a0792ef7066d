"""The extension module and its hand-kept stub."""

import ast
import inspect
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import tidegate
from tidegate import _core

STUB = Path(tidegate.__file__).with_name("_core.pyi")


def public(module: ModuleType) -> set[str]:
    return {name for name in vars(module) if not name.startswith("_")}


def test_the_stub_names_what_the_module_has() -> None:
    stub = ast.parse(STUB.read_text("utf-8"))
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    constants = {
        node.target.id
        for node in stub.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert public(_core) == set(functions) | constants
    for name, node in functions.items():
        arguments = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        assert list(inspect.signature(getattr(_core, name)).parameters) == arguments


def test_the_version_is_one_everywhere() -> None:
    assert tidegate.__version__ == _core.VERSION == version("tidegate")


def test_the_package_is_typed() -> None:
    assert STUB.with_name("py.typed").is_file()
