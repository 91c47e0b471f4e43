"""PUF114: what happens under other values of [env]."""
from __future__ import annotations

import re

from ....settings import inifile
from ....settings.config import find_ini
from ...core.fact_kinds import CrashFact
from ...core.facts import Facts, Variant
from ...core.finding import Finding
from ...core.registry import rule, unless
from ...core.repro_spec import Shows, dies
from ..memory.memory import array_size, asan_place, place_of, ubsan_places, unsound
from .variants import played

_INDEX = re.compile(r"index (-?\d+) out of bounds for type '([^']+)'")


@rule("PUF114", "size-depends-on-setting", proof=dies())
def size_depends_on_setting(facts: Facts):
    """With another value of an [env] key the env writes past its arrays or its rows.

    Why it ruins training: a setting is there to be changed. The next sweep doubles it, and
    the env writes into its neighbours, or into its own next field, without a word.

    Bad:

        #define OBS_SIZE 121                    // right for size 11 alone
        for (int i = 0; i < env->size * env->size; i++) env->observations[i] = 0;

    Good:

        #define OBS_SIZE (env->size * env->size)

    Fix: derive the size from the setting (OBS_SIZE may be an expression over `env`, arrays
    may be allocated in init), or refuse what does not fit: in init, set `num_agents` to 0,
    or clamp the value. Where a binding is written by hand this is a warning, unless
    [sweep.env.KEY] of the ini reaches the value: PufferLib's sizes are constants. So it is of
    num_agents: a game for two is no game for one.
    """
    yield from unless(unsound(facts), _past_its_arrays(facts, played(facts)))


def _past_its_arrays(facts: Facts, others: list[Variant]):
    own = _own_faults(facts)
    told = set()
    for variant in others:
        if variant.key in told:
            continue
        found = _past_the_end(facts, variant)
        if found and (found[1].get("file"), found[1].get("line")) not in own:
            told.add(variant.key)
            what, where = found
            was = facts.config.env[variant.key]
            lent = (facts.handwritten or variant.key == "num_agents") and not _is_swept(
                facts, variant)
            maker = "my_init" if facts.handwritten else "init"
            yield Finding("PUF114", f"with {variant.key} = {variant.value:g} {what}",
                          **{**where, "seen_in": "setting"}, severity="warning" if lent else "",
                          shows=Shows(settings={variant.key: variant.value}),
                          expected=f"a game for {variant.key} = {variant.value:g}, or a refusal",
                          actual=f"sizes that are right for {variant.key} = {float(was):g}",
                          hint=f"derive the size from env->{variant.key}, or bound it in {maker}")


def _own_faults(facts: Facts) -> set[tuple]:
    """(file, line) of faults under the ini's own values: no other value is to blame for them."""
    plays = [*facts.outcomes.values(), *(v.outcome for v in facts.variants if v.key is None)]
    return {(place["file"], place["line"]) for outcome in plays
            for place, _ in ubsan_places(facts, outcome.sanitizer)}


def _is_swept(facts: Facts, variant: Variant) -> bool:
    """Whether [sweep.env.KEY] of the ini reaches this value."""
    ini = find_ini(facts.folder)
    if ini is None:
        return False
    section = f"sweep.env.{variant.key}"
    highs = [entry.text for entry in inifile.read(ini)[0]
             if entry.section == section and entry.key == "max"]
    try:
        return any(float(text) >= variant.value for text in highs)
    except ValueError:
        return False


def _past_the_end(facts: Facts, variant: Variant) -> tuple[str, dict] | None:
    """A write beyond rows or arrays in this play: in words, and where."""
    outcome = variant.outcome
    for fact in outcome.all(CrashFact):
        if fact.array and fact.write == 1:
            return f"the env writes past its {fact.array}", place_of(facts, fact)
    text = outcome.sanitizer
    place = asan_place(facts, text)
    if place and re.search(r"WRITE of size", text):
        return f"the env writes past {array_size(text)}", {**place, "seed": facts.seed}
    for place, said in ubsan_places(facts, text):
        index = _INDEX.search(said)
        if index and "const" not in index[2]:       # a table that is read is another matter
            return f"the env uses index {index[1]} of an array of type {index[2]}", {
                **place, "seed": facts.seed}
    return None
