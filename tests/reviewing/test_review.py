"""`puffer-sdk review`: hostile environments meet the sandbox, hostile patches the reader.

Where a mechanism cannot work (a container may forbid namespaces), the test holds what the command
says then: that it refuses, and why.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.sessions import shape
from helpers.shared import another_home
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base.errors import UsageError
from puffer_sdk.projects import scaffold
from puffer_sdk.reviewing import resource_meter, reviewed_copy, sandbox, text
from puffer_sdk.reviewing import review as reviewing
from puffer_sdk.reviewing.resource_meter import Ended, Limits

MECHANISMS = ("bwrap", "unshare")
SECRET = "the-key-to-everything"
SMALL = Limits(memory=300 << 20, disk=32 << 20, seconds=20, files=3000, processes=40)


@pytest.fixture(scope="session")
def boxes() -> dict[str, sandbox.Sandbox | str]:
    """Each mechanism: a sandbox, or the refusal."""
    found: dict[str, sandbox.Sandbox | str] = {}
    for name in MECHANISMS:
        try:
            found[name] = sandbox.find(name)
        except UsageError as error:
            found[name] = str(error)
    return found


@pytest.fixture(params=MECHANISMS)
def run(request, boxes, tmp_path):
    """A function that runs Python code in a sandbox; None, once its refusal was seen."""
    box = boxes[request.param]
    if isinstance(box, str):
        assert "no sandbox is available" in box and f"{request.param} " in box
        assert "--no-sandbox" in box

    def run_code(code: str, limits: Limits = SMALL, **inputs: Path) -> Ended | None:
        if isinstance(box, str):
            return None
        scratch = tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}"
        scratch.mkdir()
        return box.run([sys.executable, "-c", code], scratch=scratch, limits=limits,
                       inputs={f"/{name}": path for name, path in inputs.items()})

    return run_code


def cli(*words, cwd: Path, status: int | None = None, stdin: bytes = b"", **env) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-m", "puffer_sdk", "review", "--budget", "0.1",
                           *map(str, words)],
                          cwd=cwd, capture_output=True, input=stdin, timeout=300,
                          env={**os.environ, "NO_COLOR": "1",
                               "PYTHONPATH": str(ROOT), **env})
    out, err = done.stdout.decode(), done.stderr.decode()
    if status is not None:
        assert done.returncode == status, f"{done.returncode}\n{out}\n{err}"
    return out, err


# -- the box ------------------------------------------------------------------------


def test_a_program_inside_sees_nothing_of_this_machine(run, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", SECRET)
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    code = f"""
import os, json, pathlib, resource, socket
def tries(call):
    try: return repr(call())
    except Exception as error: return type(error).__name__
