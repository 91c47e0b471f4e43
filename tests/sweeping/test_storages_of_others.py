"""What a sweep of somebody else names is neither opened nor run."""
import json
import os
from dataclasses import replace

import pytest
from click.testing import CliRunner

from puffer_sdk.base import trust
from puffer_sdk.base.errors import UsageError
from puffer_sdk.cli import cli
from puffer_sdk.interop.python_envs.env_source import CompiledSource
from puffer_sdk.sweeping import store as storing
from puffer_sdk.sweeping import sweep as sweeping
from puffer_sdk.sweeping import trial as trialing
from puffer_sdk.sweeping.storages import journal_of
from puffer_sdk.sweeping.store import Store
from puffer_sdk.sweeping.sweep_plan import Plan
from puffer_sdk.training import backends

PLAN = Plan(env="probe", rows={"train.gamma": {"distribution": "uniform", "min": 0.5, "max": 0.9}},
            start={"train.gamma": 0.8}, fixed={},
            base={"train.horizon": 64, "vec.total_agents": 4096, "train.minibatch_size": None})


def make_sweep(home, storage=None, **facts):
    """home/sweeps/0001, with one trial in its own journal."""
    place = home / "sweeps" / "0001"
    place.mkdir(parents=True)
    journal = journal_of(place)
    if storage is None:
        store = Store(journal, "probe-0001").create(PLAN, open=False)
        store.end(store.add({"train.gamma": 0.7}, "running"), "done", 1.0, cost=1.0)
    (place / "sweep.json").write_text(json.dumps(
        {"storage": storage or journal, "name": "probe-0001", "env": "probe", "tag": "", **facts}))
    return place


@pytest.fixture
def connected(monkeypatch):
    """The addresses that were opened; only files are."""
    found, real = [], storing.connect
    monkeypatch.setattr(storing, "connect",
                        lambda address: found.append(address) or real(address))
    return found


def addresses(tmp_path):
    return {"sqlite": f"sqlite:////{tmp_path}/made.db", "grpc": "grpc://127.0.0.1:9",
            "postgresql": "postgresql://127.0.0.1:9/x", "scheme": "mysql+what://h/x"}


@pytest.mark.parametrize("kind", addresses(""))
@pytest.mark.parametrize("mac", [None, "0" * 64])
def test_a_storage_of_somebody_else_is_not_opened(tmp_path, kind, mac, connected):
    address = addresses(tmp_path)[kind]
    place = make_sweep(tmp_path / "runs", address, **({} if mac is None else {"mac": mac}))
    with pytest.raises(UsageError, match="a storage that you did not name") as caught:
        sweeping.open_sweep(place)
    assert not connected and sorted(path.name for path in tmp_path.iterdir()) == ["runs"]
    assert "--trust" in caught.value.hint and address in caught.value.actual


@pytest.mark.parametrize("path", ["made", "../../../made", "/dev/null"])
def test_a_path_means_the_folders_own_journal(tmp_path, path, connected):
    place = make_sweep(tmp_path / "runs", path)
    with pytest.raises(UsageError, match="this is no sweep"):
        sweeping.open_sweep(place)
    assert not connected and sorted(each.name for each in tmp_path.iterdir()) == ["runs"]


@pytest.mark.parametrize("words", [("--show",), ("--best",), ("--resume",), ("--serve", "9"),
                                   ("--map",)])
def test_no_option_opens_it(probe, tmp_path, words, connected):
    folder = probe()
    make_sweep(tmp_path / "runs" / folder.name, f"sqlite:///{tmp_path}/made.db")
    done = CliRunner().invoke(cli, ["sweep", str(folder), "--runs-dir", str(tmp_path / "runs"),
                                    *words])
    assert isinstance(done.exception, UsageError) and "did not name" in str(done.exception)
    assert not connected and not (tmp_path / "made.db").exists()


def test_joining_a_folder_does_not_open_it(probe, tmp_path, connected):
    place = make_sweep(tmp_path / "runs", f"sqlite:///{tmp_path}/made.db")
    done = CliRunner().invoke(cli, ["sweep", str(probe()), "--join", str(place)])
    assert isinstance(done.exception, UsageError) and not connected


def test_what_the_user_named_is_opened(tmp_path, connected):
    address = f"sqlite:///{tmp_path}/made.db"
    Store(address, "probe-0001").create(PLAN, open=False)
    place = make_sweep(tmp_path / "runs", address)
    sweeping.name_storage(address)                              # sweep --storage
    assert sweeping.open_sweep(place)[1] == PLAN
    trust.trust_everything()                                    # --trust
    assert sweeping.open_sweep(place)[1] == PLAN
    os.environ.pop(trust.NAMED)
    own = make_sweep(tmp_path / "own", address, mac=sweeping._mac(address))
    assert sweeping.open_sweep(own)[1] == PLAN                  # written by this user's sweep
    assert connected == [address] * 4


def test_a_journal_of_the_folder_is_opened_wherever_the_folder_is(tmp_path, connected):
    place = make_sweep(tmp_path / "runs")
    moved = place.rename(tmp_path / "moved")
    store, plan = sweeping.open_sweep(moved)
    assert plan == PLAN and [trial.score for trial in store.trials()] == [1.0]
    assert connected[-1] == str(moved / "journal")


# -- classes ---------------------------------------------------------------------------------------

@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("open(__file__ + '.ran', 'w')\n")
    return f"{path}:Net"


def refused(source, plan, home, settings=None):
    home.mkdir(exist_ok=True)
    prepared = trialing.prepare(source, plan, home).again({**plan.fixed, **(settings or {})})
    with pytest.raises(UsageError, match="Python code that you did not name"):
        backends.require(prepared.config, prepared.folder)


def test_a_sweep_names_no_class(probe, tmp_path, net):
    """Neither by its settings nor by its ini, nor by those of a trial."""
    source, home = CompiledSource(probe()), tmp_path / "trials"
    refused(source, replace(PLAN, fixed={"policy.torch_class": net}), home)
    ini = f"[policy]\ntorch_class = {net}\n"
    refused(source, replace(PLAN, inis=[["settings.ini", ini]]), home)
    refused(source, PLAN, home, {"policy.torch_class": net})
    refused(source, replace(PLAN, classes=[net], fixed={"policy.torch_class": net}), home)


def test_ones_own_sweep_names_its_classes(probe, tmp_path, net, monkeypatch):
    source = CompiledSource(probe())
    own = replace(PLAN, fixed={"policy.torch_class": net}, classes=[net])
    store = Store(str(tmp_path / "journal"), "probe-0001").create(own, open=False)
    prepared = replace(source, theirs=True).prepare(store.plan().fixed)
    backends.require(prepared.config, prepared.folder)

    store.note(plan=replace(own, classes=[net.replace("net", "other")]).to_dict())
    monkeypatch.delenv(trust.NAMED)
    assert store.plan().classes and not trust.is_named(net)
    with pytest.raises(UsageError, match="did not name"):
        backends.require(prepared.config, prepared.folder)
