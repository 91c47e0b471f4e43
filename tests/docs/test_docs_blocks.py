"""Every code block of every page: run, compiled, taken from a file, or claimed by another test."""
from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache

import pytest
from helpers import docs_site
from helpers.docs_site import DOCS
from helpers.places import ROOT
from helpers.sessions import session, shape

from puffer_sdk.base import paths

# What stands in the folder in which a page's sessions run, beside what they make themselves
BRINGS = {"tutorials/ten-minutes.html": {}, "guides/python.html": {},
          "tutorials/first.html": {"drips": "docs/tutorials/drips/step6"},
          "tutorials/porting.html": {"hilo": "docs/tutorials/porting/hilo"},
          "tutorials/ocean.html": {"drum": "tests/specimens/ocean/drum"}}
# The test that runs, compiles or makes the other blocks of a page: file, and what it is called
CLAIMED = {
    "why/checker.html": ("docs/test_docs.py", "test_the_checkers_page_holds_the_measured_figures"),
    "guides/clean.html": ("projects/test_clean.py", "clean"),
    "guides/completion.html": ("cli/test_completion.py", "completion"),
    "guides/debug.html": ("debugging/test_debug.py", "debug.md"),
    "share/container.html": ("project/test_container.py", "container.md"),
    "reference/contract.html": ("docs/test_docs.py", "test_contract_page_python_runs"),
    "guides/export.html": ("policy/test_exporting.py", '"docs" / "guides" / "export.md"'),
    "guides/masks.html": ("env/test_masks.py", '"docs/guides/masks.md"'),
    "share/pull-requests.html": ("projects/test_ocean_export.py", "pull-requests.md"),
    "share/report.html": ("reporting/test_report.py", '"docs" / "share" / "report.md"'),
    "share/review.html": ("reviewing/test_review.py", '"docs" / "share" / "review.md"'),
    "guides/play.html": ("docs/test_docs_blocks.py", "test_the_play_page_prints_what_it_shows"),
    "guides/programs.html": ("docs/test_docs_blocks.py",
                      "test_the_programs_page_shows_code_of_the_template"),
    "guides/recording.html": ("pictures/test_recording.py", "docs/guides/recording.md"),
    "guides/check.html": ("checking/test_check_cli.py", '"docs" / "guides" / "check.md"'),
    "why/bridges.html": ("bridges/test_wrap.py", '"docs" / "why" / "bridges.md"'),
    "guides/python.html": ("bridges/test_wrap.py", '"docs" / "guides" / "python.md"'),
    "guides/outward.html": ("adapters/test_guides.py", '"outward.md"'),
    "guides/coming-from.html": ("adapters/test_guides.py", '"coming-from.md"'),
    "guides/scale.html": ("scaling/test_scale_page.py", '"docs" / "guides" / "scale.md"'),
    "guides/sweep.html": ("sweeping/test_guide.py", '"docs" / "guides" / "sweep.md"'),
    "reference/files.html": ("docs/test_docs_blocks.py", "test_the_files_page_reads_a_checkpoint"),
    "guides/raylib.html": ("raylib/test_raylib.py", "raylib"),
    "guides/repro.html": ("docs/test_docs_blocks.py",
                             "test_the_repro_page_shows_what_is_written"),
    "trainer/native.html": ("docs/test_docs.py", "test_trainer_page_python_runs"),
}
PREAMBLE = "#include <stddef.h>\n"


@cache
def repository_lines() -> frozenset[str]:
    """The lines of every C, Python and ini file that pages may show."""
    found: set[str] = set()
    for folder in ("docs", "examples", "templates", "tests/specimens/ocean"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".c", ".h", ".py", ".ini") and path.is_file():
                text = path.read_text()
                for name in ("squared", "target"):
                    found |= set(text.replace("{{ cookiecutter.name }}", name).replace(
                        "{{ cookiecutter.__struct }}", name.capitalize()).splitlines())
    return frozenset(found)


def accounted(block: docs_site.Block) -> bool:
    """True for a block that some test answers for."""
    if block.is_commands:
        return True                 # test_docs_words.py types them
    if block.language == "console":
        return block.page in BRINGS or block.page in CLAIMED or block.text in measured()
    if block.language in ("c", "python", "ini") and all(
            line in repository_lines() or line == "// ..." for line in block.lines):
        return True
    if block.language == "c" and block.page in FRAGMENTS:
        return True
    return block.page in CLAIMED or is_settings(block) or block.page in LAYOUTS


