"""The secret of a user, and what data may start."""
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from puffer_sdk.base import paths, trust, ui
from puffer_sdk.base.errors import UsageError


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A config folder of its own, and nothing known of any secret."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(trust.SESSION, raising=False)
    monkeypatch.setattr(ui, "_warned", set())
    trust._secret.cache_clear()
    yield tmp_path / "config" / "puffer-sdk"
    trust._secret.cache_clear()
    os.environ.pop(trust.SESSION, None)


def test_a_secret_is_made_once_and_only_its_user_reads_it(home):
    made = trust.mac("a", b"b")
    path = home / "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [each.name for each in home.iterdir()] == ["secret"]
    trust._secret.cache_clear()
    assert trust.mac("a", b"b") == made and len(made) == 64
    path.unlink()
    trust._secret.cache_clear()
    assert trust.mac("a", b"b") != made


def test_parts_do_not_run_together(home):
    assert len({trust.mac("ab", "c"), trust.mac("a", "bc"), trust.mac("abc"),
                trust.mac("ab", "c", ""), trust.mac("", "abc")}) == 5


def test_all_who_make_it_at_once_have_the_same(home):
    def secret(_):
        return trust._read(home / "secret") or trust._make(home / "secret")

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(secret, range(64)))) == 1
    assert [each.name for each in home.iterdir()] == ["secret"]


def test_a_file_system_without_links(home, monkeypatch):
    def link(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(trust.os, "link", link)
    made = trust.mac("a")
    trust._secret.cache_clear()
    assert trust.mac("a") == made and [each.name for each in home.iterdir()] == ["secret"]


def spoil(path, how):
    path.parent.mkdir(parents=True)
    path.write_text("ab" * trust.BYTES)
    path.chmod(0o600)
    if how == "others may read it":
        path.chmod(0o644)
    elif how == "symbolic links":
        path.rename(path.with_name("other"))
        path.symlink_to("other")
    elif how == "holds no secret":
        path.write_text("ab")
    else:
        path.unlink()
        os.mkfifo(path, 0o600)


@pytest.mark.parametrize("how", ["others may read it", "symbolic links", "holds no secret",
                                 "not a file of yours"])
def test_a_secret_that_may_be_known_is_not_used(home, how, capsys):
    spoil(home / "secret", how)
    before = home.joinpath("secret").lstat().st_mode
    made = trust.mac("a")
    trust._secret.cache_clear()
    assert trust.mac("a") == made                       # of the session: children have it too
    assert len(os.environ[trust.SESSION]) == 2 * trust.BYTES
    said = capsys.readouterr().err
    assert said.count("no secret can be kept") == 1 and how in said
    assert home.joinpath("secret").lstat().st_mode == before
    os.environ[trust.SESSION] = "cd" * trust.BYTES
    trust._secret.cache_clear()
    assert trust.mac("a") != made


@pytest.mark.parametrize("how", ["no home", "a file in the way"])
def test_without_a_place_for_it_a_session_has_one(home, how, monkeypatch, capsys):
    if how == "no home":
        monkeypatch.delenv("XDG_CONFIG_HOME")

        def nowhere():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(trust.Path, "home", nowhere)
    else:
        home.parent.write_text("")
    assert trust.mac("a") == trust.mac("a") != trust.mac("b")
    assert capsys.readouterr().err.count("warning") == 1


@pytest.mark.parametrize("said", ["", "{", "3", "null", '{"a": 1}', '"all"'])
def test_a_variable_that_says_something_else(said, monkeypatch):
    monkeypatch.setenv(trust.NAMED, said)
    assert not trust.is_named("x") and list(trust.names()) == []
    trust.name("x")
    assert json.loads(os.environ[trust.NAMED]) == ["x"]


def require():
    trust.require("/a.py:Net", what="this names code", where="run 7", verb="run")


def test_what_nobody_named_is_refused():
    with pytest.raises(UsageError, match="this names code") as caught:
        require()
    assert caught.value.exit_status == 2 and caught.value.actual == "/a.py:Net"
    assert "--trust" in caught.value.hint
    trust.name("/b.py:Net")
    with pytest.raises(UsageError):
        require()
    trust.name("/a.py:Net")
    require()
    os.environ.pop(trust.NAMED)
    trust.trust_everything()
    require()


def test_a_terminal_is_asked_and_no_program_is(monkeypatch, capsys):
    import click

    answers = []
    monkeypatch.setattr(click, "confirm", lambda text, **_: answers.pop())
    monkeypatch.setattr(trust.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(trust.sys.stderr, "isatty", lambda: True, raising=False)
    with pytest.raises(UsageError):                     # the Python API
        require()
    trust.asks = True
    answers[:] = [True, False]
    with pytest.raises(UsageError):
        require()
    require()
    require()                                           # once is enough
    assert not answers and "/a.py:Net" in capsys.readouterr().err


# -- the folder that stands in for one that cannot be written --------------------------------------

@pytest.fixture
def tmp(tmp_path, monkeypatch):
    monkeypatch.setattr(paths.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(ui, "_warned", set())
    return tmp_path


def stand_in(tmp):
    blocked = tmp / "file" / "build"
    blocked.parent.touch()
    return paths.writable(blocked, purpose="a test")


def test_a_stand_in_is_this_users_alone(tmp):
    made = stand_in(tmp)
    home = tmp / f"puffer-sdk-{os.getuid()}"
    assert home in made.parents and stat.S_IMODE(home.stat().st_mode) == 0o700
    home.chmod(0o755)                                   # of an earlier version: nobody wrote there
    paths._private_tmp.cache_clear()
    assert stand_in(tmp) == made and stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.parametrize("how", ["link", "open", "file"])
def test_what_others_made_first_does_not_stand_in(tmp, how):
    home, theirs = tmp / f"puffer-sdk-{os.getuid()}", tmp / "theirs"
    if how == "link":
        theirs.mkdir()
        home.symlink_to(theirs)
    elif how == "open":
        home.mkdir()
        home.chmod(0o777)
    else:
        home.touch()
    paths._private_tmp.cache_clear()
    made = stand_in(tmp)
    assert home not in made.parents and theirs not in made.parents
    assert paths.is_private(made.parents[1]) and made == stand_in(tmp)
    assert not list(theirs.glob("*"))
