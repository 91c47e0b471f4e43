"""Keep the gallery of Ocean environments.  survey.json -> docs/data/ocean.json -> text for pages

    python tools/gallery.py VERSION SURVEY.json ... [--commit HASH] [--commits FILE]
    python tools/gallery.py VERSION SURVEY.json ... --checks

VERSION is the surveyed version of PufferLib, such as 3.0. Rows replace those of the same name and
version. With --checks, only the results of build, steps, check and picture are replaced, for a
checker that is newer than a row's training. docs/data/ocean-notes.json, written by hand, holds our
judgements of findings and failures after reading the source: {"pong 3.0": {"PUF302": "True: ..."}}.
--commits names the commits of files, if there are several: {"pong": {"pong.h": HASH, ...}}.
"""
from __future__ import annotations

import argparse
import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from puffer_sdk.reporting.survey import Row

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/data/ocean.json"
NOTES = ROOT / "docs/data/ocean-notes.json"
# specific to one machine or folder, or shown on no page
DROPPED = ("folder", "rate", "picture", "not_tested")
SHOWN = {"training": ("settings", "learnt", "measure", "steps", "trained", "random", "skipped",
                      "problem"), "agreement": ("name", "agrees")}
AS_IT_IS = "as it is"
STEPS = 5_000_000           # of a training, unless the page says another number
CHECKED = ("check", "findings")
TRIED_WITH_IT = ("build", "stepping", "check", "recording", "drawing")      # parts of problems
# paths on the machine that tried it; not ../../config/
PLACE = re.compile(r"[^\s\"(]*/(ocean/|runs/)|(?<![\w.])/[^\s\"(]*/(?=config/)")


