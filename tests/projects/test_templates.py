"""templates/: the games against models of their rules, and against their own comments."""
from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import yaml
from helpers.places import ROOT
from helpers.short_or_long import LONG, long_only, short_or_long

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.cli.commands import COMMANDS
from puffer_sdk.env import binding, build, header, open_env
from puffer_sdk.projects import env_names, scaffold
from puffer_sdk.raylib import headers
from puffer_sdk.settings import config
from puffer_sdk.toolchain import compilers

NAMES = ("squared", "target")
FORMS5 = ("squared5", "target5", "duel5", "picture5")      # in PufferLib 5.0's form
FORMS = (*NAMES, "duel", "world", "picture", *FORMS5)
TEMPLATES = ROOT / "templates"
CHILD = {**os.environ, "PYTHONPATH": str(ROOT)}         # finds this puffer_sdk from any folder
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror"]
SANITIZE = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """All templates in both forms, scaffolded: {"squared": folder, "squared5": folder, ...}."""
    root = tmp_path_factory.mktemp("projects")
    return {name: scaffold.new(name, template=name.strip("5"), output_dir=root,
                               dialect="5" if name.endswith("5") else "4").folder
            for name in FORMS}


@pytest.fixture(params=FORMS)
def project(request, projects):
    return projects[request.param]


def struct(folder):
    return env_names.struct_name(folder.name)


def fixed_addresses():
    """Sanitizers of some compilers fail under strong address randomisation."""
    ctypes.CDLL(None).personality(0x0040000)


def compile_c(folder, *arguments):
    """One command of the compiler there is."""
    command = [*compilers.find_compiler().command, "-std=gnu11", f"-I{headers.headers()}",
               f"-I{folder}", *map(str, arguments), "-lm"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result


def run_c(program):
    result = subprocess.run([program], capture_output=True, text=True, timeout=60,
                            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
                            preexec_fn=fixed_addresses)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS5)
def test_both_forms_play_the_same_bytes(form, projects):
    """The same seeds and actions: observations, rewards, terminals, masks and logs."""
    for seed in short_or_long([7], [0, 7]):
        four, five = (_played(projects[name], seed) for name in (form.strip("5"), form))
        assert four[0] and four == five


def _played(folder, seed, steps=300):
    """All that happened in legal random play, as bytes, and the log."""
    rng, trace = np.random.default_rng(seed), []
    with open_env.make(folder, num_envs=16, seed=seed) as vec:
        trace.append(vec.reset().tobytes())
        widths = np.cumsum(vec.act_sizes)[:-1]
        for _ in range(steps):
            legal = np.ones((vec.num_agents, sum(vec.act_sizes)), np.uint8) \
                if vec.action_mask is None else vec.action_mask.copy()
            wishes = np.split(rng.random(legal.shape) * legal, widths, axis=1)
            vec.actions[:] = np.stack([each.argmax(1) for each in wishes], 1)
            trace += [each.tobytes() for each in vec.step()[:3]] + [legal.tobytes()]
        return b"".join(trace), vec.log()


# -- the C ---------------------------------------------------------------------------

@pytest.mark.parametrize("language", ["c11", "c++17"])
@pytest.mark.parametrize("name, macro", [
    *((name, None) for name in FORMS), *((name, "PUFFER_DEVICE") for name in NAMES),
    *((name, "PUFFERCPU_EVAL_MAIN") for name in FORMS5)])
def test_header_compiles_without_a_warning(name, macro, language, projects, tmp_path):
    project = projects[name]
    source = tmp_path / ("main.c" if language == "c11" else "main.cc")
    source.write_text(f'#include "{project.name}.h"\nint main(void) {{ return 0; }}\n')
    compiler = "gcc" if language == "c11" else "g++"
    command = [compiler, f"-std={language}", *STRICT, f"-I{project}", "-fsyntax-only", str(source)]
    command += [f"-D{macro}"] if macro else []
    if macro != "PUFFER_DEVICE":        # on a device there is no raylib at all
        command += ["-isystem", paths.include_dir(), "-isystem", headers.headers()]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


