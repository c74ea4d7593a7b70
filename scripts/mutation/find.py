"""Mutants: small changes of the code, each of which some test should notice.

All mutants of a file are written into it at once. Where one changes an expression, the file says

    (if mutant::on(17) { changed } else { as it was })

so that one build holds thousands of them and a number picks one. What a mutant changes is left as it was inside of it:
only one is on at a time. Constants are not mutated: a constant can't ask which mutant is on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

OPERATORS = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "/",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    "+=": "-=",
    "-=": "+=",
    "*=": "/=",
    "/=": "*=",
    "|=": "&=",
    "&=": "|=",
}
METHODS = {"min": "max", "max": "min"}
# By the beginning of a return type: what a function that does nothing would say.
ANSWERS = {
    "bool": ["true", "false"],
    "Option<": ["None"],
    "Vec<": ["Vec::new()"],
    "Result<()": ["Ok(())"],
    **{kind: ["0.0", "1.0"] for kind in ("f64", "f32")},
    **{kind: ["0", "1"] for kind in ("u8", "u16", "u32", "u64", "u128", "usize")},
    **{kind: ["0", "1"] for kind in ("i8", "i16", "i32", "i64", "i128")},
}
# Code that runs before the program does, or that is no expression.
NOT_RUN = {"const_item", "static_item", "macro_invocation", "attribute_item", "array_type", "type_arguments"}
# What describes a value to people is no behaviour; a `default` that calls itself tells nothing.
SKIPPED_FUNCTIONS = frozenset({"fmt", "default", "describe", "description"})
STATEMENTS = {"call_expression", "assignment_expression", "compound_assignment_expr"}


@dataclass(frozen=True)
class Mutant:
    """One change: `before` becomes `after` in a function."""

    file: str
    function: str
    line: int
    before: str
    after: str
    occurrence: int = 0
    """Which of the function's equal changes it is."""

    @property
    def key(self) -> str:
        """What it is known by from one version to the next: no line numbers."""
        return f"{self.file} {self.function} {self.change} {self.occurrence}"

    @property
    def change(self) -> str:
        """The change in one line, as the list of accepted mutants has it."""
        return f"{short(self.before)} → {short(self.after)}"


def short(code: str) -> str:
    """Code in one line."""
    return re.sub(r"\s+", " ", code).strip()


@dataclass
class File:
    """A file's mutants, and the file with those that build."""

    name: str
    source: bytes
    guard: str
    """The path of the function that says whether a mutant is on."""
    mutants: list[Mutant] = field(default_factory=list)
    at: dict[tuple[int, int, str], list[tuple[int, str]]] = field(default_factory=dict)
    """By place and kind of node: number of the mutant among the file's, and the code that takes its place."""

    def text(self, node: Node) -> str:
        """The code of a node."""
        return self.source[node.start_byte : node.end_byte].decode()


@cache
def parser() -> Parser:
    """Tree-sitter's parser of Rust."""
    return Parser(Language(tree_sitter_rust.language()))


def mutants_of(name: str, source: str, guard: str) -> File:
    """All mutants of a file's functions, but tests'."""
    file = File(name, source.encode(), guard)
    for function, node in functions(parser().parse(file.source).root_node, file):
        find(node, file, function)
    return file


def functions(
    node: Node, file: File, inside: str = "", skipped: frozenset[str] = SKIPPED_FUNCTIONS
) -> list[tuple[str, Node]]:
    """The functions that are run by callers, outermost, with the type that they are of."""
    found = []
    attributes = ""
    for child in node.named_children:
        if child.type == "attribute_item":
            attributes += file.text(child)
            continue
        if "test" in attributes or "cfg(kani" in attributes:
            attributes = ""
            continue
        attributes = ""
        if child.type == "function_item":
            name = file.text(child.child_by_field_name("name"))
            if not is_const(child, file) and name not in skipped:
                found.append((f"{inside}{name}", child))
        elif child.type in ("impl_item", "trait_item", "mod_item", "declaration_list"):
            named = child.child_by_field_name("type") or child.child_by_field_name("name")
            prefix = inside if child.type == "declaration_list" else f"{inside}{file.text(named).split('<')[0]}::"
            found += functions(child, file, prefix, skipped)
    return found


