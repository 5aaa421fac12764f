#!/usr/bin/env python3
"""Checks the tree: structure_test.py layers|sizes|headers|coroutines|words ROOT. Prints each fault and exits 1 if there is one."""
import pathlib
import re
import sys

# A folder includes only from lower rows; folders of one row do not know each other.
LAYERS = [["base"], ["config"], ["router", "certs"], ["proxy", "worktree"], ["contract"], ["cli"]]
RANK = {folder: rank for rank, row in enumerate(LAYERS) for folder in row}
MOST_LINES_A_FILE = 400
MOST_LINES_A_FUNCTION = 60
MOST_FILES_A_FOLDER = 25  # units: x.h and x.cpp are one
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)
CONTROL = re.compile(r"^\s*(if|for|while|switch|else|do|try|catch|namespace|class|struct|enum|union|extern)\b")
# What a public repository must not say: machine paths, and how it was made.
WORDS = [r"/work/", r"/root/\.", r"\.\./shared", r"\bshared/design\b", r"\bthis session\b", r"\bprevious session\b",
         r"\bclaude\b", r"\bchatgpt\b", r"\bas an ai\b", r"deb\.debian\.org", r"registry\.npmjs"]


def sources(root, *suffixes):
    for folder in RANK:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and "examples" not in path.parts:
                yield path


def layer_of(relative):
    return relative.split("/", 1)[0]


def check_layers(root):
    for path in sources(root, ".h", ".cpp"):
        relative = path.relative_to(root).as_posix()
        own = layer_of(relative)
        for included in INCLUDE.findall(path.read_text()):
            other = layer_of(included)
            if "/" not in included or other not in RANK:
                yield f"{relative}: includes \"{included}\", which is not a path from the root"
            elif other != own and RANK[other] >= RANK[own]:
                yield f"{relative}: {own} must not include from {other} (\"{included}\")"


def functions(text):
    """(first line, length) of each function of clang-formatted text: a body ends at the brace of its own indentation."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        # A line that ends with "({" opens a table, not a function.
        if not line.endswith("{") or line.endswith("({") or "(" not in line and ")" not in line or CONTROL.match(line):
            continue
        start = number
        while start > 0 and lines[start].startswith(("    ", "\t")) and not lines[start - 1].strip().endswith((";", "{", "}", ":")):
            start -= 1
        indent = len(lines[start]) - len(lines[start].lstrip())
        if indent > 4 or CONTROL.match(lines[start]):
            continue
        closing = re.compile(rf"^ {{{indent}}}}}")
        for end in range(number + 1, len(lines)):
            if closing.match(lines[end]):
                yield start + 1, end - start + 1
                break


def check_sizes(root):
    folders = {}
    everything = list(sources(root, ".h", ".cpp")) + sorted((root / "tests").rglob("*.cpp")) + sorted((root / "tests").rglob("*.h"))
    for path in everything:
        relative = path.relative_to(root).as_posix()
        text = path.read_text()
        lines = text.count("\n")
        if lines > MOST_LINES_A_FILE:
            yield f"{relative}: {lines} lines, at most {MOST_LINES_A_FILE}"
        if layer_of(relative) != "tests":
            folders.setdefault(path.parent, set()).add(path.stem)
            for first, length in functions(text):
                if length > MOST_LINES_A_FUNCTION:
                    yield f"{relative}:{first}: a function of {length} lines, at most {MOST_LINES_A_FUNCTION}"
    for folder, units in folders.items():
        if len(units) > MOST_FILES_A_FOLDER:
            yield f"{folder.relative_to(root)}: {len(units)} units, at most {MOST_FILES_A_FOLDER}; it wants a split"


def check_headers(root):
    """A header has #pragma once and says what it is for; its own source includes it first, which proves that it compiles alone.

    Headers without a source of their own are compiled alone by the build (tests/structure/CMakeLists.txt)."""
    for path in sources(root, ".h"):
        relative = path.relative_to(root).as_posix()
        text = path.read_text()
        if "#pragma once" not in text:
            yield f"{relative}: no #pragma once"
        if not text.startswith("//"):
            yield f"{relative}: begins without a sentence on what it is for"
        source = path.with_suffix(".cpp")
        if source.exists():
            included = re.search(r'^\s*#include [<"]([^>"]+)[>"]', source.read_text(), re.M)
            if not included or included.group(1) != relative:
                yield f"{source.relative_to(root)}: does not include its own header first"


def condition_at(text, start):
    """The text of the parentheses that open at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def check_coroutines(root):
    """GCC 12 never runs a coroutine that is awaited in a condition, and destroys a braced temporary of an await twice."""
    everything = list(sources(root, ".h", ".cpp")) + sorted((root / "tests").rglob("*.cpp"))
    for path in everything:
        text = path.read_text()
        for found in re.finditer(r"\b(?:if|while|switch)\s*(?:constexpr\s*)?(\()", text):
            if "co_await" in condition_at(text, found.start(1)):
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path.relative_to(root)}:{line}: co_await in a condition"


def check_words(root):
    pattern = re.compile("(?i:" + "|".join(WORDS) + r")|\bTODO\b|\bFIXME\b")
    skip = {"build", ".git", "node_modules", "__pycache__"}
    for path in sorted(root.rglob("*")):
        if not path.is_file() or skip & set(path.relative_to(root).parts) or path == pathlib.Path(__file__).resolve():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            found = pattern.search(line)
            if found:
                yield f"{path.relative_to(root)}:{number}: \"{found.group(0)}\" does not belong in the product"


CHECKS = {"layers": check_layers, "sizes": check_sizes, "headers": check_headers,
          "coroutines": check_coroutines, "words": check_words}


def main(name, root):
    faults = list(CHECKS[name](pathlib.Path(root).resolve()))
    for fault in faults:
        print(fault)
    print(f"{name}: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