HARNESS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int live;        // blocks allocated and not freed; LeakSanitizer does not work everywhere
static void* counted_calloc(size_t count, size_t size) { live++; return calloc(count, size); }
static void counted_free(void* block) { live -= block != NULL; free(block); }
#define calloc counted_calloc
#define free   counted_free
#define malloc(size) counted_calloc(1, size)
#include "NAME.h"

// Twins with the same seed and actions, in buffers that hold different rubbish. All that they
// write must agree: what does not was left as it was
static STRUCT* make(void) {
    STRUCT* env = calloc(1, sizeof *env);
    env->num_agents = 1;
    env->rng = 7;
    SETTINGS
    init(env);
    size_t rows = (size_t)env->num_agents, bytes = rows * (size_t)OBS_SIZE;
    env->observations = malloc(bytes * sizeof *env->observations);
    env->actions = malloc(rows * HEADS * sizeof(float));
    env->rewards = malloc(rows * sizeof(float));
    env->terminals = malloc(rows * sizeof(float));
    return env;
}

static void poison(void* buffer, size_t bytes, int number) {
    memset(buffer, number ? 0x5A : 0xFF, bytes);        // 0xFF: NaN, where floats are
}

static void expect_same(STRUCT** twin, int step, int check_rewards) {
    STRUCT* env = twin[0];
    size_t rows = (size_t)env->num_agents, row = (size_t)OBS_SIZE * sizeof *env->observations;
    int same = !memcmp(twin[0]->observations, twin[1]->observations, rows * row);
    if (check_rewards) {
        same &= !memcmp(twin[0]->rewards, twin[1]->rewards, rows * sizeof(float));
        same &= !memcmp(twin[0]->terminals, twin[1]->terminals, rows * sizeof(float));
        for (size_t i = 0; i < rows; i++) {
            same &= env->terminals[i] == 0.0f || env->terminals[i] == 1.0f;
        }
    }
    if (!same) {
        printf("the twins differ at step %d\n", step);
        exit(1);
    }
}

