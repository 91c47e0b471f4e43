"""raylib's source: from PUFFER_RAYLIB, the cache or a server, and never half or altered."""
import hashlib
import io
import subprocess
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from helpers.places import ROOT

from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.raylib import fetch
from puffer_sdk.raylib.fetch import Archive, find_source

HEADER = '#define RAYLIB_VERSION_MAJOR 6\n#define RAYLIB_VERSION  "6.0"\n'


def make_archive(path, *, top="raylib-6.0", header=HEADER, without=(), extra=()):
    """A small tar.gz that has what raylib's has, and whatever `extra` brings."""
    with tarfile.open(path, "w:gz") as archive:
        members = [(f"{top}/src/{name}", header if name == "raylib.h" else f"// {name}\n")
                   for name in fetch.NEEDED if name not in without]
        members += [(f"{top}/examples/core.c", "int main;"), (f"{top}/src/external/glfw/a.c", "")]
        for name, text in members:
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
        for info in extra:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return path


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """An empty cache, no apt, no official place, and nothing of the machine's own settings."""
    for name in ("PUFFER_RAYLIB", "PUFFER_OFFLINE", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "APT", tmp_path / "apt")
    monkeypatch.setattr(fetch, "OFFICIAL", Archive("nowhere", "file:///no/such", "0" * 64))


