"""The file system of the sample application's container, made from Debian packages: no registry is asked."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from support import private_cache
from support.private_world import require_programs

REPOSITORY = Path(__file__).resolve().parents[2]
SHOP = REPOSITORY / "config/examples/shop"
# A change of the recipe below gets a new number, so that an old file in the cache is not taken for it.
RECIPE = 1
PACKAGES = ["python3", "python3-aiohttp", "python3-psycopg2", "iproute2", "git"]
UNNEEDED = ["var/lib/apt/lists", "var/cache/apt", "usr/share/doc", "usr/share/man", "usr/share/locale"]


def mirror() -> str:
    return subprocess.run(
        [REPOSITORY / "scripts/debian-mirror"], check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def release() -> str:
    lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)["VERSION_CODENAME"]


def _make_root(target: Path, scratch: Path) -> None:
    root = scratch / "root"
    log = scratch / "log"
    with open(log, "w", encoding="utf-8") as output:
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", release(), root, mirror()],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=600, check=False,
        )
    if done.returncode != 0:
        raise RuntimeError("debootstrap failed:\n" + log.read_text(encoding="utf-8")[-2000:])
    for path in UNNEEDED:
        shutil.rmtree(root / path, ignore_errors=True)
    subprocess.run(["tar", "-C", root, "-cf", target, "."], check=True, timeout=300)


def root_archive() -> Path:
    """A tar of a minimal Debian with what the shop runs on; about a minute the first time, kept in the cache."""
    require_programs("debootstrap", "tar")
    return private_cache.keep(f"shop-root-{release()}-{RECIPE}.tar", _make_root)


def _shop_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(SHOP.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.relative_to(SHOP).parts[0] != "data":
            digest.update(f"{path.relative_to(SHOP)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _add_shop(target: Path, scratch: Path) -> None:
    for old in private_cache.directory().glob("shop-image-*.tar"):
        old.unlink()
    shutil.copyfile(root_archive(), target)
    subprocess.run(
        ["tar", "-C", SHOP, "--exclude=__pycache__", "--exclude=./data", "--transform=s,^\\.,./srv/shop,",
         "-rf", target, "."],
        check=True, timeout=60,
    )


def archive() -> Path:
    """The same with the shop itself in /srv/shop: what `docker import` takes."""
    return private_cache.keep(f"shop-image-{release()}-{RECIPE}-{_shop_digest()}.tar", _add_shop)
