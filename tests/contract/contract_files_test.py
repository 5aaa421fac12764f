"""Files that follow from the code: identifiers, generated pages, the published schema.

contract_files_test.py identifiers|pages|schema ROOT PROGRAM
"""

import json
import re
import subprocess
import sys
from pathlib import Path

LAYERS = ("base", "config", "router", "certs", "proxy", "worktree", "contract", "cli")
CATALOGUE = "contract/error_catalogue.cpp"


def sources(root: Path) -> dict[str, str]:
    files = [file for layer in LAYERS for file in sorted((root / layer).rglob("*")) if file.suffix in (".cpp", ".h")]
    return {str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files}


def catalogue(root: Path) -> set[str]:
    return set(re.findall(r'^    \{"([a-z_]+)",', (root / CATALOGUE).read_text(encoding="utf-8"), re.M))


def check_identifiers(root: Path, _program: str) -> list[str]:
    """Every identifier that the code sets is in the catalogue, and every one of the catalogue is somewhere in the code."""
    known = catalogue(root)
    problems = [] if len(known) > 50 else [f"only {len(known)} rows were found in {CATALOGUE}"]
    literals: set[str] = set()
    for name, text in sources(root).items():
        if name == CATALOGUE:
            continue
        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
            literals.update(re.findall(r"[a-z_]+", literal))
        for identifier in re.findall(r'with_id\(\s*"([^"]*)"', text):
            if identifier not in known:
                problems.append(f"{name}: {identifier} is not in {CATALOGUE}")
    problems += [f"{CATALOGUE}: nothing in the code says {identifier}" for identifier in sorted(known - literals)]
    return problems


def check_pages(root: Path, program: str) -> list[str]:
    """The pages in docs/ are what the program and the headers say now."""
    wanted = {
        "docs/errors.md": subprocess.run([program, "explain", "--markdown"], capture_output=True, text=True, timeout=30,
                                         check=True).stdout,
        "docs/config.md": subprocess.run([sys.executable, root / "scripts" / "config-page", root], capture_output=True, text=True,
                                         timeout=30, check=True).stdout,
    }
    problems = []
    for name, text in wanted.items():
        file = root / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            problems.append(f"{name} is out of date: see docs/development.md")
    return problems


def check_schema(root: Path, program: str) -> list[str]:
    """What the program prints when it fails early is an object of the schema; the schema itself is valid."""
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed (scripts/setup test)")
        sys.exit(77)
    schema = json.loads((root / "config/schema/contract.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    problems = []
    for verb in ("create", "verify", "destroy", "status", "up", "down"):
        done = subprocess.run([program, verb, "--no-such-option"], capture_output=True, text=True, timeout=30, check=False)
        problems += [f"{verb}: {error.message}" for error in jsonschema.Draft7Validator(schema).iter_errors(json.loads(done.stdout))]
    return problems


CHECKS = {"identifiers": check_identifiers, "pages": check_pages, "schema": check_schema}


def main() -> int:
    check, root, program = sys.argv[1:]
    problems = CHECKS[check](Path(root), program)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
