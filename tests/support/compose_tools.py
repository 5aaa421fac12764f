"""Both generations of Docker Compose: v1 from Debian 12, v2 from Debian 13, whichever of the two this machine is."""

import os
import shutil
import subprocess
from pathlib import Path

from support import private_cache, sample_image
from support.private_world import skip

V2_RELEASE = "trixie"


def _version(program: str) -> str:
    return subprocess.run(
        [program, "version", "--short"], capture_output=True, text=True, timeout=120, check=False
    ).stdout.strip().lstrip("v")


def v1() -> Path:
    program = shutil.which("docker-compose")
    if program is None or not _version(program).startswith("1."):
        skip("no Compose v1 on this machine (Debian 12's docker-compose package)")
    return Path(program)


def _extract_v2(target: Path, scratch: Path) -> None:
    """Takes the package out of the newer release with an apt of its own: the machine's apt sees nothing of it."""
    state = scratch / "apt"
    for part in ("etc/apt/preferences.d", "etc/apt/sources.list.d", "etc/apt/apt.conf.d",
                 "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg"):
        (state / part).mkdir(parents=True)
    (state / "var/lib/dpkg/status").touch()
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (state / "etc/apt/sources.list").write_text(
        f"deb [signed-by={keyring}] {sample_image.mirror()} {V2_RELEASE} main\n", encoding="utf-8")
    # The machine's way to the mirror (a proxy, say) is kept; its hooks, which may tidy its own cache, are not.
    ways = subprocess.run(["apt-config", "dump", "Acquire"], check=True, capture_output=True, text=True, timeout=30)
    (state / "apt.conf").write_text(
        f'Dir "{state}";\nDir::State::status "{state}/var/lib/dpkg/status";\nAPT::Sandbox::User "root";\n'
        f'{ways.stdout}Acquire::Languages "none";\n', encoding="utf-8")
    environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    for arguments in (["update"], ["download", "docker-compose"]):
        subprocess.run(["apt-get", "-q", *arguments], cwd=scratch, env=environment, check=True, timeout=300,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    (package,) = scratch.glob("docker-compose_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, scratch / "files"], check=True, timeout=60)
    (binary,) = (scratch / "files").rglob("cli-plugins/docker-compose")
    shutil.copy2(binary, target)


def v2() -> Path:
    program = shutil.which("docker-compose")
    if program is not None and _version(program).startswith("2."):
        return Path(program)
    return private_cache.keep("docker-compose-2", _extract_v2)


def environment(program: Path, directory: Path) -> dict[str, str]:
    """PATH and DOCKER_CONFIG with which `program` is the only Compose: v2 as a plugin, v1 as a command."""
    commands, config = directory / "bin", directory / "docker-config"
    commands.mkdir(parents=True)
    plugins = config / "cli-plugins"
    plugins.mkdir(parents=True)
    docker = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else shutil.which("docker")
    (commands / "docker").symlink_to(docker)
    if _version(str(program)).startswith("1."):
        (commands / "docker-compose").symlink_to(program)
    else:
        (plugins / "docker-compose").symlink_to(program)
    return {"PATH": f"{commands}:{os.environ['PATH']}", "DOCKER_CONFIG": str(config)}
