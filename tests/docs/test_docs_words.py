"""What pages name exists, and what exists is named: commands, options, settings, metrics, rules."""
from __future__ import annotations

import json
import re

import pytest
from helpers import docs_site
from helpers.docs_site import DOCS, ROOT

from puffer_sdk.base import errors
from puffer_sdk.checking.rules import registry
from puffer_sdk.settings import table as settings

NOT_SETTINGS = {"torch.export", "eval.log", "check.yml", "sweep.ini", "sweep.html"}     # files


@pytest.fixture(scope="module")
def written(site):
    """{page: its inline code} of the pages that are not made from the code."""
    return {page: docs_site.inline(site, page) for page in docs_site.pages(site)
            if not docs_site.is_made(page)}


def test_every_command_line_can_be_typed(site, written):
    wrong = []
    lines = [(block.page, words) for block in docs_site.blocks(site)
             for words in docs_site.commands(block)]
    lines += [(page, words) for page, codes in written.items() for code in codes
              if code.startswith("puffer-sdk ")
              for words in docs_site.commands(docs_site.Block(page, "text", code))]
    for page, words in lines:
        found = docs_site.problem(words)
        if found:
            wrong.append(f"{page}: {found}")
    assert not wrong, "\n".join(wrong)
    assert len(lines) > 100


@pytest.mark.parametrize("words", [["trian", "my_env"], ["train", "--seed", "1"],
                                   ["train", "--train.speed", "1"], ["runs", "--wandb"]])
def test_a_wrong_command_line_is_noticed(words):
    assert docs_site.problem(words)


def test_every_setting_that_is_named_exists(written):
    sections = "|".join(settings.SECTIONS)
    wrong = [f"{page}: {code}" for page, codes in written.items() for code in codes
             if re.fullmatch(rf"({sections})\.[a-z_0-9]+", code)
             and code not in settings.KEYS and code not in NOT_SETTINGS
             and not code.endswith(".py")]
    assert not wrong, "\n".join(wrong)


def test_turning_says_what_each_setting_of_training_does():
    text = (DOCS / "trainer" / "turning.md").read_text()
    missing = [key.full for section in ("vec", "policy", "train")
               for key in settings.used_keys(section) if f"`{key.full}`" not in text]
    assert not missing


def test_every_rule_that_is_named_has_a_page(site):
    known = registry.load()
    for code in known:
        assert (site / "reference" / "rules" / f"{code}.html").is_file()
    named = {code for page in docs_site.pages(site)
             for code in re.findall(r"PUF\d{3}", (site / page).read_text())}
    assert named <= set(known), sorted(named - set(known))


def test_the_number_of_rules_is_that_of_the_rules(site):
    known = registry.load().values()
    named = {int(number) for page in docs_site.pages(site)
             for number in re.findall(r"(\d+) rules[.:]", (site / page).read_text())}
    assert named == {len(known)}
    usual = sum(not rule.option for rule in known)
    shown = [line for file in (ROOT / "README.md", *DOCS.rglob("*.md"))
             for line in file.read_text().splitlines() if re.search(r" by \d+ rules", line)]
    assert len(shown) > 6
    assert [line for line in shown if f" by {usual} rules" not in line] == \
        ["    MyGame: fail, 1 error by 34 rules in 2.4 s"]         # in Python, fewer can be asked


def test_every_metric_that_is_named_is_documented(written):
    text = (DOCS / "reference" / "metrics.md").read_text()
    wrong = [f"{page}: {code}" for page, codes in written.items() for code in codes
             if re.fullmatch(r"(env|loss|train|time)/[a-z_]+", code) and f"`{code}`" not in text]
    assert not wrong, "\n".join(wrong)


def test_every_exit_status_is_documented():
    text = (DOCS / "reference" / "exit-status.md").read_text()
    ours = [value for name, value in vars(errors).items()
            if name.isupper() and isinstance(value, int)]
    assert len(ours) >= 6
    for status in ours:
        assert f"| {status} |" in text


def test_the_command_line_page_holds_every_command_and_option():
    import reference
    page, tree = reference.commands(), reference.tree()
    assert {"train", "runs compare", "explain"} <= set(tree)
    for words, command in tree.items():
        part = page.partition(f"## {words} {{")[2].partition("\n## ")[0]
        for option in command.params:
            for name in getattr(option, "opts", ()):
                if name.startswith("-"):
                    assert f"`{name}`" in part or f"`{name} " in part, (words, name)


def test_the_python_page_holds_every_public_name():
    import reference

    import puffer_sdk
    page = reference.python()
    for name in puffer_sdk._PUBLIC:
        assert f"## {name} {{" in page
        assert getattr(puffer_sdk, name).__doc__, f"{name} has no docstring"


def test_the_files_page_holds_what_a_run_writes(trained):
    """Every file of a run folder, and every key of the JSON in it."""
    text = (DOCS / "reference" / "files.md").read_text()
    for path in trained.iterdir():
        assert f"`{path.name}" in text, path.name
    missing = []
    for name in ("run.json", "spec.json", "episodes.json"):
        part = text.partition(f"### {name}")[2].partition("\n## ")[0]
        keys = set(document := json.loads((trained / name).read_text()))
        if name == "episodes.json":
            keys |= set(document["policies"]["trained"])
        missing += [f"{name}: {key}" for key in keys if f"`{key}`" not in part]
    from safetensors import safe_open
    newest = max((trained / "checkpoints").iterdir())
    with safe_open(newest, "np") as file:
        tensors, facts = list(file.keys()), json.loads(file.metadata()["puffer"])
    part = text.partition("## Checkpoints")[2].partition("\n## ")[0]
    missing += [key for key in facts if f"`{key}`" not in part]
    missing += [key for key in tensors if not key.startswith("muon.") and f"`{key}`" not in part]
    assert not missing


def test_the_architecture_page_names_files_that_exist():
    text = (DOCS / "why" / "architecture.md").read_text()
    table = text.partition("## Where to look")[2]
    names = re.findall(r"`([\w/]+(?:\.py|/))`", table)
    assert len(names) > 15
    for name in names:
        assert (ROOT / "puffer_sdk" / name).exists() or (ROOT / name).exists(), name