def merge(data: dict, survey: dict, version: str, commit: str | None,
          commits: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """Put the survey's rows into the data. A row's commit is that of its header."""
    for row in _rows(survey):
        own = (commits or {}).get(row["name"], {})
        data["rows"][f"{row['name']} {version}"] = {
            "version": version,
            "commit": survey.get("commit") or own.get(f"{row['name']}.h") or commit,
            **({"commits": dict(sorted(own.items()))} if own else {}),
            "date": datetime.date.today().isoformat(),
            **{key: _shown(key, value) for key, value in row.items() if key not in DROPPED}}
    data["rows"] = dict(sorted(data["rows"].items()))


def _shown(key: str, value):
    """Of a list of records, only what pages show."""
    return value if key not in SHOWN else [
        {name: each[name] for name in SHOWN[key] if name in each} for each in value]


def renew_checks(data: dict, survey: dict, version: str) -> None:
    """Replace the results of check in existing rows, with their date. Training stays.

    Raises SystemExit if a row is missing, or is of other files.
    """
    for new in _rows(survey):
        name = f"{new['name']} {version}"
        row = data["rows"].get(name)
        if row is None:
            raise SystemExit(f"error: the gallery has no row {name}; merge it without --checks")
        other = sorted(file for file, said in row["files"].items()
                       if new["files"].get(file) != said)
        if other:
            raise SystemExit(f"error: {name}: these files are not those of the row: "
                             f"{', '.join(other)}")
        row |= {key: new[key] for key in CHECKED}
        row["problems"] = {
            **{part: why for part, why in new["problems"].items() if part in TRIED_WITH_IT},
            **{part: why for part, why in row["problems"].items() if part not in TRIED_WITH_IT}}
        row["checked"] = datetime.date.today().isoformat()
        whole = Row(**{each.name: row.get(each.name) for each in fields(Row)})
        row |= {"passed": whole.passed, "verdict": whole.verdict}


def _rows(survey: dict) -> list[dict]:
    return json.loads(PLACE.sub(r"\1", json.dumps(survey["rows"])))


def page(data: dict) -> str:
    """The tables, with our judgements."""
    return render(data, json.loads(NOTES.read_text()))


def sentence(data: dict) -> str:
    """The README's sentence: how many of the newest version were tried, and how many run."""
    newest = max(row["version"] for row in data["rows"].values())
    rows = [row for row in data["rows"].values() if row["version"] == newest]
    run = sum(not {"build", "stepping"} & set(row["problems"]) for row in rows)
    library = "[PufferLib](https://github.com/PufferAI/PufferLib)"
    return (f"It follows the conventions of {library} {newest}. "
            f"Of its Ocean\nenvironments, {len(rows)} were tried, and {run} of them build and run: "
            "[each](docs/why/ocean-gallery.md).")


def tree_sentence(data: dict) -> str:
    """The README's sentence on a whole tree (docs/data/ocean-tree.json)."""
    folders = data["folders"].values()
    built = [row for row in folders if row["builds"] == AS_IT_IS]
    return (f"Of a whole tree of {data['tree']}, {len(built)} of {len(folders)} folders build as "
            f"they are, and {sum(row['trains'] for row in built)} of them train ({data['date']}).")


def tree_table(data: dict) -> str:
    """What became of each folder of the tree, and of the weights that it has."""
    folders = data["folders"]
    least, most = data["steps"]
    lines = [f"On {data['date']} every folder of a tree of {data['tree']} was built, and trained "
             f"for {least:,} to {most:,} steps on two cores.", "",
             "| folders | build | train | which |", "|---|---|---|---|"]
    for builds in (AS_IT_IS, "after bind --upgrade", "no"):
        own = {name: row for name, row in folders.items() if row["builds"] == builds}
        trained = [name for name, row in own.items() if row["trains"]]
        if trained:
            lines.append(f"| {len(trained)} | {builds} | yes | {', '.join(trained)} |")
        lines += [f"| {name} | {builds} | no | {row['why']} |" for name, row in own.items()
                  if not row["trains"]]
    played = {name: row["weights"] for name, row in folders.items() if "weights" in row}
    fit = [f"{name} {own['perf']:g} ({own['random']:g})" for name, own in played.items()
           if "perf" in own]
    lines += ["", f"`perf` of PufferLib's own weights in {data['episodes']} envs (of random play): "
              f"{', '.join(fit)}. These were refused in a sentence: " +
              ", ".join(f"{name} ({own['why']})" for name, own in played.items()
                        if "why" in own) + "."]
    return "\n".join(lines) + "\n"


def render(data: dict, notes: dict) -> str:
    """The tables, in Markdown."""
    rows = data["rows"]
    lines = ["| environment | agents | programs | check | eval as in training | learns | verdict "
             "| tried |", "|---|---|---|---|---|---|---|---|"]
    lines += [f"| {name} | {row['agents'] or '-'} | {_programs(row)} | {_check(row)} | "
              f"{_agrees(row)} | {_learns(row)} | {row['verdict']} | {_tried(row)} |"
              for name, row in rows.items()]
    lines += ["", "## What check found, and who is right", ""]
    for name, row in rows.items():
        told = notes.get(name, {})
        for (severity, code), found in _by_code(row["findings"]).items():
            lines.append(f"- **{name}** {severity} {code}: {'; '.join(found)}. "
                         f"*{told.get(code, 'Not judged yet.')}*")
    lines += ["", "## What went wrong", ""]
    for name, row in rows.items():
        told = notes.get(name, {})
        for part, why in row["problems"].items():
            judged = f". *{told[part]}*" if part in told else ""
            lines.append(f"- **{name}** {part}: {_plain(why)}{judged}")
    return "\n".join(lines) + "\n"


def count(data: dict) -> str:
    """A line for each version, newest first: how many were tried, with what results."""
    rows, lines = data["rows"].values(), []
    for version in sorted({row["version"] for row in rows}, reverse=True):
        own = [row for row in rows if row["version"] == version]
        learnt = sum(any(each.get("learnt") for each in row["training"]) for row in own)
        lines.append(f"- Of PufferLib {version}, **{len(own)}** were tried and "
                     f"**{sum(row['passed'] for row in own)}** passed. In "
                     f"{sum(row['check'] == 'pass' for row in own)} of them `check` found no "
                     f"error, and {learnt} learned to beat random play.")
    return "\n".join(lines) + "\n"


def _tried(row: dict) -> str:
    """The date of the row, and that of check where it is later."""
    date, checked = row["date"], row.get("checked", row["date"])
    shown = checked[5:] if checked[:5] == date[:5] else checked     # month and day
    return date + (f", check {shown}" if checked > date else "")


def _by_code(findings: list[dict]) -> dict[tuple[str, str], list[str]]:
    """Findings with their places, once per severity and code; of many places, three."""
    every: dict[tuple[str, str], list[str]] = {}
    for each in findings:
        place = f" (`{each['place']}`)" if each["place"] else ""
        every.setdefault((each["severity"], each["code"]), []).append(
            _plain(each["message"]) + place)
    return {key: said if len(said) < 4 else [*said[:3], f"and {len(said) - 3} more"]
            for key, said in every.items()}


def _plain(text: str) -> str:
    for sign in "<>|*_":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _programs(row: dict) -> str:
    made = [name for name, why in row["programs"].items() if not why]
    return "all" if made and len(made) == len(row["programs"]) else ", ".join(made) or "-"


def _check(row: dict) -> str:
    codes = sorted({finding["code"] for finding in row["findings"]})
    return " ".join([row["check"] or "-", *codes])


def _agrees(row: dict) -> str:
    if not row["agreement"]:
        return "not tested"
    apart = [each["name"] for each in row["agreement"] if not each["agrees"]]
    return "not " + ", ".join(apart).replace("_", " ") if apart else "yes"


def _learns(row: dict) -> str:
    last = row["training"][-1] if row["training"] else {}
    if not last.get("trained"):
        return "not tested"
    said = (f"{last['measure'].replace('_', ' ')} {last['trained'][0]:.3g}, "
            f"random {last['random'][0]:.3g}")
    skipped = "".join(f"; {each['settings']} asks for {each['skipped']}"
                      for each in row["training"] if "skipped" in each)
    longer = f", {round(last['steps'] / 1e6)} million steps" * (last["steps"] > 1.1 * STEPS)
    if last["learnt"]:
        return f"{said} ({last['settings']}{longer}{skipped})"
    return f"no: {said}" + (f" ({(longer + skipped)[2:]})" if longer or skipped else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version")
    parser.add_argument("surveys", nargs="+", type=Path, metavar="SURVEY.json")
    parser.add_argument("--commit", help="of the files, where they are not in a git checkout")
    parser.add_argument("--commits", type=Path, metavar="FILE",
                        help="JSON: of each environment's files, where they are of several commits")
    parser.add_argument("--checks", action="store_true",
                        help="renew what check found, and keep the rest of each row")
    given = parser.parse_args()
    commits = json.loads(given.commits.read_text()) if given.commits else {}
    data = json.loads(DATA.read_text()) if DATA.is_file() else {"rows": {}}
    for path in given.surveys:
        survey = json.loads(path.read_text())
        if given.checks:
            renew_checks(data, survey, given.version)
        else:
            merge(data, survey, given.version, given.commit, commits)
    DATA.write_text(json.dumps(data, indent=1) + "\n")
    print(f"wrote    {DATA.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
