"""Faults of PufferLib's environments, mended outside this repository.  a tree -> diffs, and a check

    python tools/upstream_faults.py TREE OUT               every environment of the data
    python tools/upstream_faults.py TREE OUT dino pong     some of them
    python tools/upstream_faults.py TREE OUT --diffs       only the diffs, without a check
    python tools/upstream_faults.py TREE OUT --before DIR  with what `check` said of TREE

TREE is a checkout of PufferLib of the data's date, which stays as it is. OUT gets NAME.diff for
each environment, with all of its replacements, and the reports of `check` before and after them in
a copy of the environment. What was verified is printed, and written to
docs/data/upstream-faults.json: a fault is verified if check reports it before, and nothing of its
code (and its column of the log) after. A repro program of check must fail before, too, and pass
after.

The data holds no line of PufferLib's: line numbers, what replaces them in our words, and the hash
that git gives each file, so that no other version is changed by mistake.
"""
from __future__ import annotations

import argparse
import datetime
import difflib
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/data/upstream-faults.json"
KINDS = ("true", "harmless", "false")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--diffs", action="store_true", help="no check")
    parser.add_argument("--before", type=Path, metavar="DIR",
                        help="NAME.json: what check said of TREE, whose build/check it wrote")
    asked = parser.parse_args()
    data = json.loads(DATA.read_text())
    unknown = set(asked.names) - {fault["environment"] for fault in data["faults"]}
    if unknown:
        raise SystemExit(f"error: the data has no fault of {', '.join(sorted(unknown))}")
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.names or sorted({fault["environment"] for fault in data["faults"]}):
        faults = [fault for fault in data["faults"] if fault["environment"] == name]
        mended = mended_files(asked.tree, data["files"], faults)
        diff = "".join(unified(asked.tree, file, text) for file, text in mended.items())
        (asked.out / f"{name}.diff").write_text(diff)
        if not asked.diffs:
            first = [fault for fault in faults if not fault.get("behind")]
            verify(asked.tree, asked.out, name, first, mended, asked.before)
            if first != faults:         # check sees them once the others are mended
                verify(asked.tree, asked.out, name, [f for f in faults if f not in first], mended,
                       None, mended_files(asked.tree, data["files"], first))
            for fault in faults:
                print(f"{name} {' '.join(fault['codes'])} {fault['file']}:{fault['line']}: "
                      f"{said(fault)}", flush=True)
            DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def mended_files(tree: Path, files: dict[str, str], faults: list[dict]) -> dict[str, str]:
    """File -> its text with the replacements of these faults. files: with the hashes of git."""
    return {file: mend(tree / file, wanted, edits_of(faults, file))
            for file, wanted in files.items() if edits_of(faults, file)}


def edits_of(faults: Iterable[dict], file: str) -> list[dict]:
    return [edit for fault in faults for edit in fault["edits"] if edit["file"] == file]


