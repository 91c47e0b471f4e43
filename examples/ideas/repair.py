"""Repair from JSON: check says what is wrong, an assistant answers with edits, until nothing is.

    python repair.py my_env ./assistant     # any program that reads JSON and prints JSON

The assistant reads {"findings": [...], "files": {name: text}} and prints [{"file", "old", "new"}].
A finding has code, file, line, message, expected, actual, hint and stack; a compile error is one.
"""
import json
import subprocess
import sys
from pathlib import Path

ROUNDS = 5
CHECK = ["puffer-sdk", "check", "--format", "json"]


def check(env):
    """The findings of this environment, as `check` prints them."""
    done = subprocess.run([*CHECK, str(env)], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    return [found["error"]] if "error" in found else found["findings"]


def apply(env, edits):
    """Replace each old text, which must be there once -> what could not be applied."""
    left = []
    for edit in edits:
        path = Path(env) / Path(edit["file"]).name
        text = path.read_text() if path.is_file() else ""
        if text.count(edit["old"]) == 1:
            path.write_text(text.replace(edit["old"], edit["new"]))
        else:
            left.append(edit)
    return left


def repair(env, ask, rounds=ROUNDS):
    """ask({"findings", "files"}) -> edits. Returns the findings of each round; the last is what
    is left."""
    history = [check(env)]
    while history[-1] and len(history) <= rounds:
        files = {path.name: path.read_text() for path in sorted(Path(env).glob("*.[ch]"))}
        for edit in apply(env, ask({"findings": history[-1], "files": files})):
            print(f"not there once: {edit['old']!r} in {edit['file']}")
        history.append(check(env))
        print(f"round {len(history) - 1}: {len(history[-2])} findings, then {len(history[-1])}")
    return history


if __name__ == "__main__":
    def program(question):
        done = subprocess.run(sys.argv[2:], input=json.dumps(question), capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)

    sys.exit(bool(repair(sys.argv[1], program)[-1]))
