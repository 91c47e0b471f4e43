"""PUF113, 114: what happens under other values of [env]."""
from __future__ import annotations

import os
import re

from ....settings import inifile
from ....settings.config import find_ini
from ...collect.c.source.model import INTEGER
from ...core.facts import Facts, Variant
from ...core.finding import Finding
from ...core.registry import NotTested, need, rule, unless
from ...core.repro_spec import Shows, dies
from ..contract.contract import key_lines
from ..memory.memory import array_size, asan_place, place_of, ubsan_places, unsound

# env->pay = dict_get(kwargs, "pay")->value; as it is, and not in a comment
_STORED = re.compile(r'^[^/\n]*(?:->|\.)\s*(\w+)\s*=\s*(?:\(\w+\)\s*)?'
                     r'dict_get\([^;"]*"(\w+)"\s*\)\s*->\s*value\s*;', re.MULTILINE)
_INDEX = re.compile(r"index (-?\d+) out of bounds for type '([^']+)'")


def _played(facts: Facts) -> list[Variant]:
    """Plays under other values, none if [env] gives no key that anything reads."""
    need(facts, "probe")
    others = [variant for variant in facts.variants if variant.key]
    if any(not v.outcome.ended for v in facts.variants if v.key is None):
        raise NotTested("the environment did not survive its own settings")
    return others


def _ini_place(facts: Facts, key: str) -> dict:
    ini = find_ini(facts.folder)
    if ini is None:
        return {}
    return {"file": os.path.relpath(ini, facts.folder), "line": key_lines(ini).get(key)}


@rule("PUF113", "setting-no-effect", "warning")
def setting_no_effect(facts: Facts):
    """Another value of an [env] key changes no observation, reward, ending or log.

    Why it matters: whoever tunes this key tunes nothing. A sweep spends its budget on it,
    and the result is noise with an explanation. Usually a constant is used where the field
    was meant, or init overwrites the field.

    Bad:

        #define MAX_TICKS 200
        if (env->tick >= MAX_TICKS) ...         (the ini gives: max_ticks = 300)

    Good:

        if (env->tick >= env->max_ticks) ...

    Fix: use the field, or delete the key. Keys that only drawing reads are ignored. One that steps
    read and nothing overwrites is not reported: it may matter to good play, such as a top speed.

    How it is seen: each key was doubled and halved, then set to small values, then played
    for long; every byte of every step, and of the log, was the same. A key whose value in the ini
    is cut to a whole number wherever it is read is reported, too: `(int)env->greed * 1000` is 0 for
    a greed of 0.7, and so is an `int greed` to which my_init stores it.
    """
    yield from _cut_short(facts)
    _played(facts)
    yield from unless(unsound(facts), _without_effect(facts))


def _without_effect(facts: Facts):
    run = facts.fact("run", "run")
    if facts.without_effect and (not run or not run.rewards):
        raise NotTested("no reward was seen: a key may be about one")
    unreached = []
    for key in facts.without_effect:
        if key == "num_agents":         # stated for the reader; init has the last word
            continue
        if facts.source.is_only_read(key):
            unreached.append(key)
            continue
        tried = sorted({v.value for v in facts.variants if v.key == key})
        yield Finding("PUF113", f"[env] {key} changes nothing", **_ini_place(facts, key),
                      expected="another game under another value",
                      actual=f"the same game under {', '.join(f'{v:g}' for v in tried)}",
                      seed=facts.seed, hint="is a constant used in its place?")
    if unreached:
        raise NotTested(f"c_step reads {', '.join(unreached)}, and random play never got where "
                        "that matters")


def _cut_short(facts: Facts):
    """Keys with a fraction that no line of the game ever sees."""
    values = facts.config.env if facts.config else {}
    whole = {name: (*place, "multiply first, then cast: (int)(env->share * 1000.0f)")
             for name, place in facts.source.cut_short().items()}
    if facts.handwritten:
        whole |= _bound_to_integers(facts)
    for key, (file, line, text, hint) in whole.items():
        value = float(values.get(key, 0))
        if value % 1:
            yield Finding("PUF113", f"[env] {key} = {value:g} counts as {int(value)}: it is made a "
                                    "whole number before it is used", file=file, line=line,
                          expected=f"{value:g}", actual=f"{text}, which is {int(value)}", hint=hint)


def _bound_to_integers(facts: Facts) -> dict[str, tuple[str, int, str, str]]:
    """Keys that my_init stores to fields of whole numbers, as they are."""
    types = {field.name: field.type for field in facts.spec.settable}
    binding = facts.source.files.get("binding.c", "")
    return {key: ("binding.c", binding.count("\n", 0, store.start(1)) + 1,
                  f"{types[field]} {field}", "should the field be a float?")
            for store in _STORED.finditer(binding)
            for field, key in [store.groups()] if INTEGER.fullmatch(types.get(field, ""))}


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
    [sweep.env.KEY] of the ini reaches the value: PufferLib's sizes are constants.
    """
    yield from unless(unsound(facts), _past_its_arrays(facts, _played(facts)))


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
            lent = facts.handwritten and not _is_swept(facts, variant)
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
    for fact in outcome.all("crash"):
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