@pytest.fixture
def server(tmp_path):
    """Serves tmp_path; /cut/NAME ends half-way, /slow/NAME never begins. .asked: the paths."""
    held = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            file = tmp_path / Path(self.path).name
            if self.path.startswith("/slow/"):
                held.wait(20)
                return
            if not file.is_file():
                self.send_error(404)
                return
            data = file.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[:len(data) // 2] if self.path.startswith("/cut/") else data)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.asked = True, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    held.set()
    server.shutdown()
    server.server_close()


def official(monkeypatch, url, digest):
    monkeypatch.setattr(fetch, "OFFICIAL", Archive("the official release", url, digest))


def leftovers():
    """What the cache holds beside the source and the note of a fruitless fetch."""
    home = fetch._home()
    return sorted(item.name for item in home.iterdir()
                  if item.name not in ("source-6.0", fetch.REFUSED))


# ---- fetching --------------------------------------------------------------------------------

def test_a_fetched_source_is_kept_and_found_again(tmp_path, server, monkeypatch):
    archive = make_archive(tmp_path / "raylib.tar.gz")
    official(monkeypatch, f"{server.url}/raylib.tar.gz", sha256(archive))
    seen = []
    source = find_source(on_progress=lambda *step: seen.append(step))
    assert fetch.is_source(source) and fetch.version_of(source) == "6.0"
    size = archive.stat().st_size
    assert seen[-1] == ("fetch", size, size)
    server.shutdown()
    assert find_source() == source == find_source(fetch=False)
    assert server.asked == ["/raylib.tar.gz"]
    assert leftovers() == []
    assert not (source / "external" / "glfw").exists()          # as in Debian's archive
    assert not list(source.parent.rglob("core.c"))              # src/ alone


def test_members_that_would_land_elsewhere_are_left_out(tmp_path, server, monkeypatch):
    link = tarfile.TarInfo("raylib-6.0/src/rlgl_link.h")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    hard = tarfile.TarInfo("raylib-6.0/src/hard.h")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../../out.h"
    bad = [link, hard]
    for name in ("raylib-6.0/src/../../../../evil.h", "/src/evil.h", "../src/evil.h"):
        info = tarfile.TarInfo(name)
        info.size = 4
        bad.append(info)
    archive = make_archive(tmp_path / "raylib.tar.gz", extra=bad)
    official(monkeypatch, f"{server.url}/raylib.tar.gz", sha256(archive))
    source = find_source()
    assert sorted(str(item.relative_to(source)) for item in source.rglob("*") if item.is_file()) \
        == sorted(fetch.NEEDED)
    assert not list(tmp_path.rglob("evil.h"))


def test_altered_bytes_are_thrown_away_and_the_mirror_is_asked(tmp_path, server, monkeypatch):
    good = make_archive(tmp_path / fetch.MIRRORED, top="raylib-6.0+ds")
    make_archive(tmp_path / "other.tar.gz", header=HEADER + "// altered\n")
    official(monkeypatch, f"{server.url}/other.tar.gz", sha256(good))
    monkeypatch.setattr(fetch, "MIRRORED_SHA256", sha256(good))
    (tmp_path / "apt").mkdir()
    (tmp_path / "apt" / "sources.list").write_text(f"deb {server.url}/debian sid main\n")
    source = find_source()
    assert server.asked == ["/other.tar.gz",
                            f"/debian/pool/main/r/raylib/{fetch.MIRRORED}"]
    assert "altered" not in (source / "raylib.h").read_text()
    assert leftovers() == []


def test_when_nothing_is_reached_each_place_is_named_with_its_reason(tmp_path, server,
                                                                     monkeypatch):
    archive = make_archive(tmp_path / "raylib.tar.gz")
    monkeypatch.setattr(fetch, "TIMEOUT", 0.3)
    closed = "http://127.0.0.1:1/raylib.tar.gz"
    places = [("gone", f"{server.url}/no.tar.gz", "404"),
              ("cut", f"{server.url}/cut/raylib.tar.gz", "ended after"),
              ("slow", f"{server.url}/slow/raylib.tar.gz", "nothing came"),
              ("closed", closed, "refused"),
              ("altered", f"{server.url}/raylib.tar.gz", sha256(archive))]
    monkeypatch.setattr(fetch, "archives",
                        lambda: [Archive(name, url, "0" * 64) for name, url, _ in places])
    with pytest.raises(BuildError, match="could not be fetched") as caught:
        find_source()
    lines = caught.value.detail.splitlines()
    for number, (name, url, reason) in enumerate(places):
        assert lines[2 * number] == f"{name}: {url}"
        assert reason in lines[2 * number + 1].lower(), lines[2 * number + 1]
    assert "PUFFER_RAYLIB" in caught.value.hint and "PUFFER_OFFLINE" in caught.value.hint
    assert leftovers() == []
    assert fetch.was_refused()
    monkeypatch.setattr(fetch, "archives", lambda: [
        Archive("good", f"{server.url}/raylib.tar.gz", sha256(archive))])
    assert fetch.is_source(find_source())                # a user who asks is not put off
    assert not fetch.was_refused()


def test_offline_asks_nobody(tmp_path, server, monkeypatch):
    archive = make_archive(tmp_path / "raylib.tar.gz")
    official(monkeypatch, f"{server.url}/raylib.tar.gz", sha256(archive))
    monkeypatch.setenv("PUFFER_OFFLINE", "1")
    with pytest.raises(BuildError, match="PUFFER_OFFLINE is set"):
        find_source()
    monkeypatch.setenv("PUFFER_OFFLINE", "0")
    with pytest.raises(BuildError, match="not asked for"):
        find_source(fetch=False)
    assert server.asked == []
    assert not (tmp_path / "cache").exists()


def test_a_proxy_of_the_environment_is_asked(tmp_path, server, monkeypatch):
    archive = make_archive(tmp_path / "raylib.tar.gz")
    official(monkeypatch, "http://raylib.invalid/raylib.tar.gz", sha256(archive))
    monkeypatch.setenv("http_proxy", server.url)
    assert fetch.is_source(find_source())
    assert server.asked == ["http://raylib.invalid/raylib.tar.gz"]


def test_an_interrupted_fetch_leaves_nothing(tmp_path, server, monkeypatch):
    archive = make_archive(tmp_path / "raylib.tar.gz")
    official(monkeypatch, f"{server.url}/raylib.tar.gz", sha256(archive))

    def stop(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_source(on_progress=stop)
    assert list(fetch._home().iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(fetch, "is_source", lambda folder: stop("", 0, 0))     # unpacked
        with pytest.raises(KeyboardInterrupt):
            find_source()
    assert list(fetch._home().iterdir()) == []
    assert fetch.is_source(find_source())


def test_a_damaged_cache_is_fetched_anew(tmp_path, server, monkeypatch):
    archive = make_archive(tmp_path / "raylib.tar.gz")
    official(monkeypatch, f"{server.url}/raylib.tar.gz", sha256(archive))
    source = find_source()
    (source / "rcore.c").write_text("// half")
    assert find_source() == source
    assert (source / "rcore.c").read_text() == "// rcore.c\n"
    assert len(server.asked) == 2


FETCH = """
import sys
from puffer_sdk.raylib import fetch
fetch.OFFICIAL = fetch.Archive("official", *sys.argv[1:])
print(fetch.find_source())
"""


def test_processes_that_race_get_one_whole_source(tmp_path, server):
    archive = make_archive(tmp_path / "raylib.tar.gz")
    command = [sys.executable, "-c", FETCH, f"{server.url}/raylib.tar.gz", sha256(archive)]
    racing = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
              for _ in range(3)]
    found = {child.communicate(timeout=60)[0].strip() for child in racing}
    assert [child.returncode for child in racing] == [0, 0, 0]
    assert found == {str(fetch.cached_source())}
    assert leftovers() == []


# ---- the machine's mirror --------------------------------------------------------------------

DEB822 = """\
# the distribution's own
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: sid
Components: main
"""


@pytest.mark.parametrize(("name", "text", "expected"), [
    ("sources.list.d/debian.sources", DEB822, "http://mirror.example/debian/pool/main"),
    ("sources.list", "# deb http://no.example/ sid main\n"
     "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ bookworm main contrib # x\n"
     "deb http://mirror.example/debian-security bookworm-security main\n",
     "https://mirror.example/debian/pool/main"),
    ("sources.list.d/ubuntu.sources", "Types: deb\nURIs: http://mirror.example/ubuntu/\n"
     "Suites: noble\nComponents: main restricted universe\n",
     "http://mirror.example/ubuntu/pool/universe"),
])
def test_the_mirror_is_read_from_apts_lists(tmp_path, name, text, expected):
    file = tmp_path / "apt" / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (tmp_path / "apt" / "sources.list.d").mkdir(exist_ok=True)
    (tmp_path / "apt" / "sources.list.d" / "vendor.list").write_text(
        "deb https://vendor.example stable stable\ndeb mirror+file:/x sid main\n")
    first, *mirrors = fetch.archives()
    assert first == fetch.OFFICIAL
    assert [item.url for item in mirrors] == [f"{expected}/r/raylib/{fetch.MIRRORED}"]


# ---- PUFFER_RAYLIB ---------------------------------------------------------------------------

@pytest.fixture
def unpacked(tmp_path):
    archive = make_archive(tmp_path / "given.tar.gz")
    with tarfile.open(archive) as opened:
        for member in opened:                                   # ours: nothing to filter
            opened.extract(member, tmp_path)
    return tmp_path / "raylib-6.0"


def test_a_given_folder_or_archive_comes_first(tmp_path, unpacked, monkeypatch):
    monkeypatch.setenv("PUFFER_OFFLINE", "1")
    for given in (unpacked, unpacked / "src"):
        monkeypatch.setenv("PUFFER_RAYLIB", str(given))
        assert find_source() == unpacked / "src"
    monkeypatch.setenv("PUFFER_RAYLIB", str(tmp_path / "given.tar.gz"))
    source = find_source()
    assert fetch.is_source(source) and tmp_path / "cache" in source.parents
    stamp = source.stat().st_mtime_ns
    assert find_source() == source and source.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("case", ["absent", "empty", "old", "part", "text", "other"])
def test_a_given_thing_that_is_not_raylib_is_refused(tmp_path, unpacked, monkeypatch, case):
    given, actual = unpacked, "nothing of that name"
    if case == "absent":
        given = tmp_path / "nowhere"
    elif case == "empty":
        given, actual = tmp_path / "empty", "a folder without raylib.h"
        given.mkdir()
    elif case == "old":
        actual = "raylib 5.5"
        (unpacked / "src" / "raylib.h").write_text('#define RAYLIB_VERSION "5.5"\n')
    elif case == "part":
        actual = "a folder without rcore.c"
        (unpacked / "src" / "rcore.c").unlink()
    elif case == "text":
        given, actual = tmp_path / "notes.txt", "something else"
        given.write_text("not an archive")
    else:
        given = make_archive(tmp_path / "other.tar.gz", without=("rcore.c", "rlgl.h"))
        actual = "a folder without rlgl.h, rcore.c"
    monkeypatch.setenv("PUFFER_RAYLIB", str(given))
    with pytest.raises(UsageError) as caught:
        find_source()
    assert caught.value.actual == actual or caught.value.actual.startswith(actual + ",")
    assert caught.value.expected == "raylib 6.0: its folder, the src in it, or a .tar.gz of it"
    if (tmp_path / "cache").exists():
        assert list(fetch._home().iterdir()) == []
