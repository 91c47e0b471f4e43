"""Around the rules of check: marks that allow findings, SARIF, the report, --watch, the manual."""
from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import pytest
from helpers.check_fixtures import QUICK, made, specimen
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk.base import ui
from puffer_sdk.base.errors import BuildError
from puffer_sdk.checking.check import CheckResult, check
from puffer_sdk.checking.core import registry, suppressions
from puffer_sdk.checking.core.finding import Finding
from puffer_sdk.checking.report import sarif, terminal, watching
from puffer_sdk.cli import main
from puffer_sdk.env import watch

# -- allowing ------------------------------------------------------------------------

@pytest.mark.parametrize("text, is_declared", [
    ("float top;   // puffer: constant", True), ("// puffer: constant\nfloat top;", True),
    ("float top;   // puffer: constant [0, 1] the upper edge", True),
    ("float top;   // [0, 1]   // puffer: constant", True),
    ("float top;   // puffer: wraps", False), ("float top;   // constant", False),
    ("\n\nfloat top;   // puffer: constant", False)])
def test_what_is_declared_is_counted(text, is_declared):
    """Beside the element, wherever the finding points."""
    lines = text.count("\n") + 1 if text[0] != "\n" else 1
    one = Finding("PUF305", "m", "dock.h", 40, word="constant", beside=(("dock.h", lines),))
    kept, allowed, declared, notes = suppressions.apply([one], {"dock.h": text}, None, KNOWN, ())
    assert (not kept, bool(declared), allowed) == (is_declared, is_declared, [])
    assert bool(notes) == ("puffer" in text and not is_declared)
    noted = suppressions.apply([], {"dock.h": text}, None, KNOWN, ("PUF305", "PUF307")).notes
    assert noted == []          # what could not be tested may be meant
    result = made(kept, declared=declared)
    shown = "\n".join(line for line, _ in terminal.lines(result))
    assert result.to_dict()["declared"]["count"] == int(is_declared)
    assert (", 1 declared, nothing found" in shown) == is_declared
    assert len(sarif.log(result)["runs"][0]["results"]) == 1


KNOWN = {code: rule.name for code, rule in registry.load().items()}


def allow(text: str, *findings: Finding, ini=None, untested=(), name="dock.h"):
    kept, allowed, _, notes = suppressions.apply(findings, {name: text}, ini, KNOWN, untested)
    return [f.code for f in kept], [(a.finding.code, a.reason) for a in allowed], \
        [f"{n.where} {n.text}" for n in notes]


def test_a_mark_speaks_of_its_line_or_of_the_code_below():
    beside = "int x;\nf(x);   // puffer: allow(PUF303) why not\n"
    assert allow(beside, Finding("PUF303", "m", "dock.h", 2)) == ([], [("PUF303", "why not")], [])
    kept, allowed, notes = allow(beside, Finding("PUF303", "m", "dock.h", 1))
    assert kept == ["PUF303"] and not allowed and "allows nothing" in notes[0]
    above = ("// puffer: allow(PUF303) reason\n// more words\n\n/* and a block\n * of them */\n"
             "static void\nc_step(\n    Dock* env)\n{\n    step();\n}\n")
    for line, is_allowed in ((6, True), (7, True), (9, True), (10, False)):
        assert bool(allow(above, Finding("PUF303", "m", "dock.h", line))[1]) == is_allowed
    assert allow(above, Finding("PUF303", "m", "other.h", 7))[0] == ["PUF303"]
    block = "/* puffer: allow(PUF303): in a block */\nvoid c_step(Dock* env) {\n"
    assert allow(block, Finding("PUF303", "m", "dock.h", 2))[1] == [("PUF303", "in a block")]


