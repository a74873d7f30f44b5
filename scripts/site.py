# SPDX-License-Identifier: BSD-3-Clause
"""A hook of MkDocs (mkdocs.yml): the pages of the site.

They lie as the files in the tree, so that links hold. Pages of the navigation are taken, and what these link
to: Markdown and pictures as they are, other texts as pages with the text in them, notebooks as pages of their
cells, folders as lists of files.

Each public function has a page beside docs/reference, and the Python package one, made of its docstrings.
"""
import json
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import headers  # noqa: E402
import reference  # noqa: E402

REFERENCE = "docs/reference"
LOOKS = ["docs/site.css", "docs/site.js"]
LANGUAGES = {".c": "c", ".h": "c", ".cu": "cuda", ".cpp": "cpp", ".hpp": "cpp", ".f90": "fortran",
             ".py": "python", ".sh": "sh", ".cff": "yaml", ".cmake": "cmake", ".def": "c"}
AS_IT_IS = (".md", ".png", ".svg", ".css", ".js", ".gz")
QUIET = "---\nsearch:\n  exclude: true\n---\n"
# A block of code; code in a line; the target of a link; brackets and braces that mean more to MkDocs.
PIECES = re.compile(r"^( *)(```+).*?^\1\2 *$|(`+)(?!`).+?(?<!`)\3(?!`)|\]\(([^)#:\s]+)|\]\[|\{(?! data-)",
                    re.M | re.S)
PYTHON = """# Python

```python
import poise
```

[How to install and use it](../adapters.md#python). What follows is made of the docstrings.

::: poise
"""


def served(path):
    """The page that shows a file of the tree, or the file."""
    if (ROOT / path).is_dir():
        return posixpath.join(path, "README.md")
    return path if path.endswith(AS_IT_IS) else path + ".md"


class Pages:
    """{place in the site: text, or bytes}, with all that texts link to."""

    def __init__(self, first):
        self.all = {}
        for name, text in reference.Site(headers.headers()).files().items():
            self.add(f"{REFERENCE}/{name}", text)
        self.add(f"{REFERENCE}/python.md", PYTHON)
        for path in first:
            self.take(path)

    def take(self, path):
        """A file or a folder of the tree."""
        name = served(path)
        if name in self.all:
            return
        here = ROOT / path
        if here.is_dir():
            readme = here / "README.md"
            if readme.exists():
                return self.take(f"{path}/README.md")
            self.add(name, self.listing(path))
        elif path.endswith(".ipynb"):
            self.add(name, self.notebook(path))
        elif not path.endswith(AS_IT_IS):
            self.all[name] = self.shown(path)
        elif path.endswith(".md"):
            self.add(name, QUIET * path.startswith("bench/") + here.read_text())
        else:
            self.all[name] = here.read_bytes()

    @staticmethod
    def listing(path):
        files = sorted(file.name for file in (ROOT / path).iterdir() if file.is_file())
        return f"{QUIET}# {path}\n\n" + "".join(f"- [{name}]({name})\n" for name in files)

    @staticmethod
    def shown(path):
        text = (ROOT / path).read_text()
        language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
        return f"{QUIET}# {path}\n\n```````{language}\n{text}\n```````\n"

    @staticmethod
    def notebook(path):
        cells = [(cell["cell_type"], "".join(cell["source"]))
                 for cell in json.loads((ROOT / path).read_text())["cells"]]
        return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else text for kind, text in cells)

    def add(self, name, text):
        """A page in Markdown; links get the names of the site, and headings of blocks of code its form."""
        self.all[name] = ""  # pages link to each other
        targets = []

        def piece(found):
            if found.group(2):
                return re.sub(r"\A( *```+)(\w+) +(.+)", r'\1\2 title="\3"', found.group())
            if found.group(3):
                return found.group()
            if not found.group(4):
                return found.group().replace("[", r"\[").replace("{", r"\{")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), found.group(4)))
            targets.append(target)
            return "](" + posixpath.relpath(served(target), posixpath.dirname(name) or ".")

        self.all[name] = PIECES.sub(piece, text)
        for target in targets:
            if (ROOT / target).exists():  # else MkDocs says it
                self.take(target)


def pages_of(folder):
    return sorted(str(page.relative_to(ROOT)) for page in (ROOT / folder).glob("*.md"))


def places(nav):
    """The pages that a navigation names."""
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from places(value)
            elif value.endswith("/"):
                yield from pages_of(value)
            else:
                yield value


def expanded(nav, functions):
    """As MkDocs takes it: with all pages of folders, and functions below their header's page."""
    out = []
    for entry in nav:
        (title, value), = entry.items() if isinstance(entry, dict) else [(None, entry)]
        if isinstance(value, list):
            value = expanded(value, functions)
        elif value.endswith("/"):
            value = pages_of(value)
        elif value in functions:
            value = [value, *({name: f"{REFERENCE}/{name}.md"} for name in functions[value])]
        else:
            value = served(value)
        out.append({title: value} if title else value)
    return out


def on_files(files, config):
    functions = {f"{REFERENCE}/{header.name}.md": sorted(item.name for item in header.items("function"))
                 for header in headers.headers()}
    pages = Pages([path for path in places(config.nav) if not path.startswith(REFERENCE)]  + LOOKS)
    config.nav = expanded(config.nav, functions)
    theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files(theme + [File.generated(config, name, content=text) for name, text in pages.all.items()])