int main(void) {
    STRUCT* twin[2] = {make(), make()};
    const int widths[] = ACT_SIZES;
    unsigned dice = 1;
    for (int step = 0; step < STEPS; step++) {
        for (int t = 0; t < 2; t++) {
            STRUCT* env = twin[t];
            size_t rows = (size_t)env->num_agents;
            poison(env->rewards, rows * sizeof(float), t);
            poison(env->terminals, rows * sizeof(float), t);
            if (step % 1000 == 0) {
                poison(env->observations, rows * (size_t)OBS_SIZE * sizeof *env->observations, t);
                c_reset(env);
            }
        }
        if (step % 1000 == 0) {
            expect_same(twin, step, 0);
        }
        for (int i = 0; i < twin[0]->num_agents * HEADS; i++) {
            dice = dice * 1664525u + 1013904223u;
            int action = (int)((dice >> 8) % (unsigned)widths[i % HEADS]);
            twin[0]->actions[i] = twin[1]->actions[i] = (float)action;
        }
        c_step(twin[0]);
        c_step(twin[1]);
        expect_same(twin, step, 1);
    }
    for (int t = 0; t < 2; t++) {
        c_render(twin[t]);
        c_close(twin[t]);
        free(twin[t]->observations);
        free(twin[t]->actions);
        free(twin[t]->rewards);
        free(twin[t]->terminals);
        free(twin[t]);
    }
    printf("%d blocks left\n", live);
    return 0;
}
"""

SETTINGS = {
    "squared": ["env->size = 11;", "env->size = 2;", "env->size = 1;", "env->size = 12;"],
    "target": ["env->num_agents = 8; env->num_goals = 4; env->width = 952; env->height = 592;",
               "env->num_agents = 1; env->num_goals = 9; env->width = 100; env->height = 300;"],
}


@pytest.mark.long
@pytest.mark.parametrize("name, settings", [
    (n, s) for n in NAMES for s in short_or_long(SETTINGS[n][:1], SETTINGS[n])])
def test_twins_under_sanitizers_agree(name, settings, projects, tmp_path):
    """100 000 random agent steps: no bad access, no leak, and nothing left unwritten."""
    text = HARNESS.replace("STRUCT", struct(projects[name])).replace("NAME", name)
    heads = 1 if name == "squared" else 2
    source = tmp_path / "twins.c"
    source.write_text(text.replace("SETTINGS", settings).replace("HEADS", str(heads)))
    steps = 100_000 if name == "squared" else 25_000
    compile_c(projects[name], *SANITIZE, f"-DSTEPS={steps}", source, headers.null_source(),
              "-o", tmp_path / "twins")
    assert run_c(tmp_path / "twins") == "0 blocks left\n"


@long_only
@pytest.mark.parametrize("name", NAMES)
def test_standalone_program_plays(name, projects, tmp_path):
    """NAME.c as it stands, with a window that is closed after 500 frames."""
    project = projects[name]
    settings = config.resolve(project).env
    build.build(project, env_settings=settings)
    stop = tmp_path / "stop.c"
    stop.write_text("#include <stdbool.h>\n#include <stdio.h>\n"
                    "bool stop(void) { static int n; if (++n > 500) puts(\"500 frames\");"
                    " return n > 500; }\n")
    compile_c(project, "-c", *STRICT, *SANITIZE, "-DWindowShouldClose=stop",
              project / f"{project.name}.c", "-o", tmp_path / "main.o")
    compile_c(project, *SANITIZE, tmp_path / "main.o", stop, headers.null_source(),
              "-o", tmp_path / "program")
    assert run_c(tmp_path / "program") == "500 frames\n"
    source = (project / f"{project.name}.c").read_text()
    for value in settings.values():
        assert not re.search(rf"\b{value:g}\b", source), "the .ini alone says this"


def test_the_program_of_5_0_waits_for_a_key(projects, tmp_path):
    """While SHIFT is held alone: an id of -1 is no move."""
    project = projects["duel5"]
    spec = header.read(project)
    build.build(project)
    binding.write_config_header(spec, config.resolve(project).env, project / "build")
    program = binding.write_program(spec, project / "build")
    stop = tmp_path / "stop.c"
    stop.write_text("#include <stdbool.h>\n#include <stdio.h>\n"
                    "bool stop(void) { static int n; if (++n > 99) puts(\"99 frames\");"
                    " return n > 99; }\n"
                    "bool held(int key) { return key == 340; }      // KEY_LEFT_SHIFT\n"
                    "double now(void) { static int n; return ++n; }\n")
    compile_c(project, "-c", *SANITIZE, f"-I{paths.include_dir()}", "-DWindowShouldClose=stop",
              "-DIsKeyDown=held", "-DGetTime=now", program, "-o", tmp_path / "main.o")
    compile_c(project, *SANITIZE, tmp_path / "main.o", stop, headers.null_source(),
              "-o", tmp_path / "program")
    assert run_c(tmp_path / "program") == "99 frames\n"


# -- the rules of Squared, by a model that shares no line with the C -------------------

class SquaredModel:
    def __init__(self, board, size):
        self.size = size
        self.begin(board)

    def begin(self, board):
        """An episode as its first observation shows it."""
        board = board.reshape(self.size, self.size)
        assert np.count_nonzero(board) == 2
        self.agent = [int(v) for v in np.argwhere(board == 1)[0]]
        self.target = [int(v) for v in np.argwhere(board == 2)[0]]
        self.tick = 0
        assert self.agent == [self.size // 2] * 2

    def step(self, action):
        row, col = {0: (0, 0), 1: (1, 0), 2: (-1, 0), 3: (0, -1), 4: (0, 1)}[action]
        self.agent = [self.agent[0] + row, self.agent[1] + col]
        self.tick += 1
        if min(self.agent) < 0 or max(self.agent) >= self.size or self.tick > 3 * self.size:
            return -1, 1
        return (1, 1) if self.agent == self.target else (0, 0)

    def board(self):
        board = np.zeros((self.size, self.size), np.uint8)
        board[tuple(self.target)] = 2
        board[tuple(self.agent)] = 1
        return board.ravel()


@pytest.mark.parametrize("size", [2, 3, 8, 11])
def test_squared_plays_by_its_rules(size, projects):
    rng = np.random.default_rng(size)
    endings = {"won": 0, "outside": 0, "late": 0}
    lengths = []
    with open_env.make(projects["squared"], num_envs=16, seed=3,
                      env_settings={"size": size}) as envs:
        assert envs.obs_size == size * size and envs.act_sizes == (5,)
        assert envs.observations.dtype == np.uint8
        models = [SquaredModel(board, size) for board in envs.reset()]
        for tick in range(1500):
            # half of them mostly wait, so that some run out of time
            actions = rng.integers(0, 5, 16) * (rng.random(16) < [1.0, 0.1][tick // 400 % 2])
            envs.actions[:, 0] = actions
            boards, rewards, terminals, truncations = envs.step()
            for i, model in enumerate(models):
                assert (rewards[i], terminals[i]) == model.step(int(actions[i])), (tick, i)
                if terminals[i]:
                    lengths.append(model.tick)
                    endings["won" if rewards[i] > 0 else
                            "late" if model.tick > 3 * size else "outside"] += 1
                    model.begin(boards[i])
                assert (boards[i] == model.board()).all(), (tick, i)
        log = envs.log()
    assert not truncations.any()
    assert min(endings.values()) > 5, endings
    total = sum(endings.values())
    assert log["n"] == total
    assert log["perf"] == pytest.approx(endings["won"] / total)
    assert log["score"] == log["episode_return"] == pytest.approx(
        (2 * endings["won"] - total) / total, abs=1e-6)
    assert log["episode_length"] == pytest.approx(np.mean(lengths))


def test_squared_puts_the_target_anywhere_else_equally_often(projects):
    with open_env.make(projects["squared"], num_envs=20_000, seed=1,
                      env_settings={"size": 5}) as envs:
        counts = (envs.reset() == 2).sum(0)
    assert counts[12] == 0
    others = np.delete(counts, 12)
    assert (np.abs(others - 20_000 / 24) < 5 * np.sqrt(20_000 / 24)).all()


def test_squared_ticks_beyond_the_last_chance_lose(projects):
    """Reaching the target one tick too late is too late."""
    with open_env.make(projects["squared"], num_envs=64, seed=1, env_settings={"size": 3}) as envs:
        boards = envs.reset().copy()
        beside = np.flatnonzero(boards[:, 1] == 2)[0]       # target straight above the centre
        envs.actions[:] = 0
        for _ in range(9):
            _, _, terminals, _ = envs.step()
            assert not terminals.any()
        envs.actions[:] = 2
        _, rewards, terminals, _ = envs.step()
        assert (rewards[beside], terminals[beside]) == (-1, 1)


# -- the rules of Target ---------------------------------------------------------------

class TargetModel:
    """One field. Places that the dice decide are taken from the observations, then followed."""

    def __init__(self, rows, agents, goals, size):
        self.size, self.num_goals = np.array(size, float), goals
        self.place = rows[:, -2:] * self.size
        self.heading, self.speed = np.zeros(agents), np.zeros(agents)
        self.reward, self.idle = np.zeros(agents), np.zeros(agents, int)
        self.goal = self.goals_seen(rows)

    def goals_seen(self, rows):
        return rows[0, :2 * self.num_goals].reshape(-1, 2) * self.size + self.place[0]

    def move(self, actions):
        self.heading = (self.heading + (actions[:, 0] - 4) / 12) % (2 * np.pi)
        self.speed = np.clip(self.speed + actions[:, 1] - 2, -20, 20)
        way = np.stack([np.cos(self.heading), np.sin(self.heading)], 1) * self.speed[:, None]
        self.place = np.clip(self.place + way, 0, self.size)
        self.idle += 1

    def observe(self):
        def offsets(points):
            return ((points[None] - self.place[:, None]) / self.size).reshape(len(self.place), -1)

        return np.concatenate([
            offsets(self.goal), offsets(self.place), self.heading[:, None] / (2 * np.pi),
            self.reward[:, None], self.place / self.size], 1)


@pytest.mark.parametrize("agents, goals, size", [(8, 4, (952, 592)), (3, 5, (1500, 2500))])
def test_target_plays_by_its_rules(agents, goals, size, projects):
    rng = np.random.default_rng(agents)
    reached = respawned = 0
    settings = {"num_agents": agents, "num_goals": goals, "width": size[0], "height": size[1]}
    perf = lengths = 0.0
    with open_env.make(projects["target"], num_envs=1, seed=2, env_settings=settings) as envs:
        assert envs.obs_size == 2 * goals + 2 * agents + 4 and envs.act_sizes == (9, 5)
        model = TargetModel(envs.reset().astype(float), agents, goals, size)
        for tick in range(6000):
            lazy = np.arange(agents) == 0           # agent 0 only ever waits
            actions = rng.integers(0, (9, 5), (agents, 2))
            actions[lazy] = (4, 2)
            envs.actions[:] = actions
            rows, rewards, terminals, _ = envs.step()
            rows = rows.astype(float)
            assert not terminals.any()
            model.move(actions)
            distance = np.hypot(*(model.goal[None] - model.place[:, None]).transpose(2, 0, 1))
            nearest = distance.min(1)
            if (np.abs(nearest - 64) > 0.01).all():
                # the first in line gets its goal; where that goes, another may be in luck
                near = nearest < 64
                assert rewards.any() == near.any(), tick
                assert rewards[near.argmax()] == near.any(), tick
            model.reward = rewards.astype(float)
            for a in np.flatnonzero(rewards):
                reached += 1
                perf += max(0, 1 - 0.01 * model.idle[a])
                lengths += model.idle[a]
                model.idle[a] = 0
            for a in np.flatnonzero((model.idle > 0) & (model.idle % 512 == 0)):
                respawned += 1
                model.place[a] = rows[a, -2:] * model.size
                model.heading[a] = model.speed[a] = 0
            if rewards.any():
                model.goal = model.goals_seen(rows)
            apart = rows - model.observe()
            apart[:, -4] = (apart[:, -4] + 0.5) % 1 - 0.5       # 0.9999 of a circle is near 0
            assert np.abs(apart).max() < 1e-5, tick
            # go on from what was seen, because float32 drifts from float64
            model.place, model.heading = rows[:, -2:] * model.size, rows[:, -4] * 2 * np.pi
            model.goal = model.goals_seen(rows)
        log = envs.log()
    assert reached > 10 and respawned > 2
    assert log["n"] == reached
    assert log["score"] == log["episode_return"] == 1
    assert log["perf"] == pytest.approx(perf / reached, rel=1e-4)
    assert log["episode_length"] == pytest.approx(lengths / reached)


def test_target_turns_left_across_zero(projects):
    with open_env.make(projects["target"], num_envs=1, seed=1) as envs:
        envs.reset()
        envs.actions[:] = (0, 2)
        seen = [float(envs.step()[0][0, -4]) for _ in range(40)]
    expected = (-np.arange(1, 41) * 4 / 12 / (2 * np.pi)) % 1
    assert np.allclose(seen, expected, atol=1e-4)
    assert min(seen) >= 0 and max(seen) < 1


# -- the words -------------------------------------------------------------------------

def load_tests(folder):
    """The scaffolded project's own tests, as a module."""
    path = folder / "tests" / f"test_{folder.name}.py"
    spec = importlib.util.spec_from_file_location(f"scaffolded_{folder.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_numbers_in_squareds_comments(projects):
    folder = projects["squared"]
    text = " ".join((folder / "squared.h").read_text().replace("//", "").split())
    size, odds, nothing, ticks = map(float, re.search(
        r"Measured at size (\d+): acting at random wins 1 episode in (\d+), staying put wins "
        r"(\d+), and walking straight to the target wins all, in ([\d.]+) ticks", text).groups())
    tests = load_tests(folder)
    assert config.resolve(folder).env["size"] == size
    assert tests.play(tests.act_randomly, 2000)[1]["perf"] == pytest.approx(1 / odds, rel=0.05)
    assert tests.play(tests.stay, 500)[1]["perf"] == nothing
    walking = tests.play(tests.walk_to_target, 1000)[1]
    assert walking["perf"] == 1
    assert walking["episode_length"] == pytest.approx(ticks, abs=0.05)


@long_only
def test_numbers_in_targets_comments(projects):
    folder = projects["target"]
    text = " ".join((folder / "target.h").read_text().replace("//", "").split())
    agents, goals, ticks, idle, dice, nearest, polite = map(float, re.search(
        r"Measured with (\d+) agents and (\d+) goals over (\d+) ticks, in goals per agent: doing "
        r"nothing ([\d.]+), acting at random ([\d.]+), all steering at the nearest goal ([\d.]+)"
        r"\. .*? closer to it ([\d.]+):", text).groups())
    env = config.resolve(folder).env
    assert (env["num_agents"], env["num_goals"]) == (agents, goals)
    tests = load_tests(folder)
    for pilot, claimed in ((tests.do_nothing, idle), (tests.act_randomly, dice),
                           (tests.steer_at_nearest, nearest),
                           (tests.leave_to_whoever_is_closer, polite)):
        measured = tests.play(pilot, int(ticks), num_envs=128, seed=5)[1]
        assert measured == pytest.approx(claimed, rel=0.08, abs=0.06), pilot.__name__


@long_only
def test_a_scaffolded_project_passes_its_own_tests(project):
    result = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                             str(project)], capture_output=True, text=True, cwd=project,
                            stdin=subprocess.DEVNULL, env=CHILD)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "failed" not in result.stdout and "skipped" not in result.stdout


