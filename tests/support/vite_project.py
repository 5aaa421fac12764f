"""A Vite project that nobody here wrote: create-vite's own template, with the packages that package-lock.json pins."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from support import private_cache
from support.private_world import require_programs

BROWSER_TESTS = Path(__file__).resolve().parents[1] / "browser"


def _install(target: Path, scratch: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(BROWSER_TESTS / name, scratch)
    # Neither package needs its install scripts: esbuild and rollup bring their binaries in packages of their own.
    done = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=scratch, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"npm ci failed:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    (scratch / "node_modules").replace(target)


def packages() -> Path:
    """The installed node_modules, kept in the cache under the lockfile's digest."""
    require_programs("node", "npm")
    digest = hashlib.sha256((BROWSER_TESTS / "package-lock.json").read_bytes()).hexdigest()[:16]
    return private_cache.keep(f"node-modules-{digest}", _install)


def make(directory: Path) -> None:
    """Writes the project, with its packages installed and ignored by git, as `directory`, which must not exist."""
    modules = packages()
    subprocess.run(
        ["node", modules / "create-vite/index.js", directory.name, "--template", "vanilla"], cwd=directory.parent,
        stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60, env={**os.environ, "CI": "1"},
    )
    shutil.copytree(modules, directory / "node_modules", symlinks=True)
    (directory / ".gitignore").write_text("node_modules\n.env.hedge\n", encoding="utf-8")
