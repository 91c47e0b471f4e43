"""my_vec_init of an early PufferLib 4.0, which deals nothing out.  binding.c -> binding.c

It had three arguments; 4.0's has five, and fills where each buffer begins and how many
environments it has.
"""
from __future__ import annotations

import re

EARLY = re.compile(r"\bmy_vec_init\s*(\(\s*int\s*\*\s*\w+\s*,\s*Dict\s*\*\s*\w+\s*,"
                   r"\s*Dict\s*\*\s*\w+\s*\)\s*\{)")
DEALT_OUT = """\

// Deals the environments out to the buffers: PufferLib 4.0 asks for that
Env* my_vec_init(int* num_envs_out, int* buffer_env_starts, int* buffer_env_counts,
                 Dict* vec_kwargs, Dict* env_kwargs) {
    Env* envs = make_all_envs(num_envs_out, vec_kwargs, env_kwargs);
    int num_buffers = (int)dict_get(vec_kwargs, "num_buffers")->value;
    int agents_per_buffer = (int)dict_get(vec_kwargs, "total_agents")->value / num_buffers;
    int env = 0;
    for (int buffer = 0; buffer < num_buffers; buffer++) {
        buffer_env_starts[buffer] = env;
        for (int agents = 0; agents < agents_per_buffer && env < *num_envs_out; env++) {
            agents += envs[env].num_agents;
        }
        buffer_env_counts[buffer] = env - buffer_env_starts[buffer];
    }
    return envs;
}
"""


def rewritten(text: str) -> str:
    """With the early function as one that a my_vec_init of five arguments calls."""
    text, found = EARLY.subn(r"make_all_envs\1", text)
    return text.rstrip("\n") + "\n" + DEALT_OUT if found else text
