"""PUF115: what acts outside the game is named, with what the machine answered."""
from __future__ import annotations

import shutil

import pytest
from helpers.check_fixtures import short_check
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only

TRIES = r"""
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
static const char* words[2] = {"/etc/shado" "w-of-none", "no-such-program-here 2> /dev/null"};
static FILE* (*quietly)(const char*, const char*) = fopen;      // no call that the source shows
static inline unsigned long ticks(void) { unsigned long t; __asm__("" : "=r"(t)); return t; }
static void tries(void) {
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = 2304};
    inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
    quietly(words[0], "r");
    int line = socket(AF_INET, SOCK_STREAM, 0);
    connect(line, (struct sockaddr*)&there, sizeof there);
    close(line);
    if (system(words[1])) setenv("NOTED", "1", 1);
    dlopen("libno-such-library.so", RTLD_NOW);
}
void __attribute__((constructor, used)) early(void) { tries(); }
static void never(void) { signal(SIGINT, SIG_IGN); execlp("sh", "sh", "-c", "true", NULL); }
"""


@pytest.fixture
def bandit(tmp_path):
    """bandit(code, init): the correct specimen with this code, and an init of this body."""
    def make(code: str, init: str = ""):
        folder = shutil.copytree(SPECIMENS / "correct" / "bandit", tmp_path / "bandit",
                                 ignore=shutil.ignore_patterns("build"))
        header = folder / "bandit.h"
        text = header.read_text().replace("#pragma once", "#pragma once\n" + code)
        header.write_text(text + f"\nvoid init(Bandit* env) {{ (void)env; {init} }}\n")
        return folder
    return make


def test_each_way_out_is_named_with_the_answer(bandit):
    folder = bandit(TRIES)
    result = short_check(folder)
    lines = (folder / "bandit.h").read_text().splitlines()
    found = {(lines[f.line - 1].strip().split("(")[0].split()[-1], f.message.partition(",")[0]):
             f.actual for f in result.findings if f.code == "PUF115"}
    more = result.more.get("PUF115", 0)
    assert len(found) == 8 and more == 2            # of one rule, eight are listed
    said = {message: actual for (_, message), actual in found.items()}
    assert said["a constructor runs without being called"].startswith("__attribute__((constructor")
    assert "there is inline assembly" in said
    asked = {(one["call"], one["what"]): one["denied"]
             for one in result.to_dict()["coverage"]["asked"]}
    assert asked[("fopen", "/etc/shadow-of-none")] == "No such file or directory"
    assert asked[("connect", "127.0.0.1:9")] != ""      # refused, or no network at all
    assert asked[("system", "no-such-program-here 2> /dev/null")] == ""
    assert asked[("dlopen", "libno-such-library.so")] != ""
    assert not any(what == "sh" for _, what in asked)           # `never` was never called


@long_only
def test_calls_that_nothing_reaches_are_named_as_well(bandit):
    includes, never = TRIES.partition("static const")[0], TRIES.splitlines()[-1]
    folder = bandit(f"{includes}\n{never}\n")
    messages = [f.message for f in short_check(folder).findings if f.code == "PUF115"]
    assert sorted(messages) == [
        "never calls execlp(), which starts a program",
        "never calls signal(), which takes signals from the trainer, or sends them"]


def test_a_game_may_read_its_own_files(bandit):
    """And its NAME.c, a program of its own, may do what it likes."""
    folder = bandit("#include <stdio.h>\n#include \"puffer_os.h\"\n",
                    'FILE* file = fopen("resources/arms.txt", "r"); if (file) fclose(file);'
                    " env->rng += puffer_resident_kb() < 0;")
    (folder / "resources").mkdir()
    (folder / "resources" / "arms.txt").write_text("4\n")
    (folder / "bandit.c").write_text('#include "bandit.h"\n#include <stdlib.h>\n'
                                     '__attribute__((constructor)) static void f(void) {}\n'
                                     'int main(void) { return system("ls"); }\n')
    result = short_check(folder)
    assert "PUF115" not in {f.code for f in result.findings}
    assert result.to_dict()["coverage"]["asked"] == []
