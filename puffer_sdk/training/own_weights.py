"""A network that a loop of the user's own has trained.  a torch.nn.Module -> a checkpoint"""
from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from torch.nn import Module

from ..base.errors import UsageError
from ..env.vec import VecEnv
from ..env.vec_wrapper import VecWrapper
from ..settings import config, torch_class
from . import checkpoint
from .loop import facts_of
from .reference.policy import build_policy, load_weights
from .run_records import Facts


def save(path: Path, network: Module, vec: VecEnv | VecWrapper, settings: Mapping[str, object]
         ) -> Path:
    """Write its weights, once the class in its file has been made anew and has taken them.

    settings    as Run takes them: keys of [policy] count
    Raises UsageError where its class is in no file, or does not fit.
    """
    cls = type(network)
    try:
        file = inspect.getfile(cls)
    except (TypeError, OSError):
        file = ""
    if not Path(file).is_file():
        raise UsageError("the network's class is in no file that eval could import",
                         where=cls.__name__, expected="a class in a file.py",
                         actual=cls.__module__)
    resolved = replace(config.defaults({        # the ini's [train] is not of this loop
        **{key: value for key, value in settings.items() if key.startswith("policy.")},
        torch_class.KEY: f"{Path(file).resolve()}:{cls.__qualname__}",
        "vec.total_agents": vec.num_agents}), env=vec.env_settings)
    torch_class.name_all(resolved, None)
    again = build_policy(vec.obs_size, vec.act_sizes, resolved,
                         obs_dtype=vec.description.obs_dtype,
                         layout=getattr(vec, "layout", None))
    tensors = {name: weight.detach().cpu().numpy() for name, weight in network.named_parameters()}
    load_weights(again, tensors)
    facts: Facts = {"env": facts_of(vec), "config": resolved.to_dict(),
                    "counters": {}, "epoch": 0, "step": vec.ticks * vec.num_agents, "seconds": 0.0}
    return checkpoint.save(path, tensors, facts)