def test_headers_are_short_and_well_commented(project):
    lines = (project / f"{project.name}.h").read_text().splitlines()
    commented = sum("//" in line or line.lstrip().startswith(("/*", "*")) for line in lines)
    code = sum(bool(line.strip()) for line in lines)
    most = 290 if project.name.endswith("5") else 260       # what is in NAME.c of 4.0
    most = 180 if project.name in ("duel", "world", "picture") else most
    assert len(lines) <= most and max(map(len, lines)) <= 100
    assert commented / code > 1 / 3


def test_settings_are_all_known_and_commented(project):
    ini = project / f"{project.name}.ini"
    settings = config.resolve(project, spec=build.header.read(project))
    assert settings.base.env_name == project.name
    sections = re.findall(r"^\[(\w+)\]$", ini.read_text(), re.MULTILINE)
    assert [each for each in sections if each != "selfplay"] == [
        "base", "env", "vec", "policy", "train", "eval", "check"]
    for line in ini.read_text().splitlines():
        assert line.startswith(("#", "[")) or not line or re.fullmatch(r"\w+ = [^#;]+", line)


def test_whole_envs_fill_the_agents(project):
    settings = config.resolve(project)
    with open_env.make(project, total_agents=settings.vec.total_agents,
                  num_buffers=settings.vec.num_buffers) as envs:
        assert envs.num_agents == settings.vec.total_agents
    segments = settings.train.minibatch_size / settings.train.horizon
    assert segments == int(segments) and segments <= settings.vec.total_agents


