"""scaffold.py and `puffer-sdk new`: names, templates, and what happens to files."""
from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk.base import files
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.projects import env_names, scaffold
from puffer_sdk.raylib import headers

FILES = {".clangd", ".github/workflows/check.yml", ".github/workflows/comment.yml", ".gitignore",
         "AGENTS.md", "README.md", "walker.c", "walker.h", "walker.ini", "tests/test_walker.py"}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Each test stands in an empty folder that is in no repository."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*args, env=None, cwd=None, **more):
    """`python -m puffer_sdk ARGS` in a child, with no terminal."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run([sys.executable, "-m", "puffer_sdk", *map(str, args)], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, env=environment,
                          cwd=cwd, **more)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes()
            for p in folder.rglob("*") if p.is_file()}


def make_template(folder: Path, *, header="// {{ cookiecutter.name }}\n", hook=None, **context):
    """A small cookiecutter template from elsewhere."""
    project = folder / "{{cookiecutter.name}}"
    project.mkdir(parents=True)
    (folder / "cookiecutter.json").write_text(json.dumps({"name": "x", **context}))
    (project / "{{cookiecutter.name}}.h").write_text(header)
    if hook:
        (folder / "hooks").mkdir()
        (folder / "hooks" / "post_gen_project.py").write_text(hook)
    return folder


# -- names ---------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["a", "x", "my_env", "env2", "x" * 64, "squared", "target"])
def test_good_names(name):
    env_names.validate_name(name)


@pytest.mark.parametrize("name, says, hint", [
    ("my-env", "letters a-z", "new my_env"),
    ("my env", "letters a-z", "new my_env"),
    ("MyEnv", "lower case", "new my_env"),
    ("2048", "begins with a letter", "new env_2048"),
    ("_hidden", "begins with '_'", "new hidden"),
    ("größe", "letters a-z", "new grosse"),
    ("", "empty", "new my_env"),
    ("---", "letters a-z", "new my_env"),
    ("x" * 65, "65 characters", "new " + "x" * 64),
    ("int", "keyword of C", "new int_env"),
    ("restrict", "keyword of C", "new restrict_env"),
    ("constexpr", "keyword of C", "new constexpr_env"),
    ("xor", "keyword of C", "new xor_env"),
    ("math", "math.h", "new math_env"),
    ("string", "string.h", "new string_env"),
    ("time", "time.h", "new time_env"),
    ("raylib", "raylib.h", "new raylib_env"),
    ("raymath", "raymath.h", "new raymath_env"),
    ("rlgl", "rlgl.h", "new rlgl_env"),
    ("vecenv", "vecenv.h", "new vecenv_env"),
    ("pufferenv", "pufferenv.h", "new pufferenv_env"),
    ("log", "struct would be Log", "new log_env"),
    ("color", "struct would be Color", "new color_env"),
    ("draw_circle", "struct would be DrawCircle", "new draw_circle_env"),
    ("agent", "struct would be Agent", "new agent_env"),
    ("envs/walker", "letters a-z", "new walker --output-dir envs"),
    ("../walker", "letters a-z", "new walker --output-dir .."),
    ("walker\n", "letters a-z", "new walker"),
    ("my_env;rm -rf", "letters a-z", "new my_env_rm_rf"),
])
def test_bad_names_are_refused_with_a_better_one(name, says, hint, here):
    with pytest.raises(UsageError) as caught:
        scaffold.new(name)
    assert says in caught.value.message
    assert hint in caught.value.hint
    assert not any(here.iterdir())
    if "--output-dir" not in hint:
        assert env_names.name_problem(env_names.suggest_name(name)) is None


def test_no_type_of_raylib_can_be_a_struct():
    text = (headers.headers() / "raylib.h").read_text()
    types = set(re.findall(r"^}? *(?:typedef \w+ )?([A-Z]\w+);", text, re.MULTILINE))
    assert {"Color", "Camera", "Vector2", "Texture2D"} <= types
    snake = {t: re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", t).lower() for t in types}
    reachable = {s for t, s in snake.items() if env_names.struct_name(s) == t}
    assert len(reachable) > 30
    assert [name for name in reachable if env_names.name_problem(name) is None] == []


def test_struct_name_is_what_the_template_computes():
    scaffold.new("my_2d_env")
    assert "typedef struct My2dEnv {" in Path("my_2d_env/my_2d_env.h").read_text()
    assert env_names.struct_name("my_2d_env") == "My2dEnv"


# -- making --------------------------------------------------------------------------

@pytest.mark.parametrize("template", env_names.TEMPLATES)
def test_makes_the_project_and_says_so(template, here):
    made = scaffold.new("walker", template=template)
    assert made.folder == here / "walker"
    assert set(made.files) == FILES
    assert {f for f in contents(made.folder) if not f.startswith(".git/")} == FILES
    assert list(here.iterdir()) == [made.folder]        # nothing else is left behind
    for file in FILES:
        text = (made.folder / file).read_text()
        assert "cookiecutter" not in text and "{%" not in text, file


def test_an_existing_target_is_refused_and_untouched(here):
    (here / "empty").mkdir()
    (here / "file").write_text("mine")
    (here / "link").symlink_to("nowhere")
    (here / "full").mkdir()
    (here / "full/full.h").write_text("mine")
    before = contents(here)
    for name in ("empty", "file", "link", "full"):
        with pytest.raises(UsageError, match="exists"):
            scaffold.new(name)
        with pytest.raises(UsageError, match="exists"):
            scaffold.new(name, dry_run=True)
    for name in ("file", "link"):
        with pytest.raises(UsageError, match="not a folder"):
            scaffold.new(name, force=True)
    assert contents(here) == before


def test_force_replaces_the_templates_files_and_keeps_the_rest(here):
    mine = here / "walker"
    (mine / "tests").mkdir(parents=True)
    (mine / "walker.h").write_text("old")
    (mine / "notes.txt").write_text("keep me")
    (mine / "tests/test_more.py").write_text("keep me too")
    made = scaffold.new("walker", force=True)
    assert made.replaced == ("walker.h",)
    assert "c_step" in (mine / "walker.h").read_text()
    assert (mine / "notes.txt").read_text() == "keep me"
    assert (mine / "tests/test_more.py").read_text() == "keep me too"
    assert (mine / "tests/test_walker.py").is_file()
    assert list(here.iterdir()) == [mine]


def test_force_into_a_new_folder_is_the_same_as_none(here):
    scaffold.new("walker", force=True)
    assert set(contents(here / "walker")) >= FILES


def test_force_follows_a_link_to_a_folder(here, tmp_path):
    real = tmp_path / "elsewhere" / "walker"
    real.mkdir(parents=True)
    (here / "walker").symlink_to(real)
    (here / "runner").symlink_to(real)
    scaffold.new("walker", force=True)
    assert (here / "walker").is_symlink()
    assert (real / "walker.h").is_file()
    with pytest.raises(UsageError, match="another name"):
        scaffold.new("runner", force=True)


def test_force_does_not_write_through_a_linked_file(here, tmp_path):
    precious = tmp_path / "precious.h"
    precious.write_text("precious")
    (here / "walker").mkdir()
    (here / "walker/walker.h").symlink_to(precious)
    scaffold.new("walker", force=True)
    assert precious.read_text() == "precious"


def test_force_refuses_a_folder_where_a_file_goes(here):
    (here / "walker/walker.c").mkdir(parents=True)
    (here / "walker/walker.h").write_text("old")
    with pytest.raises(UsageError, match="walker.c"):
        scaffold.new("walker", force=True)
    assert contents(here) == {"walker/walker.h": b"old"}


def test_force_puts_everything_back_when_it_fails_half_way(here, monkeypatch):
    (here / "walker").mkdir()
    for file in ("walker.h", "walker.ini", "README.md"):
        (here / "walker" / file).write_text("old " + file)
    before = contents(here)
    rename, calls = files.rename, []

    def failing(source, target):
        calls.append(target)
        if str(target).endswith("walker.h"):
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(files, "rename", lambda a, b: (
            rename(a, b) if "old-" in str(a) else failing(a, b)))
        with pytest.raises(RunError, match="No space left"):
            scaffold.new("walker", force=True)
    assert len(calls) > 5
    assert contents(here) == before
    assert not [p for p in here.iterdir() if p.name != "walker"]


def test_dry_run_writes_nothing_and_lists_what_would_be(here):
    planned = scaffold.new("walker", dry_run=True, output_dir="some/where")
    assert not any(here.iterdir())
    assert set(planned.files) == FILES
    made = scaffold.new("walker", output_dir="some/where")
    assert made.files == planned.files and made.folder == planned.folder


def test_dry_run_with_force_tells_what_would_be_replaced(here):
    (here / "walker").mkdir()
    (here / "walker/walker.c").write_text("old")
    planned = scaffold.new("walker", dry_run=True, force=True)
    assert planned.replaced == ("walker.c",)
    assert contents(here) == {"walker/walker.c": b"old"}


# -- disks ---------------------------------------------------------------------------

def test_an_output_dir_that_cannot_be_made(here):
    (here / "file").write_text("mine")
    for place in ("file", "file/below", "/proc/nowhere"):
        with pytest.raises(RunError, match="cannot write 'walker'"):
            scaffold.new("walker", output_dir=place)
    assert contents(here) == {"file": b"mine"}


@long_only
def test_a_disk_that_fills_up_leaves_nothing(here):
    """Files of more than 2 KiB fail, as on a full disk: the header is one of them."""
    code = ("import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048));"
            "from puffer_sdk.cli import main; sys.exit(main(sys.argv[1:]))")
    for extra in ([], ["--output-dir", "new/er"]):
        result = subprocess.run([sys.executable, "-B", "-c", code, "new", "walker", *extra],
                                env={**os.environ, "PYTHONPATH": str(ROOT)},
                                stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert result.returncode == 4, result.stderr
        assert "cannot write 'walker'" in result.stderr
        assert not any(here.iterdir())


def test_an_interrupt_leaves_nothing(here, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(scaffold, "move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scaffold.new("walker", output_dir="deep/er")
    assert not any(here.iterdir())


def test_two_at_once_leave_one_whole_project(here, monkeypatch):
    rename = files.rename

    def somebody_was_faster(source, target):
        if Path(target).name == "walker" and not Path(target).exists():
            Path(target).mkdir()
            (Path(target) / "walker.h").write_text("theirs")
        rename(source, target)

    monkeypatch.setattr(files, "rename", somebody_was_faster)
    with pytest.raises(UsageError, match="exists"):
        scaffold.new("walker")
    assert contents(here) == {"walker/walker.h": b"theirs"}


# -- git -----------------------------------------------------------------------------

def test_a_repository_is_made_only_outside_of_one(here):
    assert scaffold.new("walker").repository
    assert (here / "walker/.git/HEAD").is_file()
    inside = scaffold.new("inner", output_dir="walker")
    assert not inside.repository
    assert not (here / "walker/inner/.git").exists()


def test_works_inside_an_existing_project(here):
    (here / ".git").mkdir()
    (here / "pyproject.toml").write_text("[project]\nname = 'theirs'\n")
    before = contents(here)
    made = scaffold.new("walker", output_dir="envs")
    assert not made.repository
    assert {k: v for k, v in contents(here).items() if not k.startswith("envs/")} == before


def test_no_git_no_repository(here, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert not scaffold.new("walker").repository
    assert set(contents(here / "walker")) == FILES


def test_git_variables_of_the_caller_do_not_matter(here, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other.git"))
    assert scaffold.new("walker").repository
    assert (here / "walker/.git/HEAD").is_file()
    assert not (tmp_path / "other.git").exists()


def test_force_adds_a_repository_to_what_has_none(here):
    (here / "walker").mkdir()
    assert scaffold.new("walker", force=True).repository
    assert (here / "walker/.git/HEAD").is_file()


# -- templates from elsewhere --------------------------------------------------------

HOOK = "from pathlib import Path\nPath('hooked').write_text('yes')\nPath({mark!r}).touch()\n"


def test_a_template_by_path(here, tmp_path):
    made = scaffold.new("walker", template=make_template(tmp_path / "theirs"))
    assert made.files == ("walker.h",)
    assert Path("walker/walker.h").read_text() == "// walker\n"


def test_hooks_run_only_when_accepted(here, tmp_path, capsys):
    mark = tmp_path / "mark"
    theirs = make_template(tmp_path / "theirs", hook=HOOK.format(mark=str(mark)))
    scaffold.new("one", template=theirs)
    assert not mark.exists() and not (here / "one/hooked").exists()
    assert "did not run" in capsys.readouterr().err
    scaffold.new("two", template=theirs, dry_run=True, accept_hooks=True)
    assert not mark.exists()
    assert "hooked" in scaffold.new("two", template=theirs, accept_hooks=True).files
    assert mark.exists()


def test_a_hook_that_fails_leaves_nothing(here, tmp_path):
    theirs = make_template(tmp_path / "theirs", hook="raise SystemExit(3)")
    with pytest.raises(RunError, match="hook"):
        scaffold.new("walker", template=theirs, accept_hooks=True)
    assert not any(here.iterdir())


def test_a_template_by_url(here, tmp_path):
    mark = tmp_path / "mark"
    theirs = make_template(tmp_path / "git" / "theirs", hook=HOOK.format(mark=str(mark)))
    git = ["git", "-C", str(theirs), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "template"]):
        subprocess.run([*git, *command], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", theirs, tmp_path / "theirs.git"], check=True)
    url = f"file://{tmp_path}/theirs.git"
    assert run("new", "one", "--template", url).returncode == 0
    assert set(f for f in contents(here / "one") if not f.startswith(".git/")) == {"one.h"}
    assert not mark.exists()
    result = run("new", "two", "--template", url, "--accept-hooks")
    assert result.returncode == 0, result.stderr
    assert mark.exists() and (here / "two/hooked").is_file()


def test_only_templates_from_elsewhere_need_cookiecutter(here, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cookiecutter", None)
    scaffold.new("walker")
    theirs = make_template(tmp_path / "theirs")
    with pytest.raises(UsageError) as caught:
        scaffold.new("runner", template=theirs)
    error = caught.value
    assert (error.where, error.actual) == (str(theirs), "not installed")
    assert "cookiecutter" in error.expected and "puffer-sdk[template]" in error.hint
    assert not (here / "runner").exists()


@pytest.mark.parametrize("template", env_names.TEMPLATES)
def test_ours_render_as_cookiecutter_renders_them(template, here, tmp_path):
    """A copy of ours is a template from elsewhere."""
    shutil.copytree(ROOT / "templates" / template, tmp_path / "copy")
    for place, source in (("ours", template), ("theirs", tmp_path / "copy")):
        scaffold.new("walker", template=source, output_dir=place)
    ours = contents(here / "ours/walker")
    assert ours.pop("AGENTS.md") and ours == contents(here / "theirs/walker")   # with ours alone


def test_a_zip_is_a_template(here, tmp_path):
    make_template(tmp_path / "packed" / "theirs")
    archive = shutil.make_archive(str(tmp_path / "theirs"), "zip", tmp_path / "packed", "theirs")
    assert scaffold.new("walker", template=archive).files == ("walker.h",)


@pytest.mark.parametrize("attack", [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler.__init__.__globals__.os.getcwd() }}",
])
def test_templates_from_elsewhere_are_text_not_code(attack, here, tmp_path):
    theirs = make_template(tmp_path / "theirs", header=attack)
    with pytest.raises(UsageError, match="cannot be used"):
        scaffold.new("walker", template=theirs)
    assert not any(here.iterdir())


def test_extensions_count_as_code(here, tmp_path):
    theirs = make_template(tmp_path / "theirs", _extensions=["local_extension.Thing"])
    (theirs / "local_extension.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(UsageError) as caught:
        scaffold.new("walker", template=theirs)
    assert "--accept-hooks" in str(caught.value)


@pytest.mark.parametrize("template, says", [
    ("squred", "did you mean 'squared'"),
    ("nothing/like/it", "choose from squared, target"),
    (".", "cookiecutter.json"),
    ("file:///nowhere/at/all.git", "cannot be used"),
    ("file:///nowhere/at/all", "git+https"),
    ("https://localhost:9/template.zip", "cannot be used"),
])
def test_templates_that_are_not_there(template, says, here):
    with pytest.raises(UsageError) as caught:
        scaffold.new("walker", template=template)
    assert says in str(caught.value)
    assert not any(here.iterdir())


@pytest.mark.parametrize("dialect, says", [("5", "its own"), ("6", "no dialect '6'")])
def test_a_template_from_elsewhere_has_no_other_dialect(dialect, says, here, tmp_path):
    with pytest.raises(UsageError, match=says):
        scaffold.new("walker", template=make_template(tmp_path / "theirs"), dialect=dialect)
    assert not any(here.iterdir())


@pytest.mark.parametrize("damage", [
    lambda folder: (folder / "cookiecutter.json").write_text("{"),
    lambda folder: (folder / "cookiecutter.json").write_text("[1]"),
    lambda folder: shutil.rmtree(folder / "{{cookiecutter.name}}"),
    lambda folder: (folder / "{{cookiecutter.name}}/x.c").write_text("{{ cookiecutter.nope }}"),
    lambda folder: (folder / "{{cookiecutter.name}}/x.c").write_text("{% if %}"),
    lambda folder: (folder / "{{cookiecutter.name}}/{{cookiecutter.name}}.h").unlink(),
])
def test_a_damaged_template_is_refused(damage, here, tmp_path):
    theirs = make_template(tmp_path / "theirs")
    damage(theirs)
    with pytest.raises(UsageError, match="template"):
        scaffold.new("walker", template=theirs)
    assert not any(here.iterdir())


# -- the command ---------------------------------------------------------------------

def test_nothing_of_the_process_is_changed(here, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_ASKPASS", "mine")
    monkeypatch.delenv("GIT_TERMINAL_PROMPT", raising=False)
    before = dict(os.environ), tempfile.gettempdir(), list(sys.path), os.getcwd()
    scaffold.new("one", template=make_template(tmp_path / "theirs"))
    with pytest.raises(UsageError):
        scaffold.new("two", template=make_template(tmp_path / "bad", header="{{ nope.x }}"))
    assert (dict(os.environ), tempfile.gettempdir(), list(sys.path), os.getcwd()) == before


def test_cookiecutters_own_files_are_neither_read_nor_written(here, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".cookiecutterrc").write_text("default_context:\n  name: hijacked\n")
    cache = {"HOME": str(home), "PUFFER_CACHE": str(tmp_path / "cache")}
    assert run("new", "walker", env=cache).returncode == 0
    assert {p.name for p in home.iterdir()} <= {".cookiecutterrc", ".config"}
    assert [p.name for p in home.glob(".config/*")] in ([], ["puffer-sdk"])     # our own secret
    assert (here / "walker/walker.h").is_file()


@long_only
def test_the_command_prints_commands_that_work(here):
    result = run("new", "walker", "--template", "target", "--output-dir", "my envs")
    assert result.returncode == 0 and result.stderr == ""
    assert "\x1b" not in result.stdout
    shown = [shlex.split(line) for line in result.stdout.partition("next:")[2].splitlines()
             if line.startswith("  ")]
    assert [words[:2] for words in shown] == [["puffer-sdk", verb]
                                              for verb in ("check", "build", "train", "eval")]
    assert {words[2] for words in shown} == {"my envs/walker"}
    check, build, train, evaluate = (words[1:] for words in shown)
    for command in (check, build, [*train, "--train.total-timesteps", "70000"],
                    [*evaluate, "--eval.steps", "50"]):
        done = run(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)


def test_next_commands_are_absolute_from_elsewhere(here, tmp_path):
    made = scaffold.new("walker", output_dir=tmp_path / "else")
    assert made.next_commands[0] == f"puffer-sdk check {tmp_path}/else/walker"
    made = scaffold.new("walker", output_dir="-odd")
    assert made.next_commands[0] == "puffer-sdk check ./-odd/walker"


def test_statuses_of_the_command(here):
    assert run("new", "my-env").returncode == 2
    assert run("new", "walker", "--dry-run").returncode == 0
    assert not any(here.iterdir())
    assert run("new", "walker").returncode == 0
    again = run("new", "walker")
    assert again.returncode == 2 and "--force" in again.stderr
    assert run("new", "walker", "--force").returncode == 0
    assert run("new", "other", "--output-dir", "walker/walker.h").returncode == 4


def test_without_a_terminal_nobody_is_asked(here):
    result = run("new", timeout=20)
    assert result.returncode == 2
    assert "needs a name" in result.stderr
    assert not any(here.iterdir())


def test_what_python_compiled_beside_a_template_is_left_out(tmp_path, monkeypatch):
    """`pip install .` compiles the tests that lie in the templates."""
    copy = shutil.copytree(ROOT / "templates" / "squared", tmp_path / "squared")
    for folder in (copy / "{{cookiecutter.name}}" / "tests", copy / "{{cookiecutter.name}}"):
        (folder / "__pycache__").mkdir(exist_ok=True)
        (folder / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"\x00")
    made = scaffold.new("game", template=copy, output_dir=tmp_path / "out")
    assert not list(made.folder.rglob("__pycache__")) and not any("pyc" in f for f in made.files)


@pytest.mark.parametrize(("origin", "found"), [
    ({"url": "https://example.com/o/puffer-sdk.git",
      "vcs_info": {"commit_id": "abc", "vcs": "git"}},
     "puffer-sdk @ git+https://example.com/o/puffer-sdk.git@abc"),
    ({"url": "https://me:secret@example.com/o/p"}, "puffer-sdk"),
    ({"url": "ssh://git@example.com/o/p"}, "puffer-sdk"),
    ({"url": "file:///nowhere"}, "puffer-sdk"),
    (None, "puffer-sdk")])
def test_a_projects_workflow_installs_from_where_we_were_installed(origin, found, monkeypatch,
                                                                   tmp_path):
    monkeypatch.setattr(scaffold, "distribution", lambda name: SimpleNamespace(
        read_text=lambda file: json.dumps(origin) if origin else None))
    assert scaffold.package() == found
    made = scaffold.new("game", output_dir=tmp_path)
    workflow = (made.folder / ".github/workflows/check.yml").read_text()
    assert f'PACKAGE: "{found}"' in workflow
    assert "pypi.org" not in (made.folder / "README.md").read_text()


def test_a_template_of_one_dialect_names_those_of_both(here):
    with pytest.raises(UsageError, match="one dialect") as caught:
        scaffold.new("walker", template="world", dialect="5")
    assert caught.value.expected == "--dialect 5 with --template squared, target, duel or picture"
