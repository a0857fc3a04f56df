"""The stub of the extension says what the extension has."""

import ast
import enum
from pathlib import Path

import pytest

import maxmargin
from maxmargin import _core

STUB = ast.parse((Path(maxmargin.__file__).parent / "_core.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}


def members(node):
    names = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    names |= {target.id for child in node.body if isinstance(child, ast.Assign) for target in child.targets}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in CLASSES:
            names |= members(CLASSES[base.id])
    return names


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_the_stub_and_the_extension_have_the_same_names():
    assert public(CLASSES) | public(FUNCTIONS) == public(vars(_core))


@pytest.mark.parametrize("name", sorted(public(CLASSES)))
def test_a_class_has_the_members_of_its_stub(name):
    real = getattr(_core, name)
    if issubclass(real, enum.Enum):
        values = {
            child.targets[0].id: child.value.value for child in CLASSES[name].body if isinstance(child, ast.Assign)
        }
        assert values == {member.name: member.value for member in real}
    else:
        assert public(members(CLASSES[name])) == public(vars(real))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_has_the_arguments_of_its_stub(name):
    arguments = [argument.arg for argument in FUNCTIONS[name].args.args]
    signature = getattr(_core, name).__doc__.split("\n")[0]
    shown = [part.split(":")[0].strip() for part in split_arguments(signature[signature.index("(") + 1 :])]
    assert shown == arguments


def split_arguments(text):
    """The arguments of a signature as nanobind prints it, up to its closing bracket."""
    depth, start, parts = 0, 0, []
    for position, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}" and depth > 0:
            depth -= 1
        elif depth == 0 and character in ",)":
            parts.append(text[start:position])
            start = position + 1
            if character == ")":
                break
    return parts
