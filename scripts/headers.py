# SPDX-License-Identifier: BSD-3-Clause
"""Read include/poise/*.h: what they declare, in their order, with the comment that documents it.

Generators of declarations in other languages and of the reference read the headers through this module. It
needs no compiler, and knows the C of these headers alone. What it does not understand is an error: a new kind
of declaration must not be left out in silence.

A comment documents what stands directly below it, up to a blank line or the next comment. A comment behind a
declaration, on its line, documents that one.
"""
import pathlib
import re
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("sys", "vec", "mat", "mat_multiply", "pc", "ksp")


class Parameter(NamedTuple):
    name: str
    type: str  # of C, without the name: "const PoiseVec *"; of a function pointer, its result
    function: "list | None" = None  # parameters, if it is a pointer to a function

    @property
    def base(self):
        return re.sub(r"\bconst\b|\bstruct\b|\*", "", self.type).strip()

    @property
    def stars(self):
        return self.type.count("*")

    @property
    def const(self):
        return "const" in self.type.split()


class Item(NamedTuple):
    kind: str  # function, struct, enum, callback, handle, macro, opaque, typedef
    name: str
    text: str  # the declaration as it stands in the header
    body: "list"  # parameters, members of a struct, or (name, value) of an enum or macro
    result: str = ""  # the type that a function returns


class Group(NamedTuple):
    """Declarations under one comment. Without declarations it is a text of its own, or a heading."""
    doc: str
    items: "list"
    heading: str = ""


class Header(NamedTuple):
    name: str
    doc: str
    groups: "list"

    def items(self, kind):
        return [item for group in self.groups for item in group.items if item.kind == kind]