print(json.dumps({{
    "key": tries(lambda: pathlib.Path({str(home)!r}, ".ssh", "id_ed25519").read_text()),
    "shadow": tries(lambda: open("/etc/shadow").read()),
    "passwd": tries(lambda: open("/etc/passwd").read()),
    "home": tries(lambda: os.listdir(os.path.expanduser("~"))),
    "env": sorted(os.environ), "values": list(os.environ.values()),
    "pids": [name for name in os.listdir("/proc") if name.isdigit()],
    "parent": tries(lambda: open("/proc/{os.getpid()}/environ").read()),
    "net": tries(lambda: socket.create_connection(("1.1.1.1", 53), 5)),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "usr": tries(lambda: open("/usr/x", "w")), "root": tries(lambda: open("/x", "w")),
    "package": tries(lambda: open({str(Path(reviewing.__file__))!r}, "a")),
    "in": tries(lambda: open("/in/x", "w")), "tmp": tries(lambda: open("/tmp/x", "w").write("x")),
    "caps": [line.split()[1] for line in open("/proc/self/status")
             if line.startswith(("CapEff", "CapBnd", "NoNewPrivs"))],
    "uid": os.getuid(), "most": resource.getrlimit(resource.RLIMIT_NPROC),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
}}))
"""
    place = tmp_path / "in"
    place.mkdir()
    ended = run(code, **{"in": place})
    if ended is None:
        return
    assert ended.status == 0, ended.stderr.decode()
    seen = json.loads(ended.stdout)
    assert SECRET not in ended.stdout.decode()
    assert seen["key"] in ("FileNotFoundError", "PermissionError")
    assert seen["shadow"] == seen["passwd"] == "FileNotFoundError"
    assert seen["home"] == "FileNotFoundError"          # made later, by inside.py, and empty
    assert set(seen["env"]) <= {*sandbox.environment(), "PWD", "OLDPWD", "LC_CTYPE", "SHLVL", "_"}
    assert len(seen["pids"]) <= 3 and seen["parent"] == "FileNotFoundError"
    assert seen["net"] == "OSError" and seen["interfaces"] == ["lo"]
    for place in ("usr", "root", "package", "in"):
        assert seen[place] in ("OSError", "PermissionError"), place     # read-only, or not ours
    assert seen["tmp"] == "1"
    # no powers at all; as root, not even root's number
    effective, bounding, locked = [int(word, 16) for word in seen["caps"]]
    assert effective == 0 and locked == 1
    if os.geteuid() == 0:
        assert bounding == 0 and seen["uid"] >= 20_000
        assert seen["most"] == [4 * SMALL.processes] * 2        # should the meter get no time
    assert seen["core"] == [0, 0]


@pytest.mark.parametrize("name", MECHANISMS)
def test_users_without_powers_get_the_same(boxes, name, tmp_path, monkeypatch):
    """What everybody but root runs: the sandbox brings a user namespace along."""
    program = shutil.which(name)
    assert program, f"{name} is not installed: sh tools/deps.sh"
    monkeypatch.setattr(sandbox, "readable", lambda: [
        Path(path) for path in sandbox.SYSTEM if Path(path).exists()])
    for folder in (tmp_path, *tmp_path.parents):
        if folder.name.startswith(("pytest-", "popen-")):       # the second, of a worker's own
            folder.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o777)
    scratch.chmod(0o777)
    tmp_path.chmod(0o755)
    code = ("cat /proc/self/status; ls /etc /home /root; echo x > /tmp/x && cat /tmp/x; "
            "echo x > /x; echo x > /usr/x; unshare -Ur true && echo nested; cat /etc/shadow")
    build = sandbox._bwrap if name == "bwrap" else sandbox._unshare
    words = build(program, ["/bin/sh", "-c", code], {}, scratch, SMALL, None)
    if os.geteuid() == 0:
        words = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", *words]
    ended = resource_meter.run(words, env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}, limits=SMALL)
    said, complaints = ended.stdout.decode(), ended.stderr.decode()
    if "CapEff" not in said:            # a container that forbids namespaces to users
        assert ended.status != 0 and "ermi" in complaints, complaints
        return
    assert "CapEff:\t0000000000000000" in said and "NoNewPrivs:\t1" in said
    assert "\nx\n" in said and "nested" not in said and "root:" not in said
    assert complaints.count("Read-only file system") == 2
    assert "/etc/shadow: No such file" in complaints


GREEDY = {
    "memory": ("import time\nkept = []\nwhile True: kept.append(bytearray(8 << 20)); "
               "time.sleep(0.005)", "more than 0.293 GB of memory"),
    "memory files": ("import os\n"
                     "while True: os.write(os.memfd_create(str()), bytes(4 << 20))",
                     "more than 0.293 GB of memory"),
    "processes": ("import os, time\nwhile True:\n    try: os.fork()\n    except OSError: pass",
                  "more than 40 processes"),
    "files": ("import time\nfor n in range(10**9):\n    open(f'/tmp/{n}', 'w').close()\n"
              "    if n % 100 == 0: time.sleep(0.01)", "more than 3,000 files"),
    "output": ("import sys\nwhile True: sys.stdout.write('x' * 65536)",
               "printed more than 64 MB"),
}


@pytest.mark.parametrize("kind", some_or_all(GREEDY, 0, 2))
def test_what_takes_too_much_is_ended(run, kind):
    code, said = GREEDY[kind]
    ended = run(code)
    if ended is not None:
        assert ended.cause and said in ended.cause, ended
        assert ended.status != 0


@long_only
def test_what_never_ends_is_ended_with_all_it_started(run):
    code = ("import os, time\n"
            "if os.fork() == 0:\n    os.setsid()\n    os.fork()\n"
            "print('puffer-review-sleeper', flush=True)\n"
            "while True: time.sleep(1)  # puffer-review-sleeper")
    ended = run(code, Limits(seconds=2))
    if ended is not None:
        assert ended.cause == "it ran for more than 2 seconds"
        assert b"puffer-review-sleeper" in ended.stdout
        assert [name for name in os.listdir("/proc") if name.isdigit() and b"review-sleeper"
                in _command_line(name)] == []


def _command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_what_was_compiled_before_can_be_read_inside(run, tmp_path):
    """Folders under /cache, also where root's powers were dropped."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "program").write_text("compiled")
    ended = run("print(open('/cache/0/program').read())", **{"cache/0": tmp_path / "made"})
    if ended is not None:
        assert ended.stdout == b"compiled\n", ended.stderr


