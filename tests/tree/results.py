#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Are the measured numbers of README.md and docs/ those of the files in bench/results?

Its README.md is the index. A line of "Claims" has four cells:

    page | words of the page, measured numbers in {braces} | file | rule for each number, separated by ;

The page is README.md or one of docs/. The words must stand in it once; line breaks do not matter. A rule is
an expression of Python over the functions of class Rules below, which read the file. A list gives two
numbers, its least and its greatest. A number is right if it is what the rule gives, rounded to the digits
that the page shows. File -: nothing recorded the numbers, and the rule says what is known. Words *: so it is
with all other numbers of that page.

Besides: numbers with a unit of measurement belong to a claim. Every file is in "Files" of the index,
and says in its head what measured it. Paths of such files exist wherever the tree names one.
"""
import decimal
import glob
import gzip
import math
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
RESULTS = os.path.join("bench", "results")
HEAD = ("machine", "commit", "versions", "clocks", "date", "command")
NUMBER = r"\d+(?:\.\d+)?"
UNIT = r"(?:ms|us|ns|s|microseconds|seconds|GB/s|%|(?:million )?unknowns/s|times (?:as|faster|slower|longer))"
MEASURED = re.compile(rf"(?<![\w.-]){NUMBER}(?: to {NUMBER})? {UNIT}(?!\w)")
GENERATED = {"options.md"} | {f"reference/{name}.md" for name in ("sys", "vec", "mat", "pc", "ksp")}
SOURCES = (".md", ".c", ".h", ".cu", ".cpp", ".def", ".py", ".sh", ".awk", ".txt")

sys.path.insert(0, os.path.join(ROOT, "bench"))
sys.dont_write_bytecode = True
import choice  # noqa: E402


def text(path):
    path = os.path.join(ROOT, path)
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return file.read()


def one_line(words):
    """Without line breaks, and without stars that make words bold."""
    return re.sub(r"\s+", " ", words.replace("**", "")).strip()


class Rules:
    """What rules may call. Each reads the file of its claim."""

    def __init__(self, path):
        self.path, self.text = os.path.join(RESULTS, path), text(os.path.join(RESULTS, path))

    def first(self, words):
        """The first line that begins with these words, whatever is between them."""
        found = re.search(rf"^{r'[ |]+'.join(map(re.escape, words.split()))}(?![\w.]).*", self.text, re.M)
        if not found:
            raise LookupError(f"no line begins with '{words}'")
        return found[0]

    def us(self, words):
        """The median of a line of bench/poise_bench."""
        return float(re.search(rf" us +({NUMBER})", self.first(words))[1])

    def ms(self, row, how, who="poise"):
        """The same in milliseconds, of SpMV."""
        return self.us(f"mult.{row} {who} {how}") / 1e3

    def fields(self, words):
        """The numbers of a line; nan for columns with -; words left out."""
        cells = re.split(r"[\s|]+", self.first(words))
        return [math.nan if c == "-" else float(c) for c in cells if re.fullmatch(rf"{NUMBER}|-", c)]

    def sizes(self, begin, end, column):
        """A column of the table of blocks, by its place from the end, for these sizes."""
        return [self.fields(str(size))[column] for size in range(begin, end + 1)]

    def cubes(self, begin, end, column):
        """The same of bench/cpu_blocks.py."""
        return [self.fields(f"cube.{size}")[column] for size in range(begin, end + 1)]

    def last(self, stage):
        """The seconds of a stage in the last table of times of the finite-element drivers."""
        return float(re.findall(rf"^{stage} +(\S+)", self.text, re.M)[-1])

    def num(self, pattern):
        """The number in the brackets of a regular expression, where it first fits; . fits line breaks."""
        found = re.search(pattern, self.text, re.M | re.S)
        if not found:
            raise LookupError(f"nothing fits '{pattern}'")
        return float(found[1])

    def count(self, pattern):
        return len(re.findall(pattern, self.text, re.M))

    def cell(self, row, column):
        """In a table of Markdown with that column, the cell of the row that begins with these words."""
        head = None
        for line in self.text.splitlines():
            cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else None
            if cells is None or head is None:
                head = cells if cells and column in cells else None
            elif cells[0] == row:
                return float(cells[head.index(column)])
        raise LookupError(f"no row '{row}' in a table with a column '{column}'")

    def types(self, mode):
        """The matrices of bench/choice: times from memory, or in this mode if one fits into caches."""
        return choice.matrices(choice.read(os.path.join(ROOT, self.path))[3], mode, "median_us")

    def speedup(self, mode="cold", who="auto", nonzeros=0, low=0, high=math.inf, coo=False):
        """The geometric mean of the time of the others' best CSR product over that of a type. On matrices of
        so many nonzeros or more, whose deviation is in [low, high); coo: their best by COO counts too."""
        found = [m for m in self.types(mode)
                 if m.of["nonzeros"] >= nonzeros and low <= m.of["deviation"] < high]
        return choice.mean((m.other if coo else m.peer) / m.time[who] for m in found)

    def behind(self, mode="cold", who="auto"):
        """Times over the others' best of the matrices on which a type is slower by over 3 % and 0.3 us."""
        return [m.time[who] / m.peer for m in self.types(mode) if not choice.within(m.time[who], m.peer, .03)]

    def over(self, slow, fast, begin=0, end=None, mode="cold"):
        """The geometric mean of a contender's time over another's, on these rows of segSpMV's Table I."""
        found = [m for m in self.types(mode) if m.group == "table1"][begin:end]
        return choice.mean(m.time[slow] / m.time[fast] for m in found)

    def places(self, matrix):
        """Places per entry of segments that are filled up, as the view of bench/choice says."""
        view = rf"view of {re.escape(matrix)} by seg:\S*padded.*: (\d+) entries for (\d+)"
        found = re.search(view, self.text)
        return int(found[1]) / int(found[2])

    def share(self, slack, mode="cold", who="auto"):
        """Per cent of the matrices on which a type is within slack or 0.3 us of the best one."""
        found = self.types(mode)
        return 100 * sum(choice.within(m.time[who], m.time[m.best], slack) for m in found) / len(found)

    def values(self, rule):
        names = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        names.update(__builtins__={}, min=min, max=max, len=len, range=range, str=str,
                     replayed="replayed")
        found = []
        for part in rule.split(";"):
            value = eval(part, names)  # pylint: disable=eval-used
            found += [min(value), max(value)] if isinstance(value, list) else [value]
        return found