def test_readme_names_files_and_commands_that_exist(project):
    text = (project / "README.md").read_text()
    named = re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)
    programs = [] if project.name.endswith("5") else [f"{project.name}.c"]
    assert named == [f"{project.name}.h", f"{project.name}.ini", *programs, "tests/"]
    assert all((project / file).exists() for file in named)
    header_text = (project / f"{project.name}.h").read_text()
    assert all(f"{name}(" in header_text for name in re.findall(r"`((?:c|puf)_\w+)`", text))
    commands = re.findall(r"^    puffer-sdk (\w+)", text, re.MULTILINE)
    judged = ["eval", "eval", "match"] if project.name.startswith("duel") else ["eval"]
    assert commands == ["check", "build", "train", *judged, "build", "build", "build"]
    assert set(commands) <= set(COMMANDS)
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    script = f"{code}\nassert len(observations) == vec.num_agents == len(rewards)\n"
    result = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True,
                            text=True, env=CHILD)
    assert result.returncode == 0, result.stderr


def test_clangd_finds_what_build_writes(project):
    build.build(project)
    folder = yaml.safe_load((project / ".clangd").read_text())["CompileFlags"]
    assert (project / folder["CompilationDatabase"] / "compile_commands.json").is_file()


def test_what_templates_share_is_the_same():
    for file in ("cookiecutter.json", *(f"{{{{cookiecutter.name}}}}/{each}" for each in (
            ".clangd", ".gitignore", ".github/workflows/check.yml",
            ".github/workflows/comment.yml"))):
        assert len({(TEMPLATES / name / file).read_bytes() for name in env_names.TEMPLATES}) == 1