def test_several_codes_and_faulty_marks():
    text = "// puffer: allow(PUF303, puf304 PUF105) noise\nvoid c_step(Dock* env) {\n"
    found = [Finding(code, "m", "dock.h", 2) for code in ("PUF303", "PUF304", "PUF311")]
    kept, allowed, notes = allow(text, *found)
    assert kept == ["PUF311"] and len(allowed) == 2
    assert notes == ["dock.h:1 allow(PUF105) allows nothing: no such finding here"]
    assert allow(text, *found, untested=["PUF105"])[2] == []

    def noted(mark):
        return allow(f"x;  // puffer: {mark}\n", Finding("PUF303", "m", "dock.h", 1))[2]
    assert "gives no reason" in noted("allow(PUF303)")[0]
    assert "did you mean PUF303?" in noted("allow(obs-not-finite) word")[0]
    assert "there is no rule PUF30" in noted("allow(PUF30) word")[0]
    assert "did you mean" in noted("allow(PUF30) word")[0]
    assert "is not understood" in noted("ignore PUF303")[0]
    assert "names no code" in noted("allow() word")[0]
    assert not allow('char* s = "puffer";\n')[2]


def test_the_ini_allows_findings_without_a_line():
    nowhere = Finding("PUF502", "m")
    key = ("dock.ini", 7, "PUF502, PUF303 told apart by hand; PUF311 cleared elsewhere")
    known = {**KNOWN, "PUF502": "seed-ignored"}
    kept, allowed, _, notes = suppressions.apply(
        [nowhere, Finding("PUF303", "m", "dock.h", 3)], {}, key, known, [])
    assert kept == [] and [a.reason for a in allowed] == ["told apart by hand"] * 2
    assert allowed[0].where == "dock.ini:7" and not allowed[0].in_source
    assert [n.text for n in notes] == ["allow(PUF311) allows nothing: no such finding here"]
    assert "begins with no code" in allow("", ini=("dock.ini", 7, "because PUF303"))[2][0]
    bare = allow("", Finding("PUF303", "m"), ini=("dock.ini", 7, "PUF303"))
    assert bare[1] == [("PUF303", "")] and "gives no reason" in bare[2][0]


def test_marks_in_an_ini_stand_above_a_key():
    text = "[env]\n# puffer: allow(PUF105) read by the demo\nspeed = 3\n"
    found = Finding("PUF105", "m", "dock.ini", 3)
    assert allow(text, found, name="dock.ini")[1] == [("PUF105", "read by the demo")]
    assert allow("// puffer: allow(PUF105) x\nspeed = 3\n", found, name="dock.ini")[0] == ["PUF105"]


def test_allowed_findings_are_told_and_decide_nothing(tmp_path):
    pong = specimen("puf304_pong", tmp_path / "pong")
    header = pong / "pong.h"
    header.write_text(header.read_text().replace(
        "void c_step(", "// puffer: allow(PUF304, PUF999)\nvoid c_step("))
    result = check(pong, strict=True, budget=0.01)
    assert result.verdict == "pass" and result.findings == []
    told = result.to_dict()["coverage"]
    assert told["suppressed"][0]["code"] == "PUF304" and told["suppressed"][0]["reason"] == ""
    assert [note["line"] for note in told["notes"]] == [result.suppressed[0].finding.line - 1] * 2
    settings = {"check.allow": "PUF304 pixels; PUF105 none"}
    result = check(specimen("puf304_pong", tmp_path / "pong2"), settings=settings, budget=0.01)
    assert result.suppressed[0].reason == "pixels"
    assert result.notes[0].where == "command line"


# -- SARIF ---------------------------------------------------------------------------


def walk(node):
    yield node
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from walk(child)


