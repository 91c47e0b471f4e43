"""What `check` catches: writes docs/data/checker.json, for docs/why/checker.md.

    python benchmarks/bench_check.py                    what `make bench` runs
    python benchmarks/bench_check.py --field DIR        another collection of games; writes nothing
    python benchmarks/bench_check.py --only GAME        one game of the field; writes nothing
    python benchmarks/bench_check.py --no-mutants       the field; keeps the figures of mutants
    python benchmarks/bench_check.py --rates            rates.json, from docs/data/unseen.json
    python benchmarks/bench_check.py --renew NAME ...   these games, or single faults of games, of
                                                        the field; keeps all other figures

The field is a folder of games, field/GAME/{GAME.h, GAME.ini, faults.toml}. check must find
nothing in an unchanged game. faults.toml lists faults. Each is a few text replacements, and the
codes of which check must report one:

    [[fault]]
    id = "mower-03"
    description = "the last row of the lawn is never written"
    expect = ["PUF301"]
    edits = [{file = "mower.h", old = "y < SIDE", new = "y < SIDE - 1"}]

The games came in lots. What check found of a lot when it first met it can be measured only once: it
stands in checker.json and is kept. Of the games, the field keeps what each detector needs: two
faults of its kind, where there were two.

Every row of the figures names the commit at which it was measured, with a + where files had changed
since. To renew a fault renews what is said of its game without faults as well.

It also plants the mutants of `check --mutate` into the templates and examples.
"""
from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from puffer_sdk.base import paths
from puffer_sdk.base.errors import PufferError
from puffer_sdk.checking.check import check
from puffer_sdk.checking.core import registry
from puffer_sdk.mutate import mutant, mutation_score
from puffer_sdk.projects import scaffold

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FIELD = ROOT / "benchmarks" / "field"
RATES = ROOT / "puffer_sdk" / "checking" / "rules" / "rates.json"
MUTANTS = 60            # of each environment
FOUND, OTHER, MISSED, REFUSED = "found", "other", "missed", "refused"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--field", type=Path, default=FIELD, help="folder of games")
    parser.add_argument("--only", metavar="GAME", help="one game of the field, and no mutants")
    parser.add_argument("--no-mutants", action="store_true",
                        help="measure the field alone, and keep what was measured of mutants")
    parser.add_argument("--renew", metavar="NAME", nargs="+", help="games, or faults of games "
                        "(mower-03), to measure again; keeps the other figures of the field")
    parser.add_argument("--rates", action="store_true", help="write what explain shows of each "
                        "detector, from what is known of unseen faults; measures nothing")
    parser.add_argument("--jobs", type=int, default=2, help="checks at a time")
    options = parser.parse_args()
    if options.renew and (options.only or options.field != FIELD):
        parser.error("--renew is for the own field, and does not go with --only")
    if options.rates:
        RATES.write_text(json.dumps(rates(), indent=1, ensure_ascii=False) + "\n")
        return 0
    games = [folder for folder in sorted(options.field.resolve().glob("*"))
             if (folder / "faults.toml").is_file() and options.only in (None, folder.name)]
    if options.only and not games:
        parser.error(f"{options.field} has no game {options.only}")
    final = options.field == FIELD and not options.only
    if options.renew:
        before = read_figures()
        unknown = set(options.renew) - {name for folder in games for name in (
            folder.name, *(fault["id"] for fault in faults_of(folder)))}
        if unknown:
            parser.error(f"the field has no {', '.join(sorted(unknown))}")
        field = renewed(before["field"], games, options.renew, options.jobs)
    else:
        field = [bench_game(folder, options.jobs) for folder in games]
    figures = {"command": "make bench",
               "rules": {code: rule.name for code, rule in registry.load().items()},
               "operators": mutant.OPERATORS,
               "field": field,
               **(kept_mutants() if options.no_mutants or options.renew else
                  {"mutants": bench_mutants() if final else []})}
    text = table(figures)
    print(text)
    if final:
        import bench

        before = read_figures()
        bench.write_figures("checker", {
            "machine": before["machine"] if options.renew else bench.machine(),
            "lots": before["lots"], **figures})
    return int(any(fault["result"] == REFUSED for g in figures["field"] for fault in g["faults"]))


def rates() -> dict[str, dict]:
    """What each detector found of faults that it had not been shown."""
    found: dict[str, dict] = {}
    for fault in json.loads((ROOT / "docs" / "data" / "unseen.json").read_text())["faults"]:
        row = found.setdefault(fault["detector"], {"found": 0})
        if fault["found"]:
            row["found"] += 1
        else:
            row.setdefault("missed", []).append(f"{fault['id']}: {fault['what']}")
    return dict(sorted(found.items()))


# -- the field -----------------------------------------------------------------------


def faults_of(folder: Path) -> list[dict]:
    return tomllib.loads((folder / "faults.toml").read_text())["fault"]


