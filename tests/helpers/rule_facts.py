"""Facts as experiments write them, for tests of rules.  experiments -> Facts -> findings"""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from puffer_sdk.checking.core import kinds, registry
from puffer_sdk.checking.core.facts import Facts, Outcome
from puffer_sdk.checking.core.finding import Finding

ZERO = {"INT": 0, "REAL": 0.0, "VALUE": 0.0, "TEXT": "", "HEX": "0", "PLACE": [-1, 0], "LIST": [],
        "STACK": []}



class _Source(SimpleNamespace):
    """What the rules ask of a source; `files` may be set."""

    binding = "binding.c"

    @property
    def binding_text(self) -> str:
        return self.files.get(self.binding, "")

def fact(kind: str, **values):
    """A fact as the harness writes it, 0 where nothing is said."""
    zeros = {one.name: ZERO[one.macro] for one in kinds.all_fields()[kind] if not one.optional}
    return kinds.parse({"fact": kind, **zeros, **values})


def facts_of(*, agents: int = 1, truncations: int = 0, **experiments: list) -> Facts:
    """Experiments that came to their end, with what they found."""
    def none(*asked, without=()) -> list:
        return []

    source = _Source(
        clears_observations=lambda: False, shows_what_stays=lambda: False,
        reset_only_stores=list, stepping=list, files={}, reach=none, calls=none,
        batch_steps=list, functions={}, globals={}, statics={},
        always_sets=lambda field: False)
    facts = Facts(Path("/games/dock"), None, None, [], source, 42)
    facts.probed = SimpleNamespace(obs_size=8, env_agents=agents, truncations=truncations)
    facts.outcomes = {name.replace("_", "-"): Outcome(name, found, True)
                      for name, found in experiments.items()}
    return facts


def found(facts: Facts, code: str) -> list[Finding]:
    return list(registry.load()[code].look(facts))