def agrees(shown, value):
    """Is shown, such as 0.41, 9, 210, 440 000 or 1.1e-4, this value rounded? To two digits at least."""
    shown = shown.replace(" ", "")
    number = decimal.Decimal(shown)
    zeros = max(0, min(len(shown) - 2, len(shown) - len(shown.rstrip("0")))) if shown.isdigit() else 0
    return abs(float(number) - value) <= 0.5 * 10.0 ** (number.as_tuple().exponent + zeros) * (1 + 1e-9)


class Index:
    def __init__(self):
        page = text(os.path.join(RESULTS, "README.md"))
        claims, files = re.search(r"^## Claims\n(.*)^## Files\n(.*)", page, re.M | re.S).groups()
        lines = [line for line in claims.splitlines() if line.startswith("|")][2:]
        cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
        self.claims = [[cell.strip().replace(r"\|", "|") for cell in claim] for claim in cells]
        self.files = dict(re.findall(r"^\| `([^`]+)` \|(.*)", files, re.M))


def check_claims(index, pages):
    """[complaint], and {page: [(begin, end) of words that are claims]}"""
    bad, spans = [], {page: [] for page in pages}
    for claim in index.claims:
        if len(claim) != 4 or claim[0] not in pages:
            bad.append(f"the index: not a page, words, a file and a rule: {' | '.join(claim)}")
            continue
        page, words, path, rule = claim
        if words == "*":
            spans[page].append((0, len(pages[page])))
            continue
        plain, shown = one_line(words.replace("{", "").replace("}", "")), re.findall(r"\{([^}]*)\}", words)
        places = [m.start() for m in re.finditer(re.escape(plain), pages[page])]
        if len(places) != 1 or not shown:
            bad.append(f"{page}: words of a claim stand in it {len(places)} times, not once, or have no "
                       f"number in braces: {words}")
            continue
        spans[page].append((places[0], places[0] + len(plain)))
        if path == "-":
            continue
        try:
            values = Rules(path).values(rule)
        except Exception as error:  # whatever is wrong with a rule
            bad.append(f"{page}: {words}: {rule}: {error}")
            continue
        if len(values) != len(shown):
            bad.append(f"{page}: {words}: {len(shown)} numbers and {len(values)} rules")
        for number, value in zip(shown, values):
            if not agrees(number, value):
                bad.append(f"{page} says {number} in '{plain}', {path} says {value:.6g}")
    return bad, spans


