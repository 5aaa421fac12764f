"""Runs a program with a container engine of its own: with_docker.py v1|v2 COMMAND...

COMMAND sees DOCKER_HOST, an image `shop`, and that generation of Compose alone. Exits as it does; 77 where something is not
installed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support import compose_tools, private_world, sample_image  # noqa: E402
from support.private_docker import PrivateDocker  # noqa: E402


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    private_world.require_programs("dockerd", "docker", "git")
    # What needs the network is fetched before the private world, which has none, is entered.
    sample_image.archive()
    compose = {"v1": compose_tools.v1, "v2": compose_tools.v2}[sys.argv[1]]()
    private_world.enter()
    with tempfile.TemporaryDirectory(prefix="hedge-live-") as name, PrivateDocker() as docker:
        directory = Path(name)
        docker.import_image(sample_image.archive(), "shop")
        environment = {**os.environ, "DOCKER_HOST": docker.host, **compose_tools.environment(compose, directory / "tools")}
        return subprocess.run(sys.argv[2:], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(private_world.exit_status(main))
