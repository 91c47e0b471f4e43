"""Workflow files: linted, bounded in what they may do, and their steps run here as written."""
from __future__ import annotations

import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from helpers.places import ROOT
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.projects import scaffold

OWN = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SHA = "1234567890123456789012345678901234567890"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return scaffold.new("walker", output_dir=tmp_path_factory.mktemp("project")).folder


@pytest.fixture(scope="module")
def files(project) -> dict[str, Path]:
    """Ours, and a scaffolded project's, by a name for messages."""
    scaffolded = sorted((project / ".github" / "workflows").glob("*.yml"))
    assert [path.name for path in scaffolded] == ["check.yml", "comment.yml"]
    return {**{path.name: path for path in OWN},
            **{f"walker/{path.name}": path for path in scaffolded}}


@pytest.fixture(scope="module")
def flows(files) -> dict[str, dict]:
    """As GitHub reads them: YAML 1.1 takes the key `on` for True."""
    return {name: yaml.safe_load(path.read_text().replace("\non:", "\n'on':", 1))
            for name, path in files.items()}


def steps_of(flow: dict) -> list[dict]:
    return [step for job in flow["jobs"].values() for step in job.get("steps", [])]


# -- lint ----------------------------------------------------------------------------


def validate(schema: str, *paths: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema",
                           f"vendor.{schema}", *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_they_follow_githubs_schemas(files, tmp_path):
    validate("github-workflows", *files.values())
    validate("dependabot", ROOT / ".github" / "dependabot.yml")
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    validate("github-issue-config", *[path for path in forms if path.stem == "config"])
    validate("github-issue-forms", *[path for path in forms if path.stem != "config"])
    assert {path.stem for path in forms} == {"bug", "does_not_learn", "false_alarm", "config"}
    bad = tmp_path / "bad.yml"
    bad.write_text(files["ci.yml"].read_text().replace("runs-on:", "runs_on:"))
    with pytest.raises(AssertionError, match="runs_on"):
        validate("github-workflows", bad)


def test_their_scripts_are_sound(flows, tmp_path):
    for name, flow in flows.items():
        for number, step in enumerate(steps_of(flow)):
            if "run" not in step:
                continue
            if step.get("shell") == "python":
                compile(step["run"], name, "exec")
                continue
            script = tmp_path / f"{Path(name).stem}-{number}.sh"
            script.write_text(f"#!/bin/bash\nset -eo pipefail\n{step['run']}\n")
            done = subprocess.run(["shellcheck", "--severity=style", script], text=True,
                                  capture_output=True,
                                  env={**os.environ, "PATH": os.pathsep.join(
                                      [str(Path(sys.executable).parent), os.environ["PATH"]])})
            assert done.returncode == 0, f"{name}\n{done.stdout}{done.stderr}"


def test_what_they_may_do(flows):
    for name, flow in flows.items():
        text = yaml.safe_dump(flow)
        assert "permissions" in flow and "pull_request_target" not in text, name
        for job in flow["jobs"].values():
            assert "timeout-minutes" in job or "uses" in job, name
        for step in steps_of(flow):
            used = step.get("uses", "./")
            assert used.startswith("./") or re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", used), used
            if used.startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name
            assert "${{" not in step.get("run", ""), f"{name}: text of others inside a script"


def test_what_writes_runs_no_code_of_a_pull_request(flows):
    """A job with more than `contents: read` checks nothing out, and installs nothing."""
    writing = []
    for name, flow in flows.items():
        for job in flow["jobs"].values():
            rights = job.get("permissions", flow["permissions"]) or {}
            if set(rights.values()) <= {"read"} and "actions" not in rights:
                continue
            writing.append(name)
            words = yaml.safe_dump(job)
            assert "actions/checkout" not in words and "pip" not in words
            if name == "release.yml":       # a tag begins it, which no pull request sets
                assert flow["on"]["push"] == {"tags": ["v[0-9]*"]} and "tag'" in job["if"]
                assert rights in ({"id-token": "write"}, {"contents": "write"})
                continue
            assert list(flow["on"]) == ["workflow_run"] and flow["permissions"] == {}
            assert rights == {"actions": "read", "pull-requests": "write",
                              "security-events": "write"}
    assert sorted(writing) == ["comment.yml", "release.yml", "release.yml", "walker/comment.yml"]


def test_both_copies_say_the_same(files, flows):
    """The reusable check.yml and the scaffold's have the same steps; so have both comment.yml."""
    one, two = (flows[name]["jobs"]["check"]["steps"] for name in ("check.yml", "walker/check.yml"))
    assert [step.get("run") for step in one] == [step.get("run") for step in two]
    assert [step.get("uses") for step in one] == [step.get("uses") for step in two]
    own = files["comment.yml"].read_text()
    assert own.replace("workflows: [ci]", "workflows: [check]") \
        == files["walker/comment.yml"].read_text()
    assert flows["comment.yml"]["on"]["workflow_run"]["workflows"] == [flows["ci.yml"]["name"]]
    assert flows["walker/check.yml"]["name"] == "check"
    listed = flows["ci.yml"]["jobs"]["examples"]["strategy"]["matrix"]["name"]
    assert listed == sorted(path.parent.name for path in ROOT.glob("examples/*/*.ini"))


def test_the_pages_example_calls_what_there_is(flows, tmp_path):
    page = (ROOT / "docs" / "share" / "pull-requests.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "example.yml").write_text(text)
    validate("github-workflows", tmp_path / "example.yml")
    (job,) = yaml.safe_load(text)["jobs"].values()
    inputs = flows["check.yml"]["on"]["workflow_call"]["inputs"]
    assert set(job["with"]) <= set(inputs) and "name" in job["with"]
    assert job["uses"].partition("@")[0].endswith("/.github/workflows/check.yml")


def test_the_contributors_page_names_what_there_is():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert (ROOT / target).exists(), target
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)     # blocks make new files
    for word in re.findall(r"(?:tests|tools)/[\w./]+", prose):
        assert (ROOT / word).exists(), word
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:`|^)make\s([\w-]+)", text, re.M):
        assert f"\n{target}:" in makefile, target


# -- their steps, run here -----------------------------------------------------------


@pytest.fixture(scope="module")
def runner(project, tmp_path_factory):
    """A function that runs a step's script in the folder that holds the checkout.

    python and puffer-sdk are this Python and this package; `pip install` is written down only.
    """
    tools = tmp_path_factory.mktemp("tools")
    python = shlex.quote(sys.executable)
    (tools / "python").write_text(
        f'#!/bin/sh\nif [ "$1 $2" = "-m pip" ]; then echo "$@" >> {tools}/pip.log; exit; fi\n'
        f'exec {python} "$@"\n')
    (tools / "puffer-sdk").write_text(f'#!/bin/sh\nexec {python} -m puffer_sdk "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)

    def run(step: dict, cwd: Path, **variables: str) -> subprocess.CompletedProcess:
        own = {name: value for name, value in step.get("env", {}).items() if "${{" not in value}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=cwd,
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                 "PYTHONPATH": str(ROOT), **own, **variables})

    run.pip_log = tools / "pip.log"
    return run


@long_only
def test_a_scaffolds_steps_run(flows, project, runner):
    job = flows["walker/check.yml"]["jobs"]["check"]
    checkout = next(step for step in job["steps"] if "checkout" in step.get("uses", ""))
    assert checkout["with"]["path"] == job["env"]["FOLDER"] == project.name
    steps = {step["name"]: step for step in job["steps"] if "run" in step}
    assert list(steps) == ["install", "check", "test", "report", "whose results these are"]
    for name in ("install", "check", "test"):
        done = runner(steps[name], project.parent, **job["env"])
        assert done.returncode == 0, f"{name}\n{done.stdout}{done.stderr}"
    assert runner.pip_log.read_text().split() == "-m pip install puffer-sdk pytest".split()
    done = runner(steps["whose results these are"], project.parent, NUMBER="17")
    results = project.parent / "results"
    assert (results / "pr").read_text() == "17\n"
    assert "walker: pass, nothing found" in (results / "check.txt").read_text()
    assert json.loads((results / "check.sarif").read_text())["runs"][0]["results"] == []
    words = shlex.split(steps["report"]["run"])
    assert words == ["puffer-sdk", "report", "$FOLDER", "--output", "results/report.html"]
    upload = job["steps"][-1]
    assert upload["with"]["path"] == "results" and "cancelled" in upload["if"]


@long_only
def test_a_finding_fails_the_job_and_is_in_the_results(flows, tmp_path, runner):
    folder = scaffold.new("faulty", output_dir=tmp_path).folder
    header = folder / "faulty.h"
    header.write_text(header.read_text().replace("env->tick = 0;", ""))
    step = next(step for step in flows["walker/check.yml"]["jobs"]["check"]["steps"]
                if step.get("name") == "check")
    done = runner(step, tmp_path, FOLDER="faulty")
    assert done.returncode == 1, done.stdout
    found = json.loads((tmp_path / "results" / "check.sarif").read_text())["runs"][0]["results"]
    place = found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "faulty.h"              # relative to the checkout, as annotations need it
    assert "faulty: fail" in (tmp_path / "results" / "check.txt").read_text()


def test_ci_runs_what_is_there(flows):
    for step in steps_of(flows["ci.yml"]):
        for word in shlex.split(step.get("run", "")):
            if "/" in word:
                assert (ROOT / word).is_file(), word
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


# -- the comment ---------------------------------------------------------------------


class Api:
    """GitHub's side: one pull request, its comments, and what was asked."""

    def __init__(self, comments=()):
        self.comments, self.asked = list(comments), []
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                api.asked.append((self.command, self.path, body))
                assert self.headers["Authorization"] == "Bearer secret"
                data = json.dumps(api.reply(self.command, self.path)).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reply(self, method: str, path: str):
        if method == "GET" and path == "/repos/o/r/pulls/17":
            return {"head": {"sha": SHA}}
        if method == "GET" and path.startswith("/repos/o/r/issues/17/comments?"):
            page = int(path.rpartition("page=")[2])
            return self.comments[100 * (page - 1):100 * page]
        return {}

    @property
    def written(self) -> list[tuple[str, str, str]]:
        return [(method, path.removeprefix("/repos/o/r"), body["body"])
                for method, path, body in self.asked if method != "GET"]


@pytest.fixture
def comment(flows, tmp_path):
    """A function that runs the comment step on results: (what the API was asked, the process)."""
    step = next(step for step in steps_of(flows["comment.yml"]) if step.get("id") == "comment")

    def run(results: dict[str, str], comments=(), sha: str = SHA):
        home = tmp_path / "results"
        home.mkdir(exist_ok=True)
        for name, text in results.items():
            (home / name).write_text(text)
        api = Api(comments)
        try:
            done = subprocess.run([sys.executable, "-c", step["run"]], cwd=tmp_path, text=True,
                                  capture_output=True, env={
                "PATH": os.environ["PATH"], "TOKEN": "secret", "HEAD_SHA": sha,
                "RUN_URL": "https://example.org/run", "GITHUB_REPOSITORY": "o/r",
                "GITHUB_API_URL": f"http://127.0.0.1:{api.server.server_port}",
                "GITHUB_OUTPUT": str(tmp_path / "output")})
        finally:
            api.server.shutdown()
            api.server.server_close()
        return api.written, done

    return run


MARK = "<!-- puffer-sdk report: walker -->"
BOT = {"login": "github-actions[bot]"}


def test_one_comment_is_made_then_updated_in_place(comment, tmp_path):
    results = {"pr": "17\n", "report.md": f"{MARK}\n\n**walker** passes, thanks @everyone\n"}
    written, done = comment(results)
    assert done.returncode == 0, done.stderr
    ((method, path, body),) = written
    assert (method, path) == ("POST", "/issues/17/comments")
    assert body.startswith(f"{MARK}\n") and "**walker** passes" in body
    assert "@everyone" not in body and "https://example.org/run" in body
    assert (tmp_path / "output").read_text() == "ref=refs/pull/17/head\n"

    others = [{"id": n, "body": "talk", "user": {"login": "someone"}} for n in range(120)]
    forged = {"id": 500, "body": body, "user": {"login": "someone"}}
    ours = {"id": 501, "body": body, "user": BOT}
    written, _ = comment(results, [*others, forged, ours])
    assert [(method, path) for method, path, _ in written] == [("PATCH", "/issues/comments/501")]


@pytest.mark.parametrize("results, sha, said", some_or_all([
    ({"pr": "17/../1"}, SHA, "name no pull request"), ({}, SHA, "name no pull request"),
    ({"pr": "17; rm"}, SHA, "name no pull request"), ({"pr": "17"}, "f" * 40, "newest commit")], 0))
def test_results_that_lie_about_their_origin_write_nothing(comment, results, sha, said):
    written, done = comment(results, sha=sha)
    assert done.returncode == 1 and said in done.stderr and written == []


@long_only
def test_without_a_report_the_verdict_is_told(comment, tmp_path):
    written, done = comment({"pr": "17", "check.txt": "error[PUF203]: ```evil\nwalker: fail\n"})
    assert done.returncode == 0, done.stderr
    body = written[0][2]
    assert body.startswith("<!-- puffer-sdk report -->\n```\n") and "walker: fail" in body
    assert body.count("```") == 2               # nothing breaks out of the block
    (tmp_path / "results" / "report.md").symlink_to("/proc/self/environ")
    written, _ = comment({})
    assert "secret" not in written[0][2]
    (tmp_path / "results" / "report.md").unlink()
    written, _ = comment({"report.md": "<!-- another mark -->\nx"})
    assert written[0][2].startswith("<!-- puffer-sdk report -->\n")
