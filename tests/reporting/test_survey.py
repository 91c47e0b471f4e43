"""`ocean`: a row, a picture and a verdict for each environment of a checkout."""
import json
import shutil
import subprocess

import pytest
from helpers.page_reader import Reader
from helpers.places import SPECIMENS
from helpers.playground import COMMAND

from puffer_sdk.base.errors import UsageError
from puffer_sdk.reporting import survey


@pytest.fixture(scope="module")
def checkout(squared, tmp_path_factory):
    """One good environment, one that draws nothing, one with an error, one that does not build."""
    ocean = tmp_path_factory.mktemp("PufferLib") / "ocean"
    ocean.mkdir()
    for folder in (squared, SPECIMENS / "ocean/drum", SPECIMENS / "broken/puf303_comet"):
        shutil.copytree(folder, ocean / folder.name,
                        ignore=shutil.ignore_patterns("build", "runs", ".git"))
    (ocean / "torn").mkdir()
    (ocean / "torn/torn.h").write_text("void c_step(\n")
    (ocean / "env_binding.h").touch()
    return ocean.parent


@pytest.fixture(scope="module")
def done(checkout, tmp_path_factory):
    output = tmp_path_factory.mktemp("survey")
    process = subprocess.run([*COMMAND, "ocean", checkout, "--output", output, "--budget", "0.1"],
                             capture_output=True, text=True, check=False)
    return process, output, json.loads((output / "survey.json").read_text())


def test_it_passed_where_all_of_it_worked_and_check_found_no_error(done):
    process, output, data = done
    rows = {row["name"]: row for row in data["rows"]}
    assert {name: row["passed"] for name, row in rows.items()} == {
        "drum": False, "puf303_comet": False, "squared": True, "torn": False}
    assert process.returncode == 1 and "1 of 4 passed" in process.stdout
    assert rows["drum"]["verdict"] == "recording failed" and rows["drum"]["check"] == "pass"
    assert "c_render draws nothing" in rows["drum"]["problems"]["recording"]
    assert rows["puf303_comet"]["verdict"] == "found 1 error"
    assert [f["code"] for f in rows["puf303_comet"]["findings"]] == ["PUF303"]
    assert list(rows["torn"]["problems"]) == ["build"] and not rows["torn"]["picture"]
    assert rows["squared"]["rate"] > 0 and rows["squared"]["obs"] == "121 u8"


def test_the_page_shows_each_row_with_its_picture(done):
    _, output, _ = done
    html = (output / "index.html").read_text()
    assert [image["src"] for image in Reader(html).all("img")] == ["squared.gif"]
    assert (output / "squared.gif").read_bytes()[:4] == b"GIF8"
    assert "1 of 4 passed" in html and "build failed" in html and "no picture" in html
    assert not any(attrs.get("src", "").startswith("http") for _, attrs in Reader(html).tags)


def test_what_is_not_there_is_refused(checkout, tmp_path):
    with pytest.raises(UsageError, match="there is no environment pong"):
        survey.survey(checkout, tmp_path / "out", only=["pong"])
    with pytest.raises(UsageError, match="no environments are there"):
        survey.survey(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