def test_a_full_disk_is_a_small_one_in_memory(run):
    code = ("import os\ntry:\n    for n in range(1000):\n"
            "        with open(f'/tmp/big{n}', 'wb') as f: f.write(bytes(1 << 20))\n"
            "except OSError as error: print(error.errno, n << 20)")
    ended = run(code)
    if ended is not None:
        number, size = map(int, ended.stdout.split())
        assert number == 28 and size <= SMALL.disk      # no space left on device


def test_memory_counts_what_is_held_together(tmp_path):
    """Outside a sandbox as well: the meter alone bounds two processes that are small enough."""
    code = ("import os, time\nos.fork()\nheld = b'x' * (40 << 20)\ntime.sleep(30)")
    ended = resource_meter.run([sys.executable, "-c", code], env={"PATH": "/usr/bin:/bin"},
                      limits=Limits(memory=64 << 20, seconds=20))
    assert ended.cause == "it used more than 0.0625 GB of memory"
    alone = resource_meter.run([sys.executable, "-c", "held = b'x' * (40 << 20)\nprint(len(held))"],
                      env={"PATH": "/usr/bin:/bin"}, limits=Limits(memory=64 << 20, seconds=20))
    assert alone.cause is None and alone.status == 0 and alone.stdout.strip() == b"41943040"


# -- refusing -----------------------------------------------------------------------