def check_pages(pages, spans):
    bad = []
    for page, words in pages.items():
        if RESULTS in words and not spans[page]:
            bad.append(f"{page} names files of {RESULTS}, and has no claim in the index")
        for found in MEASURED.finditer(words):
            if not any(begin <= found.start() and found.end() <= end for begin, end in spans[page]):
                where = words[max(0, found.start() - 40):found.end() + 20]
                bad.append(f"{page}: no claim in {RESULTS}/README.md has '{found[0]}' of '...{where}...'")
    return bad


def check_files(index):
    bad = []
    folder = os.path.join(ROOT, RESULTS)
    there = {os.path.relpath(p, folder) for p in glob.glob(os.path.join(folder, "*", "*"))}
    bad += [f"{RESULTS}/{name} is not in Files of the index" for name in sorted(there - set(index.files))]
    bad += [f"Files of the index has {name}: not there" for name in sorted(set(index.files) - there)]
    for name in sorted(there):
        if name.endswith((".txt", ".csv", ".csv.gz")):
            head = re.match(r"(?:#.*\n)*", text(os.path.join(RESULTS, name)))[0]
            said = dict(re.findall(r"^# (\w+): (.*)", head, re.M))
            bad += [f"{RESULTS}/{name}: its head has no line '# {key}: '" for key in HEAD if key not in said]
            commits, dates = said.get("commit", ""), said.get("date", "")
            for word in re.findall(r"\b[0-9a-f]{7}\b", commits) + re.findall(r"\d{4}-\d\d-\d\d", dates)[:1]:
                if word not in index.files.get(name, ""):
                    bad.append(f"Files of the index has not {word} for {name}, whose head has")
    for folder in ("", "docs", "src", "include", "tests", "bench", "scripts", "examples"):
        paths = glob.glob(os.path.join(ROOT, folder, "**" if folder else "*"), recursive=True)
        for path in (os.path.relpath(p, ROOT) for p in paths):
            if not path.endswith(SOURCES) or path.startswith(RESULTS):
                continue
            for name in re.findall(r"bench/results/([\w/.-]+\.(?:csv\.gz|csv|txt|md|svg))", text(path)):
                if name != "README.md" and name not in there:
                    bad.append(f"{path} names {RESULTS}/{name}, which does not exist")
    return bad


def main():
    pages = {"README.md": "README.md"}
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)):
        pages[os.path.relpath(path, os.path.join(ROOT, "docs"))] = os.path.relpath(path, ROOT)
    pages = {name: one_line(re.sub(r"^```.*?^```$", " ", text(path), flags=re.M | re.S))
             for name, path in pages.items() if name not in GENERATED}
    index = Index()
    bad, spans = check_claims(index, pages)
    bad += check_pages(pages, spans) + check_files(index)
    if bad:
        print("\n".join(bad))
        return 1
    print(f"{len(index.claims)} claims, {len(index.files)} files. Builds by page:")
    for page in pages:
        paths = {path for at, _, path, _ in index.claims if at == page and path != "-"}
        builds = {index.files[path].split("|")[2].strip() for path in paths}
        if builds:
            print(f"  {page}: {', '.join(sorted(builds))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