def uncommented(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def comment_text(comment):
    """The words of a comment, without its marks and indentation."""
    lines = comment[2:-2].rstrip().split("\n")
    lines = [line[3:] if line.startswith("   ") and not comment.startswith("/*\n") else
             line[2:] if line.startswith("  ") else line for line in lines]
    return "\n".join([lines[0].strip(), *(line.rstrip() for line in lines[1:])]).strip("\n")


def pieces(text):
    """(kind, text, line is shared) of the comments, directives, blank lines and statements of a header."""
    at, fresh = 0, True
    while at < len(text):
        if text[at] == "\n":
            yield "newline", "", False
            at, fresh = at + 1, True
        elif text[at].isspace():
            at += 1
        elif text.startswith("/*", at):
            end = text.index("*/", at) + 2
            yield "comment", text[at:end], not fresh
            at, fresh = end, False
        elif text[at] == "#":
            end = re.compile(r"(?<!\\)\n").search(text, at).start()
            directive = text[at:end]
            yield "directive", directive, False
            at, fresh = end, False
        else:
            end = statement_end(text, at)
            yield "statement", text[at:end], False
            at, fresh = end, False


def statement_end(text, at):
    """Behind the semicolon of the declaration at this place; of extern "C", behind its brace."""
    opening = re.compile(r'extern "C" \{|\}\n').match(text, at)
    if opening:
        return opening.end()
    depth = 0
    for token in re.compile(r"/\*.*?\*/|[{};]", re.S).finditer(text, at):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if token.group() == ";" and depth == 0:
            return token.end()
    raise SystemExit(f"headers.py: no end of '{text[at:at + 60]}'")


def parameter(text):
    text = " ".join(text.split())
    function = re.fullmatch(r"PoiseErr \(\*(\w+)\)\((.*)\)", text)
    if function:
        return Parameter(function.group(1), "PoiseErr", parameters(function.group(2)))
    match = re.fullmatch(r"((?:const |struct )*\w+[ *]*?)(\w+)?(\[\w*\])?", text)
    if not match:
        raise SystemExit(f"headers.py: what is the parameter '{text}'?")
    kind = match.group(1).strip() + (" *" if match.group(3) else "")
    return Parameter(match.group(2) or "", kind)


def parameters(text):
    if text.strip() == "void":
        return []
    return [Parameter("...", "...") if part.strip() == "..." else parameter(part)
            for part in re.split(r",(?![^(]*\))", text)]


def members(text):
    out = []
    for member in filter(None, (" ".join(m.split()) for m in uncommented(text).split(";"))):
        if "(*" in member:
            out.append(parameter(member))
            continue
        kind, names = re.fullmatch(r"((?:const |struct )*\w+)(.*)", member).groups()
        for name in names.split(","):
            out.append(Parameter(name.replace("*", "").strip(), kind + " *" * name.count("*")))
    return out


class Macros:
    """Lists by X(code, text), and the macros that expand them."""

    def __init__(self):
        self.defined = {}

    def define(self, directive):
        match = re.match(r"#define (\w+)\(([\w, ]*)\)\s+(.*)", directive.replace("\\\n", " "), re.S)
        if match:
            self.defined[match.group(1)] = ([p.strip() for p in match.group(2).split(",")], match.group(3))

    def expand(self, body):
        """An enum's body, in which LIST(MACRO) may stand."""
        for line in re.findall(r"^#.*$", body, re.M):
            self.define(line)
        body = re.sub(r"^#.*$", "", body, flags=re.M)
        use = re.fullmatch(r"\s*(\w+)\((\w+)\)\s*", body)
        if not use:
            return body
        (formal,), text = self.defined[use.group(1)]
        names, pattern = self.defined[use.group(2)]
        out = []
        for actual in re.findall(rf'\b{formal}\(((?:[^()"]|"[^"]*")*)\)', text):
            values = [v.strip() for v in actual.split(",", len(names) - 1)]
            line = pattern
            for name, value in zip(names, values):
                line = re.sub(rf"(?:##)?\b{name}\b", value, line)
            out.append(line.replace("##", ""))
        return " ".join(out)


def constants(body):
    value, out = -1, []
    for item in filter(None, (i.strip() for i in uncommented(body).split(","))):
        name, _, given = (part.strip() for part in item.partition("="))
        value = int(given) if given else value + 1
        out.append((name, value))
    return out


def item(text, macros):
    """The Item of a declaration."""
    plain = " ".join(uncommented(text).split()).rstrip("; ")
    bare = re.sub(r" POISE_PRINTF\([^)]*\)$", "", plain)
    function = re.fullmatch(r"POISE_API ([\w *]*?)(\w+)\((.*)\)", bare)
    callback = re.fullmatch(r"typedef PoiseErr \(\*(\w+)\)\((.*)\)", plain)
    enum = re.fullmatch(r"(?:typedef )?enum (?:\w+ )?\{(.*)\}\s*(\w*)", uncommented(text).strip("; \n"), re.S)
    struct = re.fullmatch(r"typedef struct \w+ \{(.*)\} (\w+)", plain)
    handle = re.fullmatch(r"typedef struct \w+_s \*(\w+)", plain)
    opaque = re.fullmatch(r"struct (\w+)", plain)
    if function:
        return Item("function", function.group(2), text, parameters(function.group(3)),
                    function.group(1).strip())
    if callback:
        return Item("callback", callback.group(1), text, parameters(callback.group(2)), "PoiseErr")
    if enum:
        return Item("enum", enum.group(2), text, constants(macros.expand(enum.group(1))))
    if struct:
        return Item("struct", struct.group(2), text, members(struct.group(1)))
    if handle:
        return Item("handle", handle.group(1), text, [])
    if opaque:
        return Item("opaque", opaque.group(1), text, [])
    if plain == "typedef int64_t PoiseInt":
        return Item("typedef", "PoiseInt", text, [])
    raise SystemExit(f"headers.py: what is '{plain}'?")


def macro(directive):
    """The Item of a macro that users write, or None."""
    number = re.match(r"#define (POISE_\w+)\s+(?:\(\(PoiseInt\)\()?(-?\d+)\)*(?:\s|$)", directive)
    if number:
        return Item("macro", number.group(1), directive, [(number.group(1), int(number.group(2)))])
    name = re.match(r"#define (POISE_(?:FAIL|TRY))\(", directive)
    return Item("macro", name.group(1), directive, []) if name else None


class Reader:
    """Makes groups of the pieces of a header."""

    def __init__(self):
        self.macros, self.groups, self.doc = Macros(), [], ""
        self.comment = None  # read, and not yet known what it documents
        self.open = False  # a declaration here belongs to the group above

    def add(self, new):
        if self.comment is None and self.open:
            self.groups[-1].items.append(new)
        else:
            self.groups.append(Group(self.comment or "", [new]))
        self.comment, self.open = None, True

    def settle(self):
        """The comment documents no declaration: it is a text of its own."""
        if self.comment and self.comment.startswith("----"):
            self.groups.append(Group("", [], self.comment.strip("- ")))
        elif self.comment and not self.groups and not self.doc:
            self.doc = self.comment
        elif self.comment:
            self.groups.append(Group(self.comment, []))
        self.comment = None

    def behind(self, text):
        """A comment on the line of a declaration: that one has a group of its own."""
        last = self.groups[-1]
        if len(last.items) > 1:
            self.groups.append(Group(text, [last.items.pop()]))
        else:
            self.groups[-1] = Group(f"{last.doc} {text}".strip(), last.items)

    def directive(self, text):
        self.macros.define(text)
        new = macro(text)
        if new:
            self.add(new)
        elif text.startswith("#define") and self.comment:
            self.comment = None  # a list, of which the enum below is made
        elif text.startswith("#ifndef POISE_"):
            self.settle()

    def read(self, text):
        newlines = 0
        for kind, piece, shared in pieces(text):
            if kind == "newline":
                newlines += 1
                if newlines > 1:
                    self.settle()
                    self.open = False
                continue
            if kind == "comment" and shared and self.open:
                self.behind(comment_text(piece))
            elif kind == "comment" and "SPDX" not in piece:
                self.settle()
                self.comment = comment_text(piece)
            elif kind == "directive":
                self.directive(piece)
            elif kind == "statement" and not re.match(r'extern "C" \{|\}\n?$', piece):
                self.add(item(piece, self.macros))
            newlines = piece.endswith("\n")


def read(name):
    """The Header include/poise/<name>.h."""
    reader = Reader()
    reader.read((ROOT / "include" / "poise" / f"{name}.h").read_text())
    return Header(name, reader.doc, reader.groups)


def headers():
    return [read(name) for name in HEADERS]


def write_or_check(files, arguments, usage):
    """Write the generated {path: text}; with --check fail if one is not there, or has another text."""
    if arguments == ["--check"]:
        old = [str(path) for path, text in files.items() if not path.exists() or path.read_text() != text]
        if old:
            raise SystemExit(f"{', '.join(old)}: not what the headers say, write anew by {sys.argv[0]}")
    elif arguments:
        raise SystemExit(usage)
    else:
        for path, text in files.items():
            path.write_text(text)
