"""What came from a file is printed with its control characters shown, and never sent."""
from __future__ import annotations

import io
import json
import shutil

import pytest
from helpers.strangers import make_sweep, puffer, run_of, sweep_of

from puffer_sdk.base import ui
from puffer_sdk.base.errors import UsageError
from puffer_sdk.cli import completing
from puffer_sdk.training import checkpoint, runs

pytest_plugins = ["helpers.strangers_fixtures"]

EVIL = "\x1b]0;x\x07\x1b[2J\x9b31m\x7f\u202e"
SHOWN = "<U+001B>]0;x<U+0007><U+001B>[2J<U+009B>31m<U+007F><U+202E>"


def is_clean(text: str) -> bool:
    return ui.visible(text) == text


def test_every_kind_of_control_character_is_shown():
    for code in (*range(32), *range(0x7F, 0xA0), 0x200E, 0x2028, 0x202E, 0x2066, 0xD800):
        if chr(code) not in "\t\n":
            assert ui.visible(f"a{chr(code)}b") == f"a<U+{code:04X}>b"
        assert ui.visible(f"a{chr(code)}b", line=True) == f"a<U+{code:04X}>b"
    plain = "ä\u00a0± ━ 𝄞 a\tb\nc"
    assert ui.visible(plain) == plain


PRINTERS = [ui.out, ui.say, ui.warn, ui.out_plain, lambda text: ui.warn("a", text, [text]),
            lambda text: ui.print_error(UsageError(text, where=text, expected=text, actual=text,
                                                   hint=text, detail=text)),
            lambda text: ui.out_renderable(table(text))]


def table(text: str):
    from rich.table import Table
    from rich.text import Text

    made = Table(title=text)
    made.add_column(text)
    made.add_row(text)
    made.add_row(Text(text))
    return made


@pytest.mark.parametrize("number", range(len(PRINTERS)))
def test_every_printer_shows_them(number, capsys):
    for text in (EVIL, f"[bold]{EVIL}[/bold] [/] [link=x]y", "\r\x08\x0b\x0c"):
        PRINTERS[number](text)
        said = "".join(capsys.readouterr())
        assert is_clean(said) and ("<U+" in said or "\x1b" not in text)
    if number < 4:
        PRINTERS[number](EVIL)
        assert SHOWN in "".join(capsys.readouterr())


def test_colours_of_ours_are_sent_and_those_of_files_are_not(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    ui._console.cache_clear()
    try:
        ui.out(EVIL, style="red")
        ui.out_plain(f"\x1b[31m{EVIL}\x1b[0m")
        said = ui.sys.stdout.getvalue()
    finally:
        ui._console.cache_clear()
    assert said.count(SHOWN) == 2 and said.startswith("\x1b[31m")
    assert "\x1b]" not in said and "\x1b[2J" not in said and "\x9b" not in said


def test_tags_metrics_and_names_are_shown(project, capsys):
    run = runs.Run(run_of(project))
    run.set_progress(tag=f"{EVIL}\nerror: spoofed")
    rows = [{**row, f"env/{EVIL}": 0.5, f"window/{EVIL}": 0.5} for row in run.metrics()]
    run.metrics_path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run.folder / "config.ini").write_text(f"[env]\nsize = {EVIL}\n", encoding="utf-8")
    other = shutil.copytree(run.folder, run.folder.with_name("0002"))
    (other / "config.ini").write_text("[env]\nsize = 3\n")
    for command in ("runs", "runs compare 1 2", "runs plot 1 2", "runs --format json",
                    f"runs plot 1 --metric {EVIL}"):
        status, out, said = puffer(capsys, *command.split(" "))
        assert is_clean(out) and is_clean(said), command
        assert "\nerror: spoofed" not in out
    assert "<U+001B>]0;x" in puffer(capsys, "runs")[1]
    assert all(is_clean(item.help) and "\n" not in item.help
               for item in completing.run_numbers.__wrapped__(context(project), None, "1"))


def context(project):
    class Context:
        params = {"env": str(project), "runs_dir": None}
    return Context()


def test_names_in_a_checkpoint_are_shown(project, capsys):
    past = checkpoint.load(runs.Run(run_of(project)).checkpoints()[-1])
    for name, facts in (("a", {"env": {**past.facts["env"], "name": EVIL}}),
                        ("b", {"config": {"train": {EVIL: 1}}}), ("c", {"step": EVIL}),
                        ("d", {"env": {**past.facts["env"], "obs_dtype": EVIL}})):
        checkpoint.save(project / f"{name}.safetensors", past.tensors, {**past.facts, **facts})
        status, out, said = puffer(capsys, "export", f"{name}.safetensors")
        assert status in (0, 2) and is_clean(out) and is_clean(said), name


def test_what_a_sweep_says_is_shown(project, capsys):
    shutil.rmtree(sweep_of(project))
    store = make_sweep(sweep_of(project), trials=2, reason=EVIL)
    trial = store.add({"train.gamma": 0.97}, "running", error=EVIL)
    store.end(trial, "failed", error=f"{EVIL} [/red]")
    for option in ("--show", "--best"):
        status, out, said = puffer(capsys, "sweep", option)
        assert status == 0 and is_clean(out) and is_clean(said)
    shutil.rmtree(sweep_of(project))
    store = make_sweep(sweep_of(project), trials=0)
    store.end(store.add({"train.gamma": 0.97}, "running"), "failed", error=f"{EVIL} [/red]")
    status, out, said = puffer(capsys, "sweep", "--show")
    assert status == 2 and SHOWN in said and is_clean(said)