def assert_is_sarif(log: dict) -> None:
    """What the 2.1.0 schema and GitHub's ingestion demand of the parts that we write."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    assert set(log) == {"$schema", "version", "runs"}
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] and len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"]
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"] and rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning")
    prints = []
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning") and result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        uri = place["artifactLocation"]["uri"]
        assert not uri.startswith(("/", "..", "file:")) and " " not in uri
        assert place["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
        prints += result["partialFingerprints"].values()
        for suppression in result.get("suppressions", ()):
            assert suppression["kind"] in ("inSource", "external")
    assert len(set(prints)) == len(prints) and all(isinstance(p, str) for p in prints)
    assert not any(node is None for node in walk(log))
    json.dumps(log, allow_nan=False)


def dock_result(text: str, line: int) -> CheckResult:
    found = [Finding("PUF203", "c_step wrote past the end", "dock.h", line, env=1, agent=0, step=7,
                     element=3, expected="3 floats", actual="4", seed=42, repro="build/repro.c",
                     hint="drop the write", stack=["c_step (dock.h:3)"]),
             Finding("PUF502", "different seeds give the same run") if "PUF502" in KNOWN else
             Finding("PUF501", "the same seed gives two runs"),
             Finding("PUF203", "c_step wrote past the end", "dock.h", line)]
    allowed = [suppressions.Allowed(Finding("PUF304", "m", "dock.h", line, name="obs-scale",
                                        severity="warning"), "pixels", "dock.h:1", True),
               suppressions.Allowed(Finding("PUF105", "m", "dock.ini", 2, name="config-key-unused",
                                        severity="warning"), "", "dock.ini:1", False)]
    return made(found, files={"dock.h": text.encode()}, suppressed=allowed,
                not_tested={"PUF401": "no episode ended"},
                notes=[suppressions.Note("dock.h", 1, "allows nothing"),
                       suppressions.Note("command line", 0, "no reason")])


def test_sarif_has_the_form_that_code_scanning_takes():
    text = "a\nb\n    env->observations[3] = x;\n"
    log = sarif.log(dock_result(text, 3))
    assert_is_sarif(log)
    results = log["runs"][0]["results"]
    assert results[0]["properties"]["step"] == 7 and results[0]["properties"]["seed"] == 42
    assert results[0]["message"]["text"] == ("C_step wrote past the end. Expected 3 floats, got 4. "
                                             "Drop the write.")
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("dock/dock.h")
    assert place["region"] == {"startLine": 3}
    assert [r.get("suppressions") for r in results[3:]] == [
        [{"kind": "inSource", "status": "accepted", "justification": "pixels"}],
        [{"kind": "external", "status": "accepted"}]]
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["toolExecutionNotifications"][0]["associatedRule"]["id"] == "PUF401"


def test_fingerprints_survive_edits_elsewhere():
    def prints(text, line):
        return [r["partialFingerprints"] for r in sarif.log(dock_result(text, line))["runs"][0]
                ["results"]]
    before = prints("a\nb\n    env->observations[3] = x;\n", 3)
    assert prints("new\na\nb\n  env->observations[3]  = x;\n", 4) == before
    assert prints("a\nb\n    env->observations[4] = x;\n", 3)[0] != before[0]


def test_sarif_of_a_check(tmp_path, capsys):
    (tmp_path / ".git").mkdir()
    (tmp_path / "my games").mkdir()
    orchard = specimen("puf301_orchard", tmp_path / "my games" / "orchard")
    output = tmp_path / "check.sarif"
    status = main(["check", str(orchard), *QUICK, "--format", "sarif", "-o", str(output)])
    assert status == 1
    said = capsys.readouterr()
    assert said.out == "" and "orchard: fail, 1 error" in said.err
    log = json.loads(output.read_text())
    assert_is_sarif(log)
    (found,) = log["runs"][0]["results"]
    assert found["ruleId"] == "PUF301"
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == \
        "my%20games/orchard/orchard.h"
    assert str(tmp_path) not in output.read_text()
    output.unlink()
    output.mkdir()
    assert main(["check", str(orchard), *QUICK, "-o", str(output)]) == 2


# -- the report ----------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 12])
@pytest.mark.parametrize("width", [80, 100])
def test_report_fits_the_terminal(count, width):
    found = [Finding("PUF302", "elements 6-8 of the observation keep what was once set, within an "
                     "episode, and that is a very long sentence for a terminal", "dock.h", n,
                     expected="a value", actual="another", hint="clear it") for n in range(count)]
    result = made(found, not_tested={code: "the environment was not run: it breaks the contract"
                                     for code in KNOWN},
                  notes=[suppressions.Note("dock.h", 3, "words " * 30)] * 2)
    lines = [text for text, _ in terminal.lines(result, width=width)]
    assert max(map(len, lines)) <= width
    assert sum("puffer-sdk explain" in line for line in lines) == (count > 0)
    assert lines[-1].startswith(f"dock: {'fail' if count else 'pass'}, ")
    assert [line[:12].strip() for line in lines if line[:12].strip() in
            ("exercised", "not tested", "note")] == ["exercised", "not tested", "note"]
    long = [text for text, _ in terminal.lines(result)]
    assert max(map(len, long)) > width          # nothing is wrapped into a pipe


# -- watching ------------------------------------------------------------------------


def test_changes_are_told_by_code():
    one, two = Finding("PUF302", "m"), Finding("PUF302", "m")
    new = Finding("PUF201", "m")
    tell = watching.changes
    assert tell(made([one, two]), made([new])) == "fixed PUF302 (2), new PUF201"
    assert tell(made([one]), made([one])) == "the same findings"
    assert tell(made(), made()) == "nothing found, as before"
    allowed = made(suppressed=[suppressions.Allowed(one, "why", "dock.h:3", True)])
    assert tell(made([one]), allowed) == "allowed PUF302"


def test_watch_sees_the_authors_files_alone(tmp_path):
    folder = specimen("puf105_lamp", tmp_path / "lamp")
    before = watch.stamps(folder)
    for name in ("build/lamp.so", ".git/HEAD", "__pycache__/x", "lamp.h~", ".lamp.h.swp"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    assert watch.stamps(folder) == before
    (folder / "resources").mkdir()
    (folder / "resources" / "map.txt").write_text("x")
    assert watch.stamps(folder) != before


def test_watch_goes_on_after_a_header_that_does_not_compile(tmp_path, capsys):
    folder = specimen("puf105_lamp", tmp_path / "lamp")
    header = folder / "lamp.h"
    answers = [made([Finding("PUF302", "m")]), BuildError("the C compiler refuses this"),
               made([Finding("PUF201", "m")])]
    asked = []

    def answer():
        asked.append(time.perf_counter())
        save = threading.Timer(0.2, lambda: header.write_text(header.read_text() + "\n"))
        save.start()
        now = answers[len(asked) - 1]
        if isinstance(now, Exception):
            raise now
        return now
    assert watching.watch(folder, answer, rounds=3) == 1
    said = capsys.readouterr()
    assert "the C compiler refuses this" in said.err
    assert "not checked; waiting" in said.out and "fixed PUF302, new PUF201" in said.out
    assert "\x1b" not in said.out               # no terminal, no escapes


@long_only
def test_watch_ends_with_ctrl_c(tmp_path):
    lamp = specimen("puf105_lamp", tmp_path / "lamp")
    child = subprocess.Popen([sys.executable, "-m", "puffer_sdk", "check", str(lamp), *QUICK,
                              "--watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for line in child.stdout:
            if "waiting for a change" in line:
                break
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130 and "interrupted" in error


def test_explain_fits_a_terminal(capsys):
    """Of every rule; code is as wide as its author wrote it."""
    for code in registry.load():
        assert main(["explain", code]) == 0
        shown = capsys.readouterr().out
        assert all(len(line) < 80 for line in shown.splitlines() if not line.startswith("    "))
        page, _, detectors = " ".join(shown.split()).partition(" Faults found in games ")
        assert page.endswith(" ".join(registry.load()[code].page.split()))
        assert all(each.name in detectors or not registry.load()[code].is_family
                   for each in registry.load()[code].detectors)


# -- documentation -------------------------------------------------------------------


@long_only
def test_the_manual_shows_what_is_printed(tmp_path, capsys, monkeypatch):
    from helpers import docs_places
    from helpers.sessions import blocks, session, shape
    docs_places.faulty(tmp_path)
    monkeypatch.chdir(tmp_path)
    for text in blocks(ROOT / "docs" / "guides" / "check.md", "console"):
        ((line, shown),) = session(text)
        main([*line.split()[1:], *QUICK])
        printed = [shape(line) for line in capsys.readouterr().out.splitlines()]
        for line in shown:
            assert line == "..." or shape(line) in printed, f"{line!r} not in {printed}"


def test_nothing_of_the_terminal_reaches_a_pipe(capsys):
    ui.clear()
    assert ui.width() == 0 and capsys.readouterr().out == ""