def bench_game(folder: Path, jobs: int, names: set[str] | None = None) -> dict:
    """The game as it is, and each of its faults, or those of these names."""
    faults = [fault for fault in faults_of(folder) if names is None or fault["id"] in names]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        at = commit()
        alarms = codes_of(copy(folder, Path(name) / "clean"))
        found = [pool.submit(codes_of, plant(fault, copy(folder, Path(name) / fault["id"])))
                 for fault in faults]
        rows = []
        for fault, job in zip(faults, found):
            codes = job.result()
            rows.append({"id": fault["id"], "description": fault["description"],
                         "expect": fault["expect"], "codes": codes,
                         "result": judge(fault["expect"], codes, alarms), "commit": at})
            print(f"{fault['id']:<14} {rows[-1]['result']:<8} {' '.join(codes):<24} "
                  f"expected {' or '.join(fault['expect'])}", file=sys.stderr, flush=True)
        print(f"{folder.name:<14} as it is: {' '.join(alarms) or 'silent'}", file=sys.stderr,
              flush=True)
        return {"game": folder.name, "alarms": alarms, "commit": at, "faults": rows}


def commit() -> str:
    """Of this checkout, with a + where files have changed since."""
    done = subprocess.run(["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def renewed(before: list[dict], games: list[Path], names: list[str], jobs: int) -> list[dict]:
    """The rows of before, with those of the named games and faults measured again."""
    rows = {game["game"]: game for game in before}
    for folder in games:
        faults = {fault["id"]: fault for fault in faults_of(folder)}
        wanted = set(faults) if folder.name in names else set(faults) & set(names)
        if not wanted and folder.name not in names:
            continue
        game = bench_game(folder, jobs, wanted)
        old = rows.get(folder.name, {"faults": []})["faults"]
        found = {fault["id"]: fault for fault in (*old, *game["faults"])}
        game["faults"] = [found[name] for name in faults if name in found]
        for fault in game["faults"]:            # a code that the game raises now finds nothing
            fault |= {key: faults[fault["id"]][key] for key in ("description", "expect")}
            fault["result"] = judge(fault["expect"], fault["codes"], game["alarms"])
        rows[folder.name] = game
    return [rows[name] for name in sorted(rows)]


def copy(folder: Path, home: Path) -> Path:
    return Path(shutil.copytree(folder, home / folder.name, ignore=shutil.ignore_patterns(
        "build", "faults.toml")))


def plant(fault: dict, folder: Path) -> Path:
    """The folder, with the fault's replacements made. Each `old` stands in its file once."""
    for edit in fault["edits"]:
        path = folder / edit["file"]
        text = path.read_text()
        if text.count(edit["old"]) != 1:
            raise SystemExit(f"error: {fault['id']}: this stands {text.count(edit['old'])} times "
                             f"in {edit['file']}, not once:\n{edit['old']}")
        path.write_text(text.replace(edit["old"], edit["new"]))
    return folder


def codes_of(folder: Path) -> list[str]:
    """The codes of all findings, once each; a refusal as its text."""
    try:
        return sorted({finding.code for finding in
                       check(folder, prove=False).findings})
    except PufferError as error:
        return [f"refused: {error.message}"]


def judge(expect: list[str], codes: list[str], alarms: list[str]) -> str:
    """found: an expected code is there; other: some other code is; missed: none at all.

    A code that the game raises as it is finds nothing.
    """
    codes = [code for code in codes if code not in alarms]
    if any(code.startswith("refused") for code in codes):
        return REFUSED
    return FOUND if set(expect) & set(codes) else OTHER if codes else MISSED


# -- mutants -------------------------------------------------------------------------


def read_figures() -> dict:
    return json.loads((ROOT / "docs" / "data" / "checker.json").read_text())


def kept_mutants() -> dict:
    """The figures of the last time, and their date."""
    before = read_figures()
    return {"mutants": before["mutants"],
            "mutants_date": before.get("mutants_date", before["machine"]["date"])}


def bench_mutants() -> list[dict]:
    """check alone against the faults of --mutate, in every template and example."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        folders = [scaffold.new(template.name, template=template.name, output_dir=home).folder
                   for template in sorted(paths.data_dir("templates").iterdir())
                   if (template / "cookiecutter.json").is_file()]
        examples = paths.data_dir("examples")
        for example in sorted(examples.iterdir()) if examples.is_dir() else ():
            if paths.is_env_folder(example):
                folders.append(Path(shutil.copytree(example, home / example.name)))
        for folder in folders:
            result = mutation_score.run(folder, settings={"check.test": ""}, count=MUTANTS)
            print(f"{folder.name}: {result.rates()['fault']}", file=sys.stderr, flush=True)
            rows.append({"env": folder.name, **result.rates()["fault"],
                         "operators": result.operators(),
                         "survivors": [{"id": outcome.mutant.id, "file": outcome.mutant.file,
                                        "line": outcome.mutant.line, "diff": outcome.mutant.diff}
                                       for outcome in result.survivors]})
    return rows


# -- tables --------------------------------------------------------------------------


def table(figures: dict) -> str:
    """All figures as Markdown."""
    parts = [*field_tables(figures["field"], figures["rules"]),
             *mutant_tables(figures["mutants"], figures["operators"])]
    return "\n".join(parts).strip()


def lots_table(figures: dict) -> str:
    """What was found of each lot of games at first."""
    lines = ["| lot | games | faults | found | false alarms |", "|---|---|---|---|---|"]
    for lot in figures["lots"]:
        alarms = "; ".join(f"{one['code']} ({one['severity']}): {one['of']}"
                           for one in lot["alarms"])
        lines.append(f"| {lot['lot']} | {len(lot['games'])} | {lot['faults']} | "
                     f"{shares(Counter({key: lot[key] for key in (FOUND, OTHER, REFUSED)}))} | "
                     f"{alarms or 'none'} |")
    return "\n".join(lines)


def shares(counts: Counter) -> str:
    """"70, 2 more under another code, 1 refused by the build"."""
    return ", ".join([str(counts[FOUND]),
                      *([f"{counts[OTHER]} more under another code"] * (counts[OTHER] > 0)),
                      *([f"{counts[REFUSED]} refused by the build"] * (counts[REFUSED] > 0))])


def field_tables(games: list[dict], known: dict[str, str]) -> list[str]:
    if not games:
        return []
    faults = [fault for game in games for fault in game["faults"]]
    alarms = [(game["game"], code) for game in games for code in game["alarms"]]
    found = sum(fault["result"] == FOUND for fault in faults)
    lines = ["## The field", "",
             f"{len(games)} games, {len(faults)} faults: {found} found "
             f"({found / max(len(faults), 1):.0%}), {len(alarms)} false alarms.", "",
             "| game | faults | found | another code | missed | false alarms | measured at |",
             "|---|---|---|---|---|---|---|"]
    for game in games:
        counts = Counter(fault["result"] for fault in game["faults"])
        lines.append(f"| {game['game']} | {len(game['faults'])} | {numbers(counts)} "
                     f"| {', '.join(game['alarms']) or 0} | {measured_at(game)} |")
    lines += ["", "By the rule that a fault is meant for (the first of those that count):", "",
              "| rule | faults | found | another code | missed |", "|---|---|---|---|---|"]
    for code in sorted({fault["expect"][0] for fault in faults}):
        mine = [fault for fault in faults if fault["expect"][0] == code]
        name = known.get(code, "not in this version")
        counts = Counter(fault["result"] for fault in mine)
        lines.append(f"| {code} {name} | {len(mine)} | {numbers(counts)} |")
    for title, result in (("Missed", MISSED), ("Found as something else", OTHER),
                          ("Refused by the compiler", REFUSED)):
        mine = [fault for fault in faults if fault["result"] == result]
        lines += ["", f"{title}:", ""] if mine else []
        for fault in mine:
            instead = f"; reported {', '.join(fault['codes'])}" if fault["codes"] else ""
            lines.append(f"- {fault['id']}: {fault['description']} (expected "
                         f"{' or '.join(fault['expect'])}{instead})")
    if alarms:
        lines += ["", "False alarms:", "", *(f"- {game}: {code}" for game, code in alarms)]
    return [*lines, ""]


def measured_at(game: dict) -> str:
    """The commits of a game's rows."""
    return ", ".join(dict.fromkeys([*(fault["commit"] for fault in game["faults"]),
                                    game["commit"]]))


def numbers(counts: Counter) -> str:
    return f"{counts[FOUND]} | {counts[OTHER]} | {counts[MISSED] + counts[REFUSED]}"


def mutant_tables(rows: list[dict], operators: dict[str, str]) -> list[str]:
    if not rows:
        return []
    planted, caught = (sum(row[key] for row in rows) for key in ("planted", "check"))
    lines = ["## Mutants", "",
             f"`check --mutate --mutants {MUTANTS}`, without tests of one's own: "
             f"{caught} of {planted} faults caught ({caught / max(planted, 1):.0%}).", "",
             "| operator | " + " | ".join(row["env"] for row in rows) + " |",
             "|---|" + "---|" * len(rows)]
    names = dict.fromkeys(name for row in rows for name in row["operators"])
    order = [name for name in operators if name in names]
    for name in order:
        cells = [f"{row['operators'][name]['check']} of {row['operators'][name]['planted']}"
                 if name in row["operators"] else "" for row in rows]
        lines.append(f"| {name}: {operators[name]} | {' | '.join(cells)} |")
    lines.append("| all | " + " | ".join(f"{row['check']} of {row['planted']}" for row in rows)
                 + " |")
    survivors = [(row["env"], one) for row in rows for one in row["survivors"]]
    if survivors:
        lines += ["", "Survivors:", "", "```diff"]
        for env, one in survivors:
            changed = [line for line in one["diff"].splitlines()[2:] if line[0] in "+-"]
            lines += [f"{env} {one['id']}", *changed]
        lines.append("```")
    return [*lines, ""]


if __name__ == "__main__":
    sys.exit(main())
