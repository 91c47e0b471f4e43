"""What a visitor of the repository meets first: README, licence, citation, changelog."""
import re
import subprocess
import sys

import pictures
from helpers.places import ROOT
from PIL import Image

from puffer_sdk import __version__

README = (ROOT / "README.md").read_text()


def test_the_picture_is_small_moving_and_described():
    ((text, name),) = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", README)
    assert len(text.split()) > 10
    file = ROOT / name
    assert file.stat().st_size < 300_000
    with Image.open(file) as image:
        assert image.format == "GIF" and image.n_frames > 30 and image.width <= 800
    assert file.stem in pictures.PICTURES


def test_the_citation_is_valid():
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema",
                           "vendor.citation-file-format", ROOT / "CITATION.cff"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {__version__}\n" in text and "license: MIT\n" in text


def test_a_faulty_citation_would_be_refused(tmp_path):
    file = tmp_path / "CITATION.cff"
    file.write_text((ROOT / "CITATION.cff").read_text().replace("authors:", "writers:"))
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema",
                           "vendor.citation-file-format", file], capture_output=True, text=True)
    assert done.returncode == 1 and "authors" in done.stdout


def test_the_changelog_is_kept():
    """Keep a Changelog: versions newest first, changes under their kinds."""
    text = (ROOT / "CHANGELOG.md").read_text()
    heads = re.findall(r"^## (.*)$", text, re.M)
    assert heads[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", head) for head in heads[1:])
    kinds = set(re.findall(r"^### (.*)$", text, re.M))
    assert kinds and kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    from puffer_sdk.cli.commands import COMMANDS
    for name in COMMANDS:
        assert re.search(rf"`{name}`|puffer-sdk {name}\b", text), f"{name} is not in the changelog"