def test_a_long_name_builds(tmp_path):
    name = "_".join(["long"] * 12) + "_name"
    for template in env_names.TEMPLATES:
        made = scaffold.new(name, template=template, output_dir=tmp_path / template)
        with open_env.make(made.folder) as envs:
            assert envs.reset().any()


# -- two players ------------------------------------------------------------------

@pytest.mark.parametrize("seed", short_or_long([1], [1, 2, 3, 4, 5]))
def test_self_play_beats_random_play_and_holds_against_the_scripted_player(
        seed, projects, tmp_path):
    """With the template's own settings; in the short form, a sixteenth of its steps."""
    settings = {"train.seed": seed} if LONG else {"train.total_timesteps": 1_000_000}
    run = puffer_sdk.train(projects["duel"], settings, runs_dir=tmp_path)
    pairs = puffer_sdk.match(projects["duel"], [str(run.folder), "random", "bot:1"],
                             games=400 if LONG else 100).pairings
    against = {pair.second: pair.share for pair in pairs if pair.first != "random"}
    assert against["random"] > (0.85 if LONG else 0.6)
    assert against["bot:1"] > (0.35 if LONG else 0.05)


# -- lives ------------------------------------------------------------------------

@pytest.mark.parametrize("seed", short_or_long([1], [1, 2, 3, 4, 5]))
def test_cells_learn_to_divide_and_their_ponds_fill(seed, projects, tmp_path):
    """With the template's own settings; in the short form, a quarter of its steps."""
    settings = {"train.seed": seed} if LONG else {"train.total_timesteps": 1_000_000}
    run = puffer_sdk.train(projects["world"], settings, runs_dir=tmp_path)
    scores = puffer_sdk.evaluate(projects["world"], model=run.folder, runs_dir=tmp_path).scores
    trained, dice = scores["trained"].mean, scores["random"].mean
    assert trained["perf"] > (0.9 if LONG else 0.4) and dice["perf"] < 0.28
    assert trained["crowd"] > (15 if LONG else 11) > dice["crowd"]


# -- a picture --------------------------------------------------------------------

@pytest.mark.parametrize("seed", short_or_long([1], [1, 2, 3, 4, 5]))
def test_boats_find_wrecks_by_the_picture_alone(seed, projects, tmp_path):
    """With the template's own settings; in the short form, a sixth of its steps."""
    settings = {"train.seed": seed} if LONG else {"train.total_timesteps": 250_000}
    run = puffer_sdk.train(projects["picture"], settings, runs_dir=tmp_path)
    assert "encoder = image 0 48x48x1" in (run.folder / "config.ini").read_text()
    scores = puffer_sdk.evaluate(projects["picture"], model=run.folder, runs_dir=tmp_path).scores
    assert scores["trained"].mean["perf"] > (0.9 if LONG else 0.3)
    assert scores["random"].mean["perf"] < 0.1
