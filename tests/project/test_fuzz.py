"""The first inputs of `make fuzz`: damaged and hostile files against the guarantees for them."""
from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest
from helpers.places import ROOT
from helpers.short_or_long import LONG

sys.path.insert(0, str(ROOT / "tools"))

from fuzzing import policies, running, traces  # noqa: E402

COUNTS = {"checkpoints": 80, "inis": 80, "runs": 20, "sweeps": 10, "reports": 20, "headers": 8,
          "commands": 6}


@pytest.mark.long
@pytest.mark.parametrize("kind", running.ALL)
def test_every_input_is_read_or_refused_with_a_sentence(kind):
    found = running.try_many(kind, range(COUNTS[kind] * (20 if LONG else 1)))
    assert not found.broken, "\n".join(found.broken[:5])
    assert found.counts["read"]
    assert found.counts["refused"] or kind == "commands" and not LONG      # six are too few


def test_policies_are_read_or_refused_under_sanitizers():
    found = policies.try_policies(100_000 if LONG else 1000)
    assert not found.broken, found.broken
    assert found.counts["read"] > 100 and found.counts["refused"] > 100


# what a file might bring about -> what is said of it
HARM = {"KeyError": lambda box: {}["x"],
        "outside/new has changed": lambda box: (box.outside / "new").touch(),
        "outside/kept opened": lambda box: (box.outside / "kept").read_text(),
        "no end": lambda box: (os.mkfifo("pipe"), Path("pipe").read_text()),
        "status": lambda box: os.kill(os.getpid(), signal.SIGKILL)}


@pytest.mark.parametrize("said", HARM)
def test_a_broken_promise_is_found(monkeypatch, said):
    """In a worker, and the inputs after it are tried."""
    def read(rng: random.Random, box) -> str:
        if rng.random() == random.Random("inis 1").random():
            HARM[said](box)
        return "read"

    monkeypatch.setitem(running.ALL, "inis", read)
    monkeypatch.setattr(running, "SLOW", 0.2)
    found = running.try_all("inis", range(4))
    assert found.inputs == 4 and found.broken
    assert all(each.startswith("seed 1: ") for each in found.broken)
    assert any(said in each for each in found.broken), found.broken


@pytest.mark.parametrize("line, breach", [
    ('7 openat(5</w/inside>, "a", O_WRONLY|O_CREAT, 0666) = 6</w/inside/a>', None),
    ('7 openat(AT_FDCWD</w/inside>, "b", O_WRONLY) = 6</w/outside/kept>', "openat /w/outside/kept"),
    ('7 openat(AT_FDCWD</w/inside>, "b", O_RDONLY) = 6</w/outside/kept>', "openat /w/outside/kept"),
    ('7 openat(AT_FDCWD</w/inside>, "/usr/lib/a", O_RDONLY) = 6</usr/lib/a>', None),
    ('7 openat(AT_FDCWD</w/inside>, "/etc/a", O_RDWR) = 6</etc/a>', "openat /etc/a"),
    ('7 openat(AT_FDCWD</w/inside>, "/etc/a", O_RDWR) = -1 EACCES (Permission denied)', None),
    ('7 unlinkat(5</w/inside/runs>, "../../outside/kept", 0) = 0', "unlinkat /w/outside/kept"),
    ('7 rename("/w/inside/a", "/w/b") = 0', "rename /w/b"),
    ('7 symlinkat("/etc/passwd", 5</w/inside>, "a") = 0', None),
    ('7 connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(9)}, 16) = -1 E', "connect("),
    ('7 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/x"}, 16) = -1 ENOENT (No)', None)])
def test_what_strace_shows_is_understood(line, breach):
    found = traces.breach(line, "/w", ("/w/inside",))
    assert found is None if breach is None else found.startswith(breach)
