"""scripts/setup with an apt that only notes what it was asked: nothing of this machine is changed."""

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import bounded_wait, sample_image

POLICY = Path("/usr/sbin/policy-rc.d")
SETUP = sample_image.REPOSITORY / "scripts/setup"
APT = """#!/bin/sh
echo "$*" >>"{directory}/asked"
case " $* " in *" install "*) ;; *) exit 0 ;; esac
cat /usr/sbin/policy-rc.d >"{directory}/policy-during"
touch "{directory}/installing"
{during}
for word; do case "$word" in -* | *::* | install) ;; *) echo "$word" >>"{directory}/installed" ;; esac; done
"""
DPKG_QUERY = """#!/bin/sh
for package; do :; done
if grep -qxF "$package" "{directory}/absent" && ! grep -qxF "$package" "{directory}/installed"; then
  exit 1
fi
printf installed
"""


def prepare() -> None:
    """Nothing is fetched."""


class Setup(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-setup-")))
        for name in ("asked", "absent", "installed"):
            (self.directory / name).touch()
        self._command("dpkg-query", DPKG_QUERY)
        self._command("apt-get", APT, during="")
        # What the script writes below /usr/sbin lands in a layer that goes away with this private world.
        layer = self.directory / "layer"
        layer.mkdir()
        self._mount("-t", "tmpfs", "tmpfs", str(layer))
        for part in ("upper", "work"):
            (layer / part).mkdir()
        self._mount("-t", "overlay", "overlay", "/usr/sbin", "-o",
                    f"lowerdir=/usr/sbin,upperdir={layer}/upper,workdir={layer}/work")
        self.addCleanup(lambda: subprocess.run(["umount", "/usr/sbin", str(layer)], check=True, timeout=30))
        self._system("debian", "12")

    def _mount(self, *arguments: str) -> None:
        subprocess.run(["mount", *arguments], check=True, timeout=30)

    def _command(self, name: str, text: str, **values: str) -> None:
        path = self.directory / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(directory=self.directory, **values), encoding="utf-8")
        path.chmod(0o755)

    def _system(self, name: str, version: str) -> None:
        release = self.directory / f"os-release-{name}"
        release.write_text(f'ID={name}\nVERSION_ID="{version}"\nPRETTY_NAME="{name} {version}"\n', encoding="utf-8")
        self._mount("--bind", str(release), "/etc/os-release")
        self.addCleanup(lambda: subprocess.run(["umount", "/etc/os-release"], check=True, timeout=30))

    def _absent(self, *packages: str) -> None:
        (self.directory / "absent").write_text("".join(f"{package}\n" for package in packages), encoding="utf-8")

    def _start(self, *arguments: str) -> subprocess.Popen:
        environment = {**os.environ, "PATH": f"{self.directory}/bin:{os.environ['PATH']}"}
        return subprocess.Popen([SETUP, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def _run(self, *arguments: str) -> tuple[int, str]:
        process = self._start(*arguments)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def _read(self, name: str) -> str:
        return (self.directory / name).read_text(encoding="utf-8")

    @staticmethod
    def _waits_for_a_lock(process: subprocess.Popen) -> bool:
        """Some child of it does. Lines of those who wait: `1: -> FLOCK ADVISORY WRITE PID ...`"""
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[1] != "->":
                continue
            try:
                status = Path(f"/proc/{words[5]}/stat").read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
            if int(status.rsplit(")", 1)[1].split()[1]) == process.pid:
                return True
        return False

    def test_an_unsupported_system_is_refused_by_name_and_apt_is_not_asked(self):
        self._system("ubuntu", "24.04")
        status, output = self._run()
        self.assertEqual(status, 1)
        self.assertIn("unsupported system: ubuntu 24.04 (Debian 12 and 13 are supported", output)
        self.assertEqual(self._read("asked"), "")

    def test_where_everything_is_there_apt_is_not_asked(self):
        for level in ("build", "test"):
            status, output = self._run(level)
            self.assertEqual(status, 0, output)
        self.assertEqual(self._read("asked"), "")

    def test_apt_is_asked_for_what_is_missing_only(self):
        self._absent("libc-ares-dev", "ninja-build")
        status, output = self._run()
        self.assertEqual(status, 0, output)
        self.assertEqual(sorted(self._read("installed").split()), ["libc-ares-dev", "ninja-build"])

    def test_what_only_tests_need_is_not_missed_by_a_build(self):
        self._absent("chromium")
        self.assertEqual(self._run("build")[0], 0)
        self.assertEqual(self._read("asked"), "")
        self.assertEqual(self._run("test")[0], 0)
        self.assertEqual(self._read("installed").split(), ["chromium"])

    def test_each_release_gets_its_own_boost(self):
        self._absent("libboost1.81-dev", "libboost-dev")
        self.assertEqual(self._run()[0], 0)
        self.assertEqual(self._read("installed").split(), ["libboost1.81-dev"])
        self._system("debian", "13")
        self.assertEqual(self._run()[0], 0)
        self.assertEqual(self._read("installed").split(), ["libboost1.81-dev", "libboost-dev"])

    def test_no_service_may_start_meanwhile_and_the_policy_of_the_machine_comes_back(self):
        POLICY.unlink(missing_ok=True)
        self._absent("libpq-dev")
        self.assertEqual(self._run()[0], 0)
        self.assertIn("exit 101", self._read("policy-during"))
        self.assertFalse(POLICY.exists())

        POLICY.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        self._absent("cmake")
        self.assertEqual(self._run()[0], 0)
        self.assertIn("exit 101", self._read("policy-during"))
        self.assertEqual(POLICY.read_text(encoding="utf-8"), "#!/bin/sh\nexit 0\n")

    def test_the_policy_comes_back_when_the_install_fails_or_is_interrupted(self):
        POLICY.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        self._absent("cmake")
        self._command("apt-get", APT, during="exit 100")
        self.assertEqual(self._run()[0], 100)
        self.assertEqual(POLICY.read_text(encoding="utf-8"), "#!/bin/sh\nexit 0\n")

        (self.directory / "installing").unlink()
        self._command("apt-get", APT, during="exec sleep 60")
        process = self._start()
        bounded_wait.until((self.directory / "installing").exists, 20, "the install runs")
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(POLICY.read_text(encoding="utf-8"), "#!/bin/sh\nexit 0\n")

    def test_a_killed_install_does_not_keep_services_from_starting_for_good(self):
        for own in (None, "#!/bin/sh\nexit 0\n"):
            POLICY.unlink(missing_ok=True)
            if own is not None:
                POLICY.write_text(own, encoding="utf-8")
            (self.directory / "installing").unlink(missing_ok=True)
            self._absent("cmake")
            self._command("apt-get", APT, during="exec sleep 60")
            process = self._start()
            bounded_wait.until((self.directory / "installing").exists, 20, "the install runs")
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=20)
            self._command("apt-get", APT, during="")
            self.assertEqual(self._run()[0], 0)
            self.assertEqual(POLICY.read_text(encoding="utf-8") if POLICY.exists() else None, own)
            (self.directory / "installed").write_text("", encoding="utf-8")

    def test_two_runs_at_once_wait_for_each_other(self):
        own = "#!/bin/sh\nexit 0\n"
        POLICY.write_text(own, encoding="utf-8")
        self._absent("cmake")
        self._command("apt-get", APT, during=f'while [ ! -e "{self.directory}/go" ]; do sleep 0.05; done')
        first, second = self._start(), self._start()
        bounded_wait.until((self.directory / "installing").exists, 20, "one of them installs")
        (self.directory / "go").touch()
        for process in (first, second):
            output, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, output)
        self.assertEqual(POLICY.read_text(encoding="utf-8"), own)

    def test_an_install_that_outlives_its_script_under_sudo_is_waited_for(self):
        own = "#!/bin/sh\nexit 0\n"
        POLICY.write_text(own, encoding="utf-8")
        self._absent("cmake")
        # Somebody who is not root, and a sudo that passes on no descriptor, as the real one.
        self._command("id", "#!/bin/sh\necho 1000\n")
        self._command("sudo", "#!/bin/sh\n[ \"$1\" = -n ] && shift\nexec 9<&-\nexec \"$@\"\n")
        self._command("apt-get", APT, during=(
            f'if mkdir "{self.directory}/first"; then while [ ! -e "{self.directory}/go" ]; do sleep 0.05; done; '
            f'[ -e "{POLICY}" ] && touch "{self.directory}/refused-throughout"; fi'))
        first = self._start()
        bounded_wait.until((self.directory / "installing").exists, 20, "the install runs")
        first.kill()
        first.wait(timeout=20)
        second = self._start()
        asked = self._read("asked")
        bounded_wait.until(lambda: self._waits_for_a_lock(second) or self._read("asked") != asked, 60, "it waits or goes on")
        self.assertEqual(self._read("asked"), asked)
        (self.directory / "go").touch()
        output, _ = second.communicate(timeout=60)
        self.assertEqual(second.returncode, 0, output)
        self.assertTrue((self.directory / "refused-throughout").exists())
        self.assertEqual(POLICY.read_text(encoding="utf-8"), own)

    def test_a_level_that_does_not_exist_is_a_usage_error(self):
        status, output = self._run("everything")
        self.assertEqual(status, 2)
        self.assertIn("usage: scripts/setup [build|test]", output)


if __name__ == "__main__":
    unittest.main()
