"""Programs that people use against the edge: each opens a URL and says whether it was answered or refused the certificate."""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from support import firefox_page

PYTHON = """
import ssl, sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.URLError as problem:
    sys.exit("refused " + str(problem.reason) if isinstance(problem.reason, ssl.SSLCertVerificationError) else "broken " + str(problem))
"""
NODE_HTTPS = """
require('https').get(process.argv[1], answer => { answer.setEncoding('utf8'); answer.on('data', part => process.stdout.write(part)); })
  .on('error', problem => { console.error('refused', problem.code, problem.message); process.exit(1); });
"""
NODE_FETCH = """
fetch(process.argv[1]).then(answer => answer.text()).then(text => process.stdout.write(text))
  .catch(problem => { console.error('refused', problem.cause && problem.cause.code, problem.cause); process.exit(1); });
"""
JAVA = """
import java.io.*; import java.net.*; import java.nio.charset.StandardCharsets;
public class Fetch {
  public static void main(String[] arguments) throws Exception {
    try (InputStream in = new URL(arguments[0]).openStream()) {
      System.out.println(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (javax.net.ssl.SSLException problem) {
      System.err.println("refused " + problem);
      System.exit(1);
    }
  }
}
"""


@dataclass(frozen=True)
class Outcome:
    answered: bool
    detail: str


@dataclass
class Clients:
    """Where they run: their home, and the variables that they are given."""

    directory: Path
    environment: dict[str, str]
    body: str  # what the application answers

    def run(self, argv: list, seconds: int = 60, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(word) for word in argv], env={**self.environment, **variables}, cwd=self.directory, timeout=seconds,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def _outcome(self, done: subprocess.CompletedProcess) -> Outcome:
        return Outcome(done.returncode == 0 and self.body in done.stdout, (done.stderr or done.stdout)[-600:])

    def curl(self, url: str) -> Outcome:
        return self._outcome(self.run(["curl", "-sS", url]))

    def python(self, url: str) -> Outcome:
        return self._outcome(self.run(["/usr/bin/python3", "-c", PYTHON, url]))

    def node_https(self, url: str) -> Outcome:
        return self._outcome(self.run(["node", "-e", NODE_HTTPS, url]))

    def node_fetch(self, url: str) -> Outcome:
        return self._outcome(self.run(["node", "-e", NODE_FETCH, url]))

    def java(self, url: str) -> Outcome:
        if not (self.directory / "Fetch.class").exists():
            source = self.directory / "Fetch.java"
            source.write_text(JAVA, encoding="utf-8")
            subprocess.run(["javac", source], check=True, cwd=self.directory, capture_output=True, timeout=120)
        return self._outcome(self.run(["java", "-Djava.net.preferIPv4Stack=true", "-cp", self.directory, "Fetch", url], 120))

    def openssl(self, url: str) -> Outcome:
        host, port = url.removeprefix("https://").rstrip("/").split("/")[0].split(":")
        done = self.run(["openssl", "s_client", "-connect", f"{host}:{port}", "-servername", host, "-verify_hostname", host,
                         "-verify_return_error", "-brief"])
        return Outcome(done.returncode == 0 and "Verification: OK" in done.stderr, done.stderr[-600:])

    def gnutls(self, url: str) -> Outcome:
        host, port = url.removeprefix("https://").rstrip("/").split("/")[0].split(":")
        done = self.run(["gnutls-cli", "--port", port, host])
        return Outcome(done.returncode == 0 and "The certificate is trusted" in done.stdout, (done.stdout + done.stderr)[-600:])

    def git(self, url: str) -> Outcome:
        """Lists a repository; `url` is the repository's."""
        done = self.run(["git", "ls-remote", url], GIT_CONFIG_NOSYSTEM="1")
        return Outcome(done.returncode == 0 and "refs/heads/" in done.stdout, done.stderr[-600:])

    def chromium(self, url: str) -> Outcome:
        with tempfile.TemporaryDirectory(dir=self.directory) as profile:
            done = self.run(
                ["/usr/bin/chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}", "--dump-dom", url], 120)
        # A refused certificate is a page of the browser's own, and exit 0.
        return Outcome(self.body in done.stdout, (done.stdout + done.stderr)[-600:])

    def firefox(self, url: str, profile: Path) -> Outcome:
        text = firefox_page.text_of(url, profile, self.directory / "firefox.log", self.environment)
        (self.directory / "firefox.log").unlink()
        return Outcome(self.body in text, text[-600:])


def firefox_profile(home: Path) -> Path:
    """As Firefox leaves it after its first start, but for what it stores in it."""
    profile = home / ".mozilla/firefox/test.default"
    profile.mkdir(parents=True)
    (profile / "times.json").write_text("{}\n")
    (profile.parent / "profiles.ini").write_text("[Profile0]\nName=default\nIsRelative=1\nPath=test.default\nDefault=1\n")
    (profile / "user.js").write_text(
        'user_pref("datareporting.policy.dataSubmissionEnabled", false);\nuser_pref("app.update.enabled", false);\n'
        'user_pref("browser.shell.checkDefaultBrowser", false);\nuser_pref("network.captive-portal-service.enabled", false);\n'
        'user_pref("network.connectivity-service.enabled", false);\nuser_pref("services.settings.server", "http://127.0.0.1:9/");\n'
        'user_pref("security.OCSP.enabled", 0);\nuser_pref("security.ssl.errorReporting.enabled", false);\n')
    return profile


def static_git_repository(directory: Path) -> Path:
    """A bare repository that any file server can offer."""
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(directory)}
    work, bare = directory / "work", directory / "repo.git"
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    for argv in (["init", "-q", "-b", "main", work], ["-C", work, *identity, "commit", "-q", "--allow-empty", "-m", "first"],
                 ["clone", "-q", "--bare", work, bare], ["-C", bare, "update-server-info"]):
        subprocess.run(["git", *map(str, argv)], check=True, env=environment, capture_output=True, timeout=60)
    return bare
