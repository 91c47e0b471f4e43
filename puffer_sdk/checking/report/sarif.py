"""A CheckResult as a SARIF 2.1.0 log, for code scanning and editors.  CheckResult -> dict

Paths are relative to the project's root (the nearest .git or pyproject.toml above the
environment), so that a log is the same on every machine. What an author allows is included, as a
suppressed result; rules that had nothing to look at, and notes, are notifications of the run.
"""
import hashlib
import os
import re
from collections import Counter

from ... import __version__
from ...base import paths
from ..core import registry
from ..core.finding import Finding
from ..core.result import CheckResult
from ..core.suppressions import Allowed

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
DETAILS = ("detector", "env", "agent", "step", "element", "expected", "actual", "seed", "repro",
           "hint", "stack")


def log(result: CheckResult) -> dict[str, object]:
    """The whole document. Two runs on the same source give the same one."""
    known = registry.load()
    index = {code: number for number, code in enumerate(known)}
    seen: Counter[str] = Counter()
    results = [_result(result, finding, index, seen) for finding in result.findings]
    for allowed in result.suppressed:
        results.append({**_result(result, allowed.finding, index, seen),
                        "suppressions": [_suppression(allowed)]})
    for finding, word, _ in result.declared:
        results.append({**_result(result, finding, index, seen), "suppressions": [
            {"kind": "inSource", "status": "accepted", "justification": f"puffer: {word}"}]})
    run = {
        "tool": {"driver": {"name": "puffer-sdk", "version": __version__,
                            "semanticVersion": __version__,
                            "rules": [_rule(rule) for rule in known.values()]}},
        "automationDetails": {"id": f"puffer-sdk/{result.name}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "the root of the project"}}},
        "invocations": [{"executionSuccessful": True, "exitCode": result.exit_status,
                         "toolExecutionNotifications": _notifications(result, index)}],
        "results": results,
        "properties": {"verdict": result.verdict},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: registry.Rule) -> dict[str, object]:
    meaning = re.split(r"\n\n(?=Why)", rule.page)[0]
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": re.sub(r"\s*\n\s*", " ", meaning)},
        "help": {"text": rule.page, "markdown": _markdown(rule.page)},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["reinforcement-learning", rule.name],
                       "problem.severity": rule.severity,
                       "precision": "very-high" if rule.severity == "error" else "high"},
    }


def _markdown(page: str) -> str:
    """A rule's page with its indented examples fenced."""
    return re.sub(r"(?:^(?: {4}.*)?\n?)+(?<=\n)(?=\S)",
                  lambda m: "\n```\n" + re.sub(r"(?m)^ {4}", "", m[0].strip("\n")) + "\n```\n\n"
                  if m[0].strip() else m[0], page, flags=re.MULTILINE)


def _result(result: CheckResult, finding: Finding, index: dict[str, int], seen: Counter[str]
            ) -> dict[str, object]:
    print_ = _fingerprint(result, finding)
    seen[print_] += 1
    details = {name: value for name in DETAILS
               if (value := getattr(finding, name)) not in (None, [], "")}
    return {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": finding.severity,
        "message": {"text": _message(finding)},
        "locations": [_location(result, finding.file, finding.line)],
        "partialFingerprints": {"pufferFinding/v1": f"{print_}:{seen[print_]}"},
        "properties": details,
    }


def _message(finding: Finding) -> str:
    text = finding.message[:1].upper() + finding.message[1:] + "."
    if finding.expected is not None:
        text += f" Expected {finding.expected}, got {finding.actual}."
    return text + (f" {finding.hint[:1].upper()}{finding.hint[1:]}." if finding.hint else "")


def _location(result: CheckResult, file: str | None, line: int | None) -> dict[str, object]:
    """A place; the header's first line where a finding has none (GitHub demands one)."""
    root = paths.project_root(result.folder)
    path = os.path.normpath(result.folder / (file or paths.header_of(result.folder).name))
    uri = os.path.relpath(path, root).replace(os.sep, "/")
    return {"physicalLocation": {
        "artifactLocation": {"uri": _quote(uri), "uriBaseId": ROOT},
        "region": {"startLine": line or 1}}}


def _quote(uri: str) -> str:
    from urllib.parse import quote
    return quote(uri)


def _fingerprint(result: CheckResult, finding: Finding) -> str:
    """Stays when lines are inserted above, and when figures in the message change."""
    text = ""
    data = result.files.get(finding.file or "", b"")
    lines = data.decode("utf-8", "replace").splitlines()
    if finding.line and finding.line <= len(lines):
        text = re.sub(r"\s+", "", lines[finding.line - 1])
    words = re.sub(r"[\d.,%-]*\d[\d.,%-]*", "#", finding.message)
    parts = [finding.code, finding.file or "", text, words]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _suppression(allowed: Allowed) -> dict[str, object]:
    found: dict[str, object] = {"kind": "inSource" if allowed.in_source else "external",
                                "status": "accepted"}
    return {**found, "justification": allowed.reason} if allowed.reason else found


def _notifications(result: CheckResult, index: dict[str, int]) -> list[dict[str, object]]:
    """What was not tested, and what is wrong with the marks that allow findings."""
    found: list[dict[str, object]] = [
        {"level": "note", "message": {"text": f"not tested: {reason}"},
         "associatedRule": {"id": code, "index": index[code]}}
        for code, reason in result.not_tested.items()]
    for note in result.notes:
        found.append({"level": "note", "message": {"text": note.text},
                      **({"locations": [_location(result, note.file, note.line)]}
                         if note.line else {})})
    return found