def is_const(function: Node, file: File) -> bool:
    """Whether a function may run while the program is compiled."""
    return any(child.type == "function_modifiers" and "const" in file.text(child) for child in function.children)


def add(file: File, function: str, node: Node, kind: str, after: str, shown: tuple[str, str] | None = None) -> None:
    """Notes a mutant of a node; `shown` is what people read, where the code says more."""
    before, said = shown or (file.text(node), after)
    equal = sum(m.function == function and m.before == before and m.after == said for m in file.mutants)
    mutant = Mutant(file.name, function, node.start_point.row + 1, before, said, equal)
    file.at.setdefault((node.start_byte, node.end_byte, kind), []).append((len(file.mutants), after))
    file.mutants.append(mutant)


def find(function: Node, file: File, name: str) -> None:
    """The mutants of a function: no body, and what its expressions have."""
    body = function.child_by_field_name("body")
    if body is None:
        return
    said = short(file.text(body))[1:-1].strip()
    # A body that says the same, and one that is never to be run, are no mutants.
    for answer in () if said.startswith("unreachable!") else answers(function, file):
        if answer == said:
            continue
        whole = f"{{ {said[:60]} … }}"
        add(file, name, body, "body", answer, (whole, f"{{ {answer} }}"))
    walk(body, file, name)


def answers(function: Node, file: File) -> list[str]:
    """What a function may answer without looking."""
    returned = function.child_by_field_name("return_type")
    if returned is None:
        return [""] if function.child_by_field_name("body").named_child_count else []
    kind = file.text(returned)
    if kind.startswith(("&", "impl", "!", "Self", "Box", "*")):
        return []
    for beginning, values in ANSWERS.items():
        if kind.startswith(beginning):
            return values
    return ["Default::default()"]


def walk(node: Node, file: File, name: str) -> None:
    """The mutants of all expressions under a node."""
    for child in node.children:
        if child.type in NOT_RUN or child.type == "closure_parameters":
            continue
        if child.type == "function_item":
            inner = file.text(child.child_by_field_name("name"))
            if not is_const(child, file):
                find(child, file, f"{name}::{inner}")
            continue
        if child.type.endswith("_pattern") and child.type != "match_pattern":
            continue
        expression(child, file, name)
        walk(child, file, name)


def expression(node: Node, file: File, name: str) -> None:
    """The mutants of one node."""
    match node.type:
        case "binary_expression" | "compound_assignment_expr":
            operator(node, file, name)
        case "unary_expression" if file.text(node)[0] in "!-":
            add(file, name, node, "value", file.text(node)[1:])
        case "if_expression" | "while_expression" | "match_pattern":
            decided(node, file, name)
        case "call_expression":
            swapped(node, file, name)
        case "expression_statement" if node.named_children and node.named_children[0].type in STATEMENTS:
            add(file, name, node, "statement", "", (file.text(node), "(nothing)"))
        case "integer_literal" | "float_literal" if node.parent.type not in ("field_expression", "match_pattern"):
            add(file, name, node, "value", another(file.text(node), node.type))
        case "match_block":
            arms(node, file, name)


def operator(node: Node, file: File, name: str) -> None:
    """Another operator between the same two."""
    left, sign, right = (file.text(node.child_by_field_name(part)) for part in ("left", "operator", "right"))
    if (other := OPERATORS.get(sign)) is not None:
        assigns = node.type == "compound_assignment_expr"
        after = f"{left} {other} {right}" if assigns else f"({left}) {other} ({right})"
        add(file, name, node, "value", after, (file.text(node), f"{left} {other} {right}"))


def decided(node: Node, file: File, name: str) -> None:
    """A condition that always holds, or never. A loop that never ends tells nothing."""
    condition = node.child_by_field_name("condition")
    if condition is not None and not condition.type.startswith("let"):
        for answer in ["false"] if node.type == "while_expression" else ["true", "false"]:
            add(file, name, condition, "condition", answer)