def git_hash(data: bytes) -> str:
    """As `git hash-object` says it."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def mend(path: Path, wanted: str, edits: list[dict]) -> str:
    """The file with its replacements. An edit whose last line is before its first inserts there."""
    data = path.read_bytes()
    if git_hash(data) != wanted:
        raise SystemExit(f"error: {path} is not the version of the data\n  expected git hash "
                         f"{wanted}, got {git_hash(data)}")
    lines = data.decode().splitlines(keepends=True)
    for edit in sorted(edits, key=lambda edit: edit["lines"], reverse=True):
        first, last = edit["lines"]
        lines[first - 1:last] = [f"{line}\n" for line in edit["text"]]
    return "".join(lines)


def unified(tree: Path, file: str, text: str) -> str:
    return "".join(difflib.unified_diff((tree / file).read_text().splitlines(keepends=True),
                                        text.splitlines(keepends=True), f"a/{file}", f"b/{file}"))


def verify(tree: Path, out: Path, name: str, faults: list[dict], mended: dict[str, str],
           reports: Path | None, begun: dict[str, str] | None = None) -> None:
    """Check a copy before and after, and say so in the faults. begun: files as they are before"""
    folder = copy(tree, out / "tree", name)
    for file, text in (begun or {}).items():
        (out / "tree" / file).write_text(text)
    before = check(folder, out / f"{name}.before.json") if reports is None else \
        json.loads((reports / f"{name}.json").read_text())["findings"]
    tried = folder if reports is None else tree / "ocean" / name
    repros = {path.name.removeprefix("repro_").removesuffix(".c"): path.read_text()
              for path in tried.glob("build/check/repro_*.c")}
    failing = {code for code in repros if replay(folder, code, repros[code]) == 1}
    for file, text in mended.items():
        (out / "tree" / file).write_text(text)
    passing = {code for code in failing if replay(folder, code, repros[code]) == 0}
    after = check(folder, out / f"{name}.after.json")
    for fault in faults:
        proven = [code for code in fault["codes"] if code in failing]
        fault["verified"] = {
            "date": datetime.date.today().isoformat(),
            "before": {code: found(before, fault, code) for code in fault["codes"]},
            "after": {code: found(after, fault, code) for code in fault["codes"]},
            "repro": {code: code in passing for code in proven}}


def copy(tree: Path, to: Path, name: str) -> Path:
    """The tree with a copy of this environment and of the inis; the rest is linked."""
    shutil.rmtree(to, ignore_errors=True)
    (to / "ocean").mkdir(parents=True)
    for path in tree.iterdir():
        if path.name not in ("ocean", "config"):
            (to / path.name).symlink_to(path.resolve())
    for path in (tree / "ocean").iterdir():
        if path.name != name:
            (to / "ocean" / path.name).symlink_to(path.resolve())
    shutil.copytree(tree / "config", to / "config")
    shutil.copytree(tree / "ocean" / name, to / "ocean" / name,
                    ignore=shutil.ignore_patterns("build", "runs"))
    return to / "ocean" / name


def puffer(*words: object) -> int:
    return subprocess.run([sys.executable, "-m", "puffer_sdk", *map(str, words)],
                          capture_output=True).returncode


def check(folder: Path, report: Path) -> list[dict]:
    puffer("check", folder, "--format", "json", "-o", report.resolve())
    return json.loads(report.read_text())["findings"]


def replay(folder: Path, code: str, text: str) -> int:
    """The status of `check --replay`."""
    path = folder / "build/check" / f"repro_{code}.c"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return puffer("check", "--replay", path.resolve())


def found(findings: list[dict], fault: dict, code: str) -> list[str]:
    """Where check reports it: "dino.h:109"."""
    return [f"{one['file']}:{one['line']}" for one in findings if one["code"] == code
            and ("column" not in fault or one["element"] == fault["column"])]


def is_verified(fault: dict) -> bool:
    result = fault.get("verified")
    return bool(result and all(result["before"].values()) and not any(result["after"].values())
                and all(result["repro"].values()))


def said(fault: dict) -> str:
    result = fault.get("verified")
    if result is None:
        return "not tried"
    parts = ["reported before" if all(result["before"].values()) else "NOT reported before",
             "STILL reported after" if any(result["after"].values()) else "not after"]
    parts += [f"repro of {code} {'passes' if holds else 'STILL FAILS'} after"
              for code, holds in result["repro"].items()]
    return ", ".join(parts)


def counts(data: dict) -> str:
    """The page's count of findings by rule, for tools/site/tables.py."""
    rules = data["judged"]
    total = {kind: sum(row[kind] for row in rules.values()) for kind in KINDS}
    errors = data["errors"]
    lines = [f"On {data['date']}, `check` reported {sum(total.values())} findings in "
             f"{data['environments']} environments of a tree of {data['tree']}. Held against the "
             f"source, {total['true']} are faults, {total['harmless']} are true and harmless, and "
             f"{total['false']} {'is' if total['false'] == 1 else 'are'} false: {data['was_false']}"
             f" Of {sum(errors.values())} errors, {errors['true']} are faults, "
             f"{errors['harmless']} harmless and {errors['false']} false.", "",
             "| rule | fault | harmless | false |", "|---|---|---|---|"]
    lines += [f"| [{code}](../reference/rules.md#{code.lower()}) | " + " | ".join(
        str(row[kind] or "") for kind in KINDS) + " |" for code, row in rules.items()]
    return "\n".join(lines)


def table(data: dict) -> str:
    """Each verified fault, for tools/site/tables.py."""
    faults = [fault for fault in data["faults"] if is_verified(fault)]
    names = sorted({fault["environment"] for fault in faults})
    programs = sum(bool(fault["verified"]["repro"]) for fault in faults)
    lines = [f"**{len(faults)} faults in {len(names)} environments.** `check` reported each before "
             f"its replacement and none after. For {programs} of them it wrote a program that "
             "fails before and passes after.", ""]
    for name in names:
        lines += [f"### {name}", ""]
        for fault in (fault for fault in faults if fault["environment"] == name):
            codes = ", ".join(f"[{code}](../reference/rules.md#{code.lower()})"
                              for code in fault["codes"])
            behind = " `check` reports it once the fault above is mended." * fault.get("behind", 0)
            lines += [f"**{codes}**, `{fault['file']}:{fault['line']}`. {fault['what']}{behind}",
                      ""]
            for code in fault["verified"]["repro"]:
                lines += ["After `check`: `puffer-sdk check --replay "
                          f"ocean/{name}/build/check/repro_{code}.c`", ""]
            for edit in fault["edits"]:
                lines += [described(edit), ""]
                if edit["text"]:
                    lines += ["```c", *edit["text"], "```", ""]
    return "\n".join(lines)


def described(edit: dict) -> str:
    """What is done to which lines."""
    first, last = edit["lines"]
    file = edit["file"].rpartition("/")[2]
    if last < first:
        return f"Before line {first} of `{file}`:"
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return f"Instead of {lines} of `{file}`:" if edit["text"] else \
        f"Delete {lines} of `{file}`."


if __name__ == "__main__":
    main()