LAYOUTS = {"guides/profile.html"}        # the usage line, which the CLI page holds as well
FRAGMENTS = {"tutorials/many-agents.html", "tutorials/ocean.html"}


def is_settings(block: docs_site.Block) -> bool:
    """True for lines of an ini whose keys exist."""
    from puffer_sdk.settings import table
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    try:
        parser.read_string(block.text)
    except configparser.Error:
        return False
    return bool(parser.sections()) and all(
        f"{section}.{key}" in table.KEYS for section in parser.sections()
        for key in parser[section])


@cache
def measured() -> frozenset[str]:
    """The sessions that tools/site/measure.py has recorded, as the pages show them."""
    import fills
    steps = fills.outputs()["steps"]
    made = [fill(step, page=None) for step in steps for fill in (fills.check, fills.verdict)]
    return frozenset(re.sub(r"^```\w*\n|\n```$|```$", "", text).rstrip("\n") for text in made)


def test_every_block_is_accounted_for(site):
    found = docs_site.blocks(site)
    missing = [f"{block.page} ({block.language}): {block.lines[0] if block.lines else ''}"
               for block in found if not accounted(block)]
    assert not missing, "\n".join(missing)
    assert len(found) > 100


def test_claims_name_tests_that_exist():
    for file, name in CLAIMED.values():
        assert name in (ROOT / "tests" / file).read_text(), (file, name)


@pytest.mark.parametrize("page", BRINGS)
def test_sessions_print_what_they_show(page, tmp_path):
    for name, folder in BRINGS[page].items():
        shutil.copytree(ROOT / folder, tmp_path / name)
    text = (DOCS / page.replace(".html", ".md")).read_text()
    ran = 0
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for command, shown in session(block):
            words = shlex.split(command)
            assert words[0] == "puffer-sdk"
            done = subprocess.run([sys.executable, "-m", "puffer_sdk", *words[1:]], cwd=tmp_path,
                                  capture_output=True, text=True, timeout=600,
                                  env={**os.environ, "COLUMNS": "80"})
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            printed = [shape(line) for line in done.stdout.splitlines()]
            for line in shown:
                assert line == "..." or shape(line) in printed, f"{command}: {line!r}\n{printed}"
            ran += 1
    assert ran


@pytest.mark.parametrize("page", sorted(FRAGMENTS))
def test_fragments_of_c_compile(page, tmp_path):
    text = (DOCS / page.replace(".html", ".md")).read_text()
    blocks = re.findall(r"^```c\n(.*?)^```", text, re.M | re.S)
    assert blocks
    source = tmp_path / "fragment.c"
    source.write_text(PREAMBLE + "\n".join(blocks) + "\nint main(void) { return 0; }\n")
    done = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror",
                           "-fsyntax-only", str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_files_page_reads_a_checkpoint(trained, tmp_path):
    (text,) = re.findall(r"^```python\n(.*?)^```", (DOCS / "reference/files.md").read_text(),
                         re.M | re.S)
    newest = max((trained / "checkpoints").iterdir())
    shutil.copyfile(newest, tmp_path / "policy.safetensors")
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ \(32, 121\)\n", done.stdout)


def test_the_programs_page_shows_code_of_the_template():
    text = (DOCS / "guides" / "programs.md").read_text()
    (block,) = re.findall(r"^```c\n(.*?)^```", text, re.M | re.S)
    program = (ROOT / "templates/squared/{{cookiecutter.name}}/{{cookiecutter.name}}.c").read_text()
    program = program.replace("{{ cookiecutter.name }}", "my_env").replace(
        "{{ cookiecutter.__struct }}", "MyEnv")
    for line in block.splitlines():
        code = re.split(r" {2,}//|\{", line)[0].strip()
        assert code in program, code


def test_the_play_page_prints_what_it_shows():
    text = (DOCS / "guides" / "play.md").read_text()
    (block,) = re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
    ((command, shown),) = session(block)
    assert command == "puffer-sdk play my_env"
    printed = (ROOT / "puffer_sdk" / "cli" / "play.py").read_text()
    for word in re.findall(r"[a-z]+", " ".join(shown)):
        assert word in printed, word


def test_the_repro_page_shows_what_is_written():
    """The names in its excerpt are those that the package of the programs writes."""
    text = (DOCS / "guides" / "repro.md").read_text()
    written = "".join(path.read_text() for path in (paths.PACKAGE / "checking" / "repro").iterdir()
                      if path.is_file())
    for word in ("REPRO_SCRIPT", "REPRO(", ".code", ".expect", ".array", ".seed", ".seat"):
        assert word in text and word in written
