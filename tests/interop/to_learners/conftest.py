"""Networks of other libraries, on one thread: tests run beside each other."""
import pytest


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
