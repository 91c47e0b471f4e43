"""base.extras: one command for PyTorch, wherever a hint or a page names it."""
import pytest

from puffer_sdk.base import extras
from puffer_sdk.base.errors import UsageError


@pytest.mark.parametrize(("driver", "platform", "command"), [
    (False, "linux", extras.TORCH_ON_CPU), (True, "linux", "pip install 'puffer-sdk[torch]'"),
    (False, "darwin", "pip install 'puffer-sdk[torch]'")])
def test_the_cpu_build_where_no_gpu_is(driver, platform, command, tmp_path, monkeypatch):
    (tmp_path / "here").touch()
    monkeypatch.setattr(extras, "NVIDIA", (tmp_path / ("here" if driver else "nowhere"),))
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        extras.require_torch("this")
    assert caught.value.hint == command == extras.install_torch()


def test_an_extra_that_brings_pytorch_along_comes_second(monkeypatch):
    monkeypatch.setattr(extras, "install_torch", lambda: extras.TORCH_ON_CPU)
    for there, command in ((None, f"{extras.TORCH_ON_CPU}; pip install 'puffer-sdk[sb3]'"),
                           (object(), "pip install 'puffer-sdk[sb3]'")):
        monkeypatch.setattr(extras, "find_spec", lambda name, there=there: there)
        assert extras.install_with_torch("sb3") == command
