"""The key that an unknown name most likely stands for.  [section], name -> Key, or a hint"""
from __future__ import annotations

from ..base.errors import nearest
from .table import ALIAS, FORMER, IGNORED, KEYS, Key, used_keys

# names of PufferLib 2 and 3, and what takes their place
RENAMED = {
    "bptt_horizon": "train.horizon", "update_epochs": "train.replay_ratio",
    "adam_beta1": "train.beta1", "adam_beta2": "train.beta2",
    "adam_eps": "train.eps", "num_envs": "vec.total_agents", "num_workers": "vec.num_threads",
    "reset_every_horizon": "base.reset_state", "rnn_hidden_size": "policy.hidden_size",
}

# short words for settings, and what other trainers call them
SHORT = {
    "lr": "train.learning_rate", "steps": "train.total_timesteps",
    "timesteps": "train.total_timesteps", "total_steps": "train.total_timesteps",
    "batch_size": "train.minibatch_size", "n_envs": "vec.total_agents",
    "agents": "vec.total_agents", "threads": "vec.num_threads", "entropy": "train.ent_coef",
    "entropy_coef": "train.ent_coef", "hidden": "policy.hidden_size",
    "width": "policy.hidden_size", "layers": "policy.num_layers", "lambda": "train.gae_lambda",
}


def meant(section: str, name: str) -> Key | None:
    """The key that an unknown one most likely stands for, in its own section if possible."""
    if full := RENAMED.get(name) or SHORT.get(name):
        return KEYS[full]
    known = [key for key in KEYS.values() if key.status not in (FORMER, IGNORED)
             and (key.section != "sweep" or section == "sweep")]
    here = [key for key in known if key.section == section]
    lower = name.lower()
    for pool, word in ((here, lower), (known, lower),
                       (here, nearest(lower, [key.name for key in here])),
                       (known, nearest(lower, [key.name for key in known]))):
        found = [key for key in pool if key.name == word]
        if found:
            return min(found, key=lambda key: key.status == ALIAS)
    return None


def hint_for(section: str, name: str, *, flags: bool = False) -> str | None:
    """What to write in place of an unknown key; flags: as a command-line option."""
    key = meant(section, name)
    if key is None:
        own = ", ".join(key.flag if flags else key.name for key in used_keys(section))
        return f"[{section}] has {own}" if own else None
    if flags:
        return f"did you mean {key.flag}?"
    if name in RENAMED:
        return f"PufferLib 4.0 calls it '{key.name}', in [{key.section}]"
    if key.section == section:
        return f"did you mean '{key.name}'?"
    if key.name == name.lower():
        return f"'{key.name}' belongs to [{key.section}]"
    return f"did you mean '{key.name}', in [{key.section}]?"