def swapped(node: Node, file: File, name: str) -> None:
    """`min` in place of `max`."""
    called = node.child_by_field_name("function")
    method = called.child_by_field_name("field") if called.type == "field_expression" else None
    if method is None or (other := METHODS.get(file.text(method))) is None:
        return
    after = file.source[node.start_byte : method.start_byte].decode() + other
    add(file, name, node, "value", after + file.source[method.end_byte : node.end_byte].decode())


def another(literal: str, kind: str) -> str:
    """Another number of the same type: the next one, or twice it."""
    found = re.match(r"(0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|[0-9_.]+(?:e[+-]?\d+)?)_?(\w*)$", literal)
    if found is None:
        return literal
    number = found[1].replace("_", "")
    if kind == "float_literal" or found[2].startswith("f"):
        value = float(number)
        return f"{value * 2 if value else 1.0!r}{found[2]}"
    return f"{int(number, 0) + 1}{found[2]}"


def arms(block: Node, file: File, name: str) -> None:
    """An arm of a match that does what the next one does."""
    found = [arm for arm in block.named_children if arm.type == "match_arm"]
    values = [arm.child_by_field_name("value") for arm in found]
    for value, other in zip(values, values[1:] + values[:1], strict=True):
        if file.text(value) != file.text(other):
            add(file, name, value, "value", file.text(other))


def render(file: File, without: set[int], first: int) -> str:
    """The file with its mutants, but those numbered in `without`. Mutant 0 of the file is number `first` of all."""
    root = parser().parse(file.source).root_node
    before, after = file.source[: root.start_byte].decode(), file.source[root.end_byte :].decode()
    return before + node_text(root, file, without, first) + after


def node_text(node: Node, file: File, without: set[int], first: int) -> str:
    """A node with the mutants inside of it."""
    pieces, at = [], node.start_byte
    for child in node.children:
        pieces.append(file.source[at : child.start_byte].decode())
        pieces.append(with_mutants(child, file, without, first))
        at = child.end_byte
    pieces.append(file.source[at : node.end_byte].decode())
    return "".join(pieces)


def with_mutants(node: Node, file: File, without: set[int], first: int) -> str:
    """A node with its own mutants around those inside of it."""
    text = node_text(node, file, without, first)
    for kind in ("body", "value", "condition", "statement"):
        found = file.at.get((node.start_byte, node.end_byte, kind), [])
        # A node without siblings covers the same bytes as its parent: the mutant is the one's that it was found at.
        if not belongs(node, kind):
            continue
        for number, after in found:
            if number not in without:
                text = guarded(kind, text, after, first + number, file.guard)
    return text


def belongs(node: Node, kind: str) -> bool:
    """Whether mutants of a kind stand at this node, and not at one that covers the same bytes."""
    parent = node.parent
    if kind == "statement":
        return node.type == "expression_statement"
    if kind == "body":
        return node.type == "block" and parent.type == "function_item"
    if kind == "condition":
        return parent.child_by_field_name("condition") == node
    return node.is_named and node.type != "expression_statement" and not covers(parent, node)


def covers(parent: Node, node: Node) -> bool:
    """Whether the parent is the same piece of code, and an expression."""
    same = (parent.start_byte, parent.end_byte) == (node.start_byte, node.end_byte)
    return same and parent.type.endswith(("_expression", "_expr"))


def guarded(kind: str, text: str, after: str, number: int, guard: str) -> str:
    """Code that is `after` when the mutant is on. The marks say where it begins and ends."""
    on, begin, end = f"{guard}({number})", f"/*+{number}*/", f"/*-{number}*/"
    if kind == "body":
        return f"{{{begin}if {on} {{ return {after}; }}{end}{text[1:]}"
    if kind == "condition":
        sign = f"{on} || " if after == "true" else f"!{on} && "
        return f"({begin}{sign}({text}){end})"
    if kind == "statement":
        return f"{begin}if !{on} {{ {text} }}{end}"
    return f"({begin}if {on} {{ {after} }} else {{ {text} }}{end})"
