"""What --format json prints is what the schemas of docs/reference/schemas say."""
import copy
import json
from contextlib import suppress

import jsonschema
import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk.cli import json_schemas, main

LITTLE = ("--train.total-timesteps", "20000")


def closed(schema: dict) -> dict:
    """The same, but without fields that it does not have."""
    schema = copy.deepcopy(schema)
    for part in schema["$defs"].values():
        part["additionalProperties"] = False
    return schema


def hold(capsys, command: str, *words: str) -> dict:
    """Runs it, and holds what it prints against its schema. Returns what it printed."""
    capsys.readouterr()
    with suppress(SystemExit):          # eval, of a policy that misses the goal
        main([command, *map(str, words), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, closed(json_schemas.schema_of(command)))
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder of Squared with one short run."""
    place = tmp_path_factory.mktemp("schemas")
    assert main(["new", "walker", "--output-dir", str(place)]) == 0
    assert main(["train", str(place / "walker"), *LITTLE]) == 0
    return place / "walker"


@pytest.mark.parametrize("command", json_schemas.DOCUMENTS)
def test_schemas_are_schemas_and_describe_every_field(command):
    schema = json_schemas.schema_of(command)
    jsonschema.validators.validator_for(schema).check_schema(schema)
    assert json.loads((ROOT / f"docs/reference/schemas/{command}.json").read_text()) == schema
    for name, part in schema["$defs"].items():
        assert part["description"], name
        assert all(field.get("description") for field in part["properties"].values()), name
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, schema)


@pytest.mark.parametrize("change, verdict", [
    ((), "pass"), ((("env->rewards[0] = ", "env->rewards[0] += "),), "fail"),
    ((("env->rewards[0] = ", "env->reward[0] = "),), "error")])
def test_check(change, verdict, tmp_path, capsys):
    assert main(["new", "walker", "--output-dir", str(tmp_path)]) == 0
    header = tmp_path / "walker" / "walker.h"
    for before, after in change:
        assert before in header.read_text()
        header.write_text(header.read_text().replace(before, after))
    found = hold(capsys, "check", header.parent, "--budget", "0.03")
    assert found["verdict"] == verdict and bool(found["findings"]) == (verdict == "fail")


def test_check_learn(trained, capsys):
    found = hold(capsys, "check", trained, "--budget", "0.03", "--learn", "--learn-seconds", "1")
    assert {"random", "idle", "trained"} <= set(found["coverage"]["learning"]["scores"])


@long_only
@pytest.mark.parametrize("opponent", ["random", "bot:1"])
def test_eval_against_an_opponent(opponent, tmp_path, capsys):
    folder = tmp_path / "walker"
    assert main(["new", "walker", "--template", "duel", "--output-dir", str(tmp_path)]) == 0
    assert main(["train", str(folder), "--train.total-timesteps", "70000"]) == 0
    found = hold(capsys, "eval", folder, "--eval.episodes", "20", "--opponent", opponent)
    assert found["opponent"] == opponent and "win_rate" in found["policies"]["trained"]["mean"]


def test_train_eval_and_runs(trained, capsys, tmp_path):
    found = hold(capsys, "train", trained, *LITTLE, "--tag", "a")
    assert found["steps"] > 0 and found["claim"] and found["missed"]
    found = hold(capsys, "eval", trained, "--eval.episodes", "20")
    assert list(found["policies"]) == ["trained", "random", "idle"] and "recording" not in found
    found = hold(capsys, "eval", trained, "--eval.episodes", "20", "--gif", tmp_path / "a.gif",
                 "--ticks", "5")
    assert found["recording"]["frames"] == 5
    assert [run["tag"] for run in hold(capsys, "runs", trained)["runs"]] == ["", "a"]
    for command in ("train", "eval", "runs"):
        assert hold(capsys, command, tmp_path / "nothing")["error"]["message"]


def test_sweep(trained, capsys):
    words = ("--runs", "2", "--workers", "1", *LITTLE)
    found = hold(capsys, "sweep", trained, *words, "--seeds", "2")
    assert found["plan"]["runs"] == 2 and (found["verdict"] is None) == bool(found["unjudged"])
    assert hold(capsys, "sweep", trained, "--show")["best"] == found["best"]
