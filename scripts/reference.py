#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the reference of all public functions, from the headers.

    scripts/reference.py              writes docs/reference/*.md
    scripts/reference.py --check      fails if these files are not what would be written
    scripts/reference.py --man <dir>  writes a man page of section 3 for each function

Functions under one comment share a page, or a heading.
"""
import pathlib
import re
import sys
import textwrap

import headers

FOLDER = headers.ROOT / "docs" / "reference"
TITLES = {"sys": "Context, errors, options, log", "vec": "Vectors", "mat": "Matrices",
          "mat_multiply": "Products of matrices",
          "pc": "Preconditioners", "ksp": "Solvers"}
NOTE = "Made from [the headers](../../include/poise) by `scripts/reference.py`: do not edit."


def declaration(item):
    """As a user reads it: without marks for the compiler, and lists expanded."""
    if item.kind == "enum" and "#define" in item.text:
        values = "".join(f"  {name} = {value},\n" for name, value in item.body)
        return f"typedef enum {item.name} {{\n{values}}} {item.name};"
    text = re.sub(r"\s*POISE_PRINTF\([^)]*\)", "", item.text)
    if text.startswith("POISE_API "):
        text = text[10:].replace("\n" + " " * 10, "\n")
    return text


def title(group):
    """What a group is called: its first function, or else its first name."""
    names = [item.name for item in group.items if item.name]
    return next((item.name for item in group.items if item.kind == "function"), names[0] if names else "")


def blocks(doc):
    """(kind, text): paragraphs, bullets, and lines to be kept as they are."""
    kind, lines = None, []
    for line in [*doc.split("\n"), ""]:
        here = ("" if not line.strip() else "bullet" if line.startswith("- ") else
                kind if kind == "bullet" and line.startswith("  ") else
                "kept" if line.startswith("  ") else "paragraph")
        if lines and (here != kind or line.startswith("- ")):
            yield kind, "\n".join(lines) if kind == "kept" else " ".join(part.strip() for part in lines)
            lines = []
        kind = here
        if here:
            lines.append(line[2:] if line.startswith("- ") else line)


class Markdown:
    def __init__(self, everything):
        self.everything = everything
        self.places = {item.name: f"{header.name}.md#{title(group).lower()}" for header in everything
                       for group in header.groups for item in group.items if item.name}

    def words(self, text):
        """Names are links, options are code, and nothing else means anything to Markdown."""
        text = re.sub(r"([*<\\])", r"\\\1", text)
        text = re.sub(r"(?<![\w>-])-[a-z]+(?:_[a-z0-9]+)+\b", r"`\g<0>`", text)
        return re.sub(r"\bPoise[A-Z]\w*|\bPOISE_[A-Z]\w*", lambda found: self.link(found.group()), text)

    def link(self, name):
        return f"[`{name}`]({self.places[name]})" if name in self.places else f"`{name}`"

    def prose(self, doc):
        out = []
        for kind, text in blocks(doc):
            if kind == "kept":
                out.append(f"```\n{textwrap.dedent(text)}\n```\n\n")
                continue
            first, rest = ("- ", "  ") if kind == "bullet" else ("", "")
            lines = textwrap.wrap(self.words(text), 110, initial_indent=first, subsequent_indent=rest,
                                  break_long_words=False, break_on_hyphens=False)
            lines[1:] = [re.sub(r"^( *)([-+#>]|\d+\.)(?=\s)", r"\1\\\2", line) for line in lines[1:]]
            out.append("\n".join(lines) + "\n" + "\n" * (kind != "bullet"))
        return re.sub(r"\n\n+", "\n\n", "".join(out).rstrip("\n")) + "\n\n"

    def page(self, header):
        out = [f"# {TITLES[header.name]}\n\n", textwrap.fill(
            f"[`{header.name}.h`](../../include/poise/{header.name}.h). {NOTE}", 110) + "\n\n"]
        out.append(self.prose(header.doc))
        for group in header.groups:
            if group.heading:
                out.append(f"## {group.heading.capitalize()}\n\n")
            elif not group.items:
                out.append(self.prose(group.doc))
            elif title(group):
                text = "\n".join(declaration(item) for item in group.items)
                out.append(f"### {title(group)}\n\n```\n{text}\n```\n\n")
                out.append(self.prose(group.doc) if group.doc else "")
        return "".join(out).rstrip("\n") + "\n"

    def index(self):
        names = sorted(item.name for header in self.everything for item in header.items("function"))
        out = ["# Reference\n\n", textwrap.fill(
            f"All {len(names)} functions of the library. Conventions that hold for all of them stand in "
            "[sys.md](sys.md), man pages are installed with the library (`man 3 PoiseKSPSolve`). " + NOTE,
            110, break_long_words=False, break_on_hyphens=False), "\n\n"]
        for header in self.everything:
            out.append(f"- [{TITLES[header.name]}]({header.name}.md)\n")
        prefixes = [("Matrices", "PoiseMat"), ("Preconditioners", "PoisePC"), ("Solvers", "PoiseKSP"),
                    ("Vectors", "PoiseVec"), ("Others", "Poise")]
        for heading, prefix in prefixes:
            mine = [name for name in names if name.startswith(prefix)]
            names = [name for name in names if name not in mine]
            links = ", ".join(self.link(name) for name in mine)
            out.append(f"\n## {heading}\n\n" + textwrap.fill(links, 110, break_long_words=False,
                                                           break_on_hyphens=False) + "\n")
        return "".join(out)

    def files(self):
        pages = {FOLDER / f"{header.name}.md": self.page(header) for header in self.everything}
        return {FOLDER / "README.md": self.index(), **pages}


class Site(Markdown):
    """The same for the site (scripts/site.py), where each function has a page of its own and links lead to
    that. Of a header's page the search knows types and macros alone."""

    def __init__(self, everything):
        super().__init__(everything)
        self.places.update({item.name: f"{item.name}.md" for header in everything
                            for item in header.items("function")})

    def page(self, header):
        functions = {item.name for item in header.items("function")}
        return re.sub(r"^### (\w+)$", lambda found: found.group() + " { data-search-exclude }" *
                      (found.group(1) in functions), super().page(header), flags=re.M)

    def function(self, header, group, item):
        text = "\n".join(declaration(each) for each in group.items)
        return (f"# {item.name}\n\n```c\n#include <poise.h>\n\n{text}\n```\n\n{self.prose(group.doc)}"
                f"In [{TITLES[header.name].lower()}]({header.name}.md#{title(group).lower()}), "
                f"[`{header.name}.h`](../../include/poise/{header.name}.h).\n")

    def files(self):
        pages = {path.name: text for path, text in super().files().items()}
        for header in self.everything:
            pages.update({f"{item.name}.md": self.function(header, group, item) for group in header.groups
                          for item in group.items if item.kind == "function"})
        return pages


class Man:
    """Pages for man, in the macros of man(7)."""

    def __init__(self, everything):
        self.everything = everything
        numbers = {name: value for item in everything[0].items("macro") for name, value in item.body}
        self.version = ".".join(str(numbers[f"POISE_VERSION_{part}"]) for part in ("MAJOR", "MINOR", "PATCH"))
        self.names = {item.name for header in everything for item in header.items("function")}

    @staticmethod
    def words(text):
        text = text.replace("\\", "\\e").replace("-", "\\-")
        return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)

    def prose(self, doc):
        out = []
        for kind, text in blocks(doc):
            if kind == "kept":
                out.append(f".PP\n.nf\n{self.words(text)}\n.fi\n")
            elif kind == "bullet":
                out.append(f".IP \\(bu 2\n{self.words(text)}\n")
            else:
                out.append(f".PP\n{self.words(textwrap.fill(text, 78, break_on_hyphens=False))}\n")
        return "".join(out)

    def head(self, names, summary):
        """TH and NAME, in the form that makewhatis reads."""
        return (f'.TH {names[0].upper()} 3 "" "Poise {self.version}" "Poise"\n.SH NAME\n'
                + self.words(f"{', '.join(names)} @ {summary}").replace("@", "\\-", 1) + "\n")

    @staticmethod
    def summary(doc):
        first = re.split(r"(?<=[\w)\]])[.:;](?:\s|$)", " ".join(doc.split()), maxsplit=1)[0]
        return textwrap.shorten(first, 100, placeholder=" ...")

    def page(self, header, group, above):
        names = [item.name for item in group.items if item.kind == "function"]
        text = "\n".join(declaration(item) for item in group.items)
        known = [name for name in re.findall(r"\bPoise[A-Z]\w*", group.doc)
                 if name in self.names and name not in names]
        related = list(dict.fromkeys(([above] if above else []) + known)) + [f"poise_{header.name}"]
        return (self.head(names, self.summary(group.doc))
                + f".SH SYNOPSIS\n.nf\n#include <poise.h>\n\n{self.words(text)}\n.fi\n"
                + f".SH DESCRIPTION\n{self.prose(group.doc)}.SH SEE ALSO\n"
                + ",\n".join(f".BR {name} (3)" for name in related) + "\n")

    def overview(self, header):
        """What holds for all functions of a header, and texts between them."""
        texts = [header.doc, *(group.doc for group in header.groups if not group.items and group.doc)]
        functions = ", ".join(item.name for item in header.items("function"))
        return (self.head([f"poise_{header.name}"], f"{TITLES[header.name]} of the library Poise")
                + ".SH DESCRIPTION\n" + "".join(self.prose(text) for text in texts)
                + f".SH FUNCTIONS\n{self.words(textwrap.fill(functions, 78))}\n")

    def files(self, folder):
        out = {}
        for header in self.everything:
            out[folder / f"poise_{header.name}.3"] = self.overview(header)
            above = ""
            for group in header.groups:
                names = [item.name for item in group.items if item.kind == "function"]
                if not names:
                    continue
                out[folder / f"{names[0]}.3"] = self.page(header, group, above)
                out.update({folder / f"{name}.3": f".so man3/{names[0]}.3\n" for name in names[1:]})
                above = names[0]
        return out


def main():
    everything = headers.headers()
    if len(sys.argv) == 3 and sys.argv[1] == "--man":
        folder = pathlib.Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        headers.write_or_check(Man(everything).files(folder), [], __doc__)
    else:
        headers.write_or_check(Markdown(everything).files(), sys.argv[1:], __doc__)


if __name__ == "__main__":
    main()
