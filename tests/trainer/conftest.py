"""What tests of the trainer share."""
import pytest
from helpers.cuda_calls import HAS_DRIVER
from helpers.cuda_trainer import MODES


@pytest.fixture(params=[None] if HAS_DRIVER else MODES)
def mode(request, monkeypatch):
    """When the emulated GPU does what it is asked for."""
    if request.param:
        monkeypatch.setenv("PUFFER_CUDA_EMULATED", request.param)