def test_without_a_sandbox_it_refuses(squared, tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("cc", "gcc", "git"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    _, err = cli(squared, cwd=tmp_path, status=2, PATH=str(tmp_path / "bin"))
    assert "no sandbox is available" in err
    assert "bwrap is not installed" in err and "unshare is not installed" in err
    assert "bubblewrap" in err and "--no-sandbox" in err


def test_a_sandbox_that_does_not_work_is_not_trusted(squared, tmp_path):
    """As in a container that forbids namespaces: bwrap is there, and fails."""
    (tmp_path / "bin").mkdir()
    for name in ("bwrap", "unshare", "setpriv"):
        tool = tmp_path / "bin" / name
        tool.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
        tool.chmod(0o755)
    _, err = cli(squared, cwd=tmp_path, status=2,
                 PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert "bwrap does not work here: No permissions to create new namespace" in err
    assert "unshare does not work here" in err


@long_only
def test_no_sandbox_says_what_it_does(probe, tmp_path):
    folder = probe()
    out, err = cli(folder, "--no-sandbox", "--format", "json", cwd=tmp_path)
    assert "this runs untrusted code as you" in err
    document = json.loads(out)
    assert document["sandbox"] == "none" and document["envs"][0]["check"]["findings"] is not None
    assert not (folder / "build").exists()              # a copy was built
    _, err = cli(folder, "--no-sandbox", "--sandbox", "bwrap", cwd=tmp_path, status=2)
    assert "cannot be combined" in err


# -- environments -------------------------------------------------------------------


def review_env(folder: Path, cwd: Path, boxes, *words, status: int, **env) -> dict | None:
    """The CLI's document; None, where no sandbox works and that has been said."""
    if all(isinstance(box, str) for box in boxes.values()):
        _, err = cli(folder, *words, cwd=cwd, status=2, **env)
        assert "no sandbox is available" in err
        return None
    out, _ = cli(folder, "--format", "json", *words, cwd=cwd, status=status, **env)
    return json.loads(out)


@long_only
def test_a_sound_environment_passes(squared, tmp_path, boxes):
    seen = review_env(squared, tmp_path, boxes, "--build", "--train", "50000", status=0)
    if seen is None:
        return
    (env,) = seen["envs"]
    assert seen["verdict"] == env["verdict"] == env["check"]["verdict"] == "pass"
    assert env["check"]["coverage"]["env_steps"] > 100_000
    assert [(step["name"], step["status"]) for step in env["steps"]] == [
        ("check", 0), ("build", 0), ("train", 0)]
    assert any(line.startswith("trained") for line in env["steps"][2]["lines"])
    assert seen["sandbox"] in MECHANISMS and env["peak_memory"] > 0
    assert list(tmp_path.iterdir()) == []               # nothing is left here


BROKEN = ("env->observations[2 * a] = env->tick;", "env->observations[2 * a + 999999] = 1;")


def test_findings_are_the_checkers(probe, tmp_path, boxes):
    seen = review_env(probe(BROKEN), tmp_path, boxes, status=1)
    if seen is not None:
        (env,) = seen["envs"]
        assert env["verdict"] == "fail" and env["check"]["findings"][0]["severity"] == "error"
        assert env["check"]["findings"][0]["file"] == "probe.h"


def attempt(home: Path) -> str:
    """A constructor that tries all it can, and spoils the rewards if anything succeeds."""
    return f"""
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static float spoilt;
__attribute__((constructor)) static void attack(void) {{
    FILE* file = fopen("/\\033[2J\\nreview: pass", "r");
    file = fopen("{home}/.ssh/id_ed25519", "r");
    if (file) spoilt = NAN;
    if (getenv("HF_TOKEN")) spoilt = NAN;
    if ((file = fopen("{home}/written", "w"))) spoilt = NAN;
    if ((file = fopen("{home.parent}/written", "w"))) spoilt = NAN;
    struct sockaddr_in there;
    memset(&there, 0, sizeof(there));
    there.sin_family = AF_INET;
    there.sin_port = htons(9);
    there.sin_addr.s_addr = inet_addr("192.0.2.1");
    int wire = socket(AF_INET, SOCK_DGRAM, 0);
    if (wire >= 0 && sendto(wire, "x", 1, 0, (struct sockaddr*)&there, sizeof(there)) == 1)
        spoilt = NAN;
}}
"""


def test_a_thief_finds_nothing(probe, tmp_path, boxes):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(SECRET)
    folder = probe(("#include <stdbool.h>", "#include <math.h>\n" + attempt(home)),
                   ("env->rewards[a] += env->actions[a];",
                    "env->rewards[a] += env->actions[a] + spoilt;"))
    seen = review_env(folder, tmp_path, boxes, "--memory", "2G", status=1,
                      **another_home(home), HF_TOKEN=SECRET)
    if seen is not None:
        codes = {finding["code"] for finding in seen["envs"][0]["check"]["findings"]}
        assert SECRET not in json.dumps(seen) and not (home / "written").exists()
        asked = {(one["call"], one["what"]): one["denied"]
                 for one in seen["envs"][0]["check"]["coverage"]["asked"]}
        assert asked["fopen", f"{home}/.ssh/id_ed25519"] == "No such file or directory"
        assert asked["fopen to write", f"{home}/written"] and asked["sendto", "192.0.2.1:9"]
        assert "PUF115" in codes
        assert "PUF310" not in codes and "PUF312" not in codes, codes
        assert not (tmp_path / "written").exists()
    # The same environment without a sandbox has its way: the test can fail
    out, _ = cli(folder, "--no-sandbox", cwd=tmp_path, **another_home(home))
    assert f"asked   fopen {home}/.ssh/id_ed25519: done" in out
    assert "\x1b" not in out and "\nreview: pass:" not in out     # no line that it wrote itself
    assert "asked   fopen /[2J review: pass: No such file" in out
    verdict = out.splitlines()[-1]
    assert "probe acts outside its game (PUF115, " in verdict
    assert "/.ssh/id_ed25519: done" in verdict
    assert (home / "written").exists() or (tmp_path / "written").exists()


HEADERS = {
    "include": '#include "{secret}"',
    "assembly": '__asm__(".globl stolen\\nstolen: .incbin \\"{secret}\\"");',
    "pragma": '_Pragma("GCC dependency \\"{secret}\\"")\n#include "{secret}"',
}


@pytest.mark.parametrize("kind", some_or_all(HEADERS, 0))
def test_the_compiler_reads_no_secrets(probe, tmp_path, boxes, kind):
    secret = tmp_path / "home" / "key.h"
    secret.parent.mkdir()
    secret.write_text(SECRET.replace("-", "_"))
    folder = probe(("#include <stdbool.h>", HEADERS[kind].format(secret=secret)))
    seen = review_env(folder, tmp_path, boxes, status=3, **another_home(secret.parent))
    if seen is not None:
        said = json.dumps(seen)
        assert SECRET.replace("-", "_") not in said and "key.h" in said


HOGS = {
    "forks": ("for (;;) fork();", "more than"),
    "memory": ("for (;;) { char* p = malloc(1 << 22); if (p) memset(p, 1, 1 << 22); }", "memory"),
    "loops": ("for (;;) pause();", "it ran for more than 8 seconds"),
}


@long_only
@pytest.mark.parametrize("kind", some_or_all(HOGS, 1))
def test_a_hog_is_ended_with_status_4(probe, tmp_path, boxes, kind):
    body, said = HOGS[kind]
    folder = probe(("#include <stdbool.h>",
                    "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
                    f"__attribute__((constructor)) static void hog(void) {{ {body} }}"))
    seen = review_env(folder, tmp_path, boxes, "--memory", "1G", "--seconds",
                      8 if kind == "loops" else 60, "--processes", 60, status=4)
    if seen is not None:
        assert said in seen["envs"][0]["cause"]


@long_only
def test_a_macro_that_expands_without_end_is_ended(probe, tmp_path, boxes):
    powers = "\n".join(f"#define X{n + 1} X{n} X{n} X{n} X{n} X{n} X{n} X{n} X{n}"
                       for n in range(12))
    folder = probe(("#include <stdbool.h>", f"#define X0 int x;\n{powers}\nstruct Huge {{ X12 }};"))
    seen = review_env(folder, tmp_path, boxes, "--memory", "300M", "--seconds", "30", status=4)
    if seen is not None:
        assert "GB of memory" in seen["envs"][0]["cause"]


# -- what comes out is not trusted ---------------------------------------------------

STEPS = [{"name": "check", "words": []}]


def outcome(stdout: object, **more) -> reviewing.EnvReview:
    said = stdout if isinstance(stdout, bytes) else json.dumps(stdout).encode()
    return reviewing.read_outcome("env", Path("/tmp"), Ended(0, said, b"", None, 1.0, 1, 1, **more),
                                  STEPS)


def forged(status=0, verdict="pass", lines=(("fine", None),), check=None) -> dict:
    return {"steps": {"check": {"status": status, "seconds": 1, "stderr": "", "stdout": json.dumps(
        {"lines": lines, "verdict": verdict, "check": check})}}, "files": {}}


@pytest.mark.parametrize("said", [
    b"", b"not json", b"[" * 100_000, b"null", b"[]", b"{}", b"\xff\xfe", {"steps": {}},
    {"steps": {"check": {"status": "x", "seconds": 1}}, "files": {}},
    {"steps": {"check": {"status": 0, "seconds": 1, "stdout": "", "stderr": ""}}, "files": {}},
    {"steps": {"check": 3}, "files": {}}, {**forged(), "files": {"a": "%"}},
    forged(status=1, verdict="pass"), forged(status=0, verdict="fail"),
])
def test_an_odd_outcome_fails(said):
    seen = outcome(said)
    assert (seen.exit_status, seen.verdict) == (4, "fail")
    assert "result cannot be read" in seen.cause


def test_what_the_ini_names_is_shown(tmp_path):
    """Other commands run it, outside of a sandbox."""
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "env.ini").write_text(
        "[policy]\ntorch_class = net.py:Net\n[check]\nallow =\ntest = sh\u202e x\n"
        "[train]\nno_such = 1\n")
    said = json.dumps(forged()).encode()
    seen = reviewing.read_outcome("env", tmp_path, Ended(0, said, b"", None, 1.0, 1, 1), STEPS)
    shown = [line for line, _ in text.lines(reviewing.Review([seen], "bwrap", Limits()))]
    assert "named   [policy] torch_class = net.py:Net: train, eval and check import it" in shown
    assert "named   [check] test = sh\N{REPLACEMENT CHARACTER} x: check --mutate runs it" in shown
    assert len(seen.named) == 2 and seen.to_dict()["named"] == seen.named


def test_no_text_from_inside_speaks_to_the_terminal():
    nasty = "\x1b]0;owned\x07\x1b[2J\r\x9b31m \u202e ok"
    asked = [{"call": "fopen", "what": f"/{nasty}\nreview: pass", "denied": nasty}]
    seen = outcome(forged(status=1, verdict="fail", lines=[[nasty, "bold red"], ["x", "[link]"]],
                          check={"coverage": {"asked": asked}}))
    done = reviewing.Review([seen], "bwrap", Limits())
    shown = "\n".join(line for line, _ in text.lines(done))
    assert not any(c in shown for c in "\x1b\x07\r\x9b\u202e") and "owned" in shown
    assert "\nasked   fopen /" in shown and "\nreview: pass" not in shown
    assert [style for _, style in seen.steps[0].lines] == ["bold red", None]


def verdict_of(check: dict) -> tuple[str, str]:
    done = reviewing.Review([outcome(forged(check=check))], "bwrap", Limits())
    return list(text.lines(done))[-1]


def test_the_verdict_says_what_was_asked_for_and_denied():
    asked = [{"call": "connect", "what": "10.0.0.1:80", "denied": "Network is unreachable"},
             {"call": "fopen", "what": "/" + "x" * 300, "denied": ""},
             *[{"call": "system", "what": f"rm {n}", "denied": ""} for n in range(4)]]
    said, style = verdict_of({"findings": [{"code": "PUF115"}] * 2 + [{"code": "PUF302"}],
                              "coverage": {"asked": asked, "more": {"PUF115": 3}}})
    assert said.startswith("review: pass, 1 environment, in a sandbox (bwrap); env acts outside "
                           "its game (PUF115, 5 places) and asked for connect 10.0.0.1:80: "
                           "Network is unreachable, fopen /xxx")
    assert said.endswith(", system rm 0: done, and 3 more") and style == "bold yellow"
    assert len(said) < 400


def test_the_verdict_says_what_nobody_met_and_what_the_author_allows():
    """A constructor that was compiled and waits; a comment in untrusted code hides nothing."""
    says = "env acts outside its game (PUF115, 1 place)"
    for check in ({"findings": [{"code": "PUF115"}]},
                  {"findings": [], "coverage": {"suppressed": [{"code": "PUF115"}]}}):
        assert verdict_of(check)[0].endswith(says)
    assert verdict_of({"findings": [], "coverage": {"asked": []}}) == (
        "review: pass, 1 environment, in a sandbox (bwrap)", "bold green")


def test_the_report_is_framed_so_that_it_runs_nothing(tmp_path):
    """A page made where a stranger's code ran: no script of it runs, it cannot leave its frame."""
    page = b"<title>t</title></iframe><script>document.title = 'owned'</script><p id=x>\"&"
    seen = outcome(forged())
    seen.files = {"report.html": page, "report.md": b"# fine", "../../evil": b"x"}
    written = text.write_reports(reviewing.Review([seen], "bwrap", Limits()), tmp_path / "r")
    assert [path.name for path in written] == ["env.html", "env.md"]
    shown = written[0].read_text()
    assert "<script>" not in shown and shown.count("</iframe>") == 1
    assert "<iframe sandbox title" in shown and "default-src 'none'" in shown


def test_the_framed_report_in_a_browser(tmp_path, browser):
    seen = outcome(forged())
    seen.files = {"r.html": b"<p>curve</p><script>parent.document.title = 'owned'</script>"}
    (path,) = text.write_reports(reviewing.Review([seen], "bwrap", Limits()), tmp_path)
    page = browser.open(path.as_uri())
    try:
        page.wait_for("document.readyState == 'complete'")
        assert page.evaluate("document.title") == "Review of env"
        assert page.evaluate("document.querySelectorAll('iframe').length") == 1
    finally:
        page.close()


# -- folders and patches -------------------------------------------------------------


def copied(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_copied_without_what_links_lead_to(squared, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    env = shutil.copytree(squared, tmp_path / "squared")
    (env / "link.h").symlink_to(tmp_path / "secret")
    (env / "out").symlink_to(tmp_path)
    os.mkfifo(env / "pipe.h")
    copy = reviewed_copy.copy_folder(env, tmp_path / "copy", limit=1 << 20)
    names = copied(copy.folder)
    assert copy.envs == ("squared",) and "squared/squared.h" in names
    assert not any(name.endswith(("link.h", "secret", "pipe.h")) or ".git/" in name
                   for name in names)
    with pytest.raises(UsageError, match="too many files to review"):
        reviewed_copy.copy_folder(env, tmp_path / "other", limit=1000)


def test_upstreams_layout_is_copied_with_its_ini(tmp_path):
    ocean = SPECIMENS / "ocean" / "upstream"
    copy = reviewed_copy.copy_folder(ocean / "ocean" / "gopher", tmp_path / "one", limit=1 << 20)
    assert copy.envs == ("ocean/gopher",)
    assert copied(copy.folder) >= {"config/gopher.ini", "ocean/gopher/binding.c"}
    several = reviewed_copy.copy_folder(ocean, tmp_path / "all", limit=1 << 20)
    assert several.envs == ("ocean/gopher",)
    with pytest.raises(UsageError, match="this folder contains no environment"):
        reviewed_copy.copy_folder(ocean / "config", tmp_path / "none", limit=1 << 20)


@pytest.fixture
def checkout(squared, tmp_path) -> Path:
    """A repository with one environment, and a secret that it does not track."""
    root = tmp_path / "repo"
    shutil.copytree(squared, root / "squared", ignore=shutil.ignore_patterns("build", ".git"))
    (root / "README.md").write_text("games\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    (root / ".env").write_text(SECRET)
    return root


def git(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t",
                           *words], check=True, capture_output=True).stdout


def patch_of(root: Path, change) -> bytes:
    """What format-patch makes of a change, which is then taken back."""
    change(root)
    git(root, "add", "-A", "--", ".", ":!.env")
    git(root, "commit", "-qm", "change")
    made = git(root, "format-patch", "-1", "--stdout")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    return made


def add_env(root: Path) -> None:
    shutil.copytree(root / "squared", root / "games" / "twin")
    for file in sorted((root / "games" / "twin").glob("squared.*")):
        file.rename(file.with_stem("twin"))
    (root / "README.md").write_text("more games\n")


@long_only
def test_the_pages_lines_run_and_print_what_they_show(checkout, boxes, tmp_path):
    """The patch's lines in a checkout, where `puffer-sdk` is this one."""
    page = (ROOT / "docs" / "share" / "review.md").read_text()
    (shown,) = re.findall(r"^```console\n\$ puffer-sdk review their_env\n(.*?)^```", page,
                          re.M | re.S)
    (lines,) = re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)
    if isinstance(boxes["bwrap"], str):
        return                          # what is said then, another test holds
    scaffold.new("their_env", output_dir=tmp_path)
    out, _ = cli("their_env", cwd=tmp_path, status=0)
    printed = [shape(line) for line in out.splitlines()]
    assert all(shape(line) in printed for line in shown.splitlines() if line != "...")
    git(checkout, "switch", "-qc", "new_env")
    header = checkout / "squared" / "squared.h"
    header.write_text(header.read_text() + "\n// a comment\n")
    git(checkout, "commit", "-qam", "change")
    git(checkout, "switch", "-q", "-")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "puffer-sdk"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m puffer_sdk "$@" --budget 0.1\n')
    script.chmod(0o755)
    done = subprocess.run(["sh", "-ec", lines], cwd=checkout, capture_output=True, text=True, env={
        **os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("review: pass, 1 environment, in a sandbox (bwrap)") == 2


def test_a_patch_is_applied_to_a_copy(checkout, tmp_path):
    patch = patch_of(checkout, add_env)
    (tmp_path / "copy").mkdir()
    copy = reviewed_copy.apply_patch(patch, checkout, tmp_path / "copy", limit=1 << 22)
    assert copy.envs == ("games/twin",) and copy.beside == (
        "README.md", "games/twin/AGENTS.md")
    lines = text.lines(reviewing.Review([], "none", Limits(), copy.changed, copy.beside))
    assert [next(lines)[0] for _ in copy.beside] == [
        "also changes README.md: it belongs to no environment; read it",
        "also changes games/twin/AGENTS.md: assistants do what it says; read it"]
    assert not (checkout / "games").exists() and not (tmp_path / "copy" / ".env").exists()
    assert (tmp_path / "copy" / "README.md").read_text() == "more games\n"


def test_a_patch_from_standard_input(checkout, boxes):
    def edit(root: Path) -> None:
        header = root / "squared" / "squared.h"
        header.write_text(header.read_text() + "\n// a comment\n")

    patch = patch_of(checkout, edit)
    if all(isinstance(box, str) for box in boxes.values()):
        cli("-", cwd=checkout, stdin=patch, status=2)
        return
    out, _ = cli("-", cwd=checkout / "squared", stdin=patch, status=0)
    assert out.splitlines()[-1].startswith("review: pass, 1 environment, in a sandbox (")
    assert "squared: pass, nothing found" in out


NEW = "diff --git a/{name} b/{name}\nnew file mode {mode}\n--- /dev/null\n+++ b/{name}\n" \
      "@@ -0,0 +1 @@\n+{text}\n"
HOSTILE = {
    "upwards": (NEW.format(name="../../evil", mode=100644, text="x"), "leaves the folder"),
    "absolute": ("--- /dev/null\n+++ b//etc/evil\n@@ -0,0 +1 @@\n+x\n", "leaves the folder"),
    "git's own": (NEW.format(name=".GIT/hooks/post-checkout", mode=100755, text="x"),
                  "leaves the folder"),
    "moved from above": ("diff --git a/../x b/y\nsimilarity index 100%\nrename from ../x\n"
                         "rename to y\n", "leaves the folder"),
    "link": (NEW.format(name="squared/link.h", mode=120000, text="/etc/shadow"),
             "contains a symbolic link"),
    "submodule": ("diff --git a/sub b/sub\nnew file mode 160000\nindex 0000000..1234567\n"
                  "--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit "
                  "1234567890123456789012345678901234567890\n", "contains a submodule"),
    "binary": ("diff --git a/squared/a.png b/squared/a.png\nnew file mode 100644\n"
               "index 0000000..1234567\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n",
               "contains a binary file"),
    "binary, unsaid": ("diff --git a/a b/a\nindex 1234567..1234568 100644\n"
                       "Binary files a/a and b/a differ\n", "contains a binary file"),
    "nonsense": ("hello\n", "not a patch that git can read"),
    "elsewhere": ("--- a/squared/squared.h\n+++ b/squared/squared.h\n@@ -1 +1 @@\n-no\n+yes\n",
                  "does not apply to the base"),
    "no env": (NEW.format(name="docs/x.md", mode=100644, text="x"), "changes no environment"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_patches_are_refused(checkout, tmp_path, kind):
    patch, said = HOSTILE[kind]
    before = copied(tmp_path)
    (tmp_path / "copy").mkdir()
    with pytest.raises(UsageError) as caught:
        reviewed_copy.apply_patch(patch.encode(), checkout, tmp_path / "copy", limit=1 << 22)
    assert said in str(caught.value)
    shutil.rmtree(tmp_path / "copy")
    assert copied(tmp_path) == before


def test_a_patch_does_not_write_through_a_link_of_the_base(checkout, tmp_path):
    """The copy holds no links, so nothing of the base leads out of it."""
    (tmp_path / "outside").mkdir()
    (checkout / "way").symlink_to(tmp_path / "outside")
    git(checkout, "add", "way")
    git(checkout, "commit", "-qm", "a link")
    (tmp_path / "copy").mkdir()
    patch = NEW.format(name="way/evil.h", mode=100644, text="x") \
        + NEW.format(name="way/way.h", mode=100644, text="x")
    copy = reviewed_copy.apply_patch(patch.encode(), checkout, tmp_path / "copy", limit=1 << 22)
    assert copy.envs == ("way",) and list((tmp_path / "outside").iterdir()) == []


def test_what_cannot_be_reviewed_is_usage(checkout, tmp_path, boxes):
    if all(isinstance(box, str) for box in boxes.values()):
        return
    for words, said in (((tmp_path / "none",), "nothing to review"),
                        ((checkout / "squared", "--base", checkout), "--base is for patches"),
                        ((checkout / "squared", "--memory", "much"), "is not a size"),
                        ((checkout / "squared", "--memory", "12"), "is not a size")):
        _, err = cli(*words, cwd=tmp_path, status=2)
        assert said in err
    _, err = cli("-", cwd=tmp_path, stdin=HOSTILE["no env"][0].encode(), status=2)
    assert "is not in one" in err
