"""PUF114: what happens under other values of [env]."""
import re

from ....settings import inifile
from ....settings.config import find_ini
from ...core.vocabulary import (
    CrashFact,
    Facts,
    FileLine,
    Finding,
    Findings,
    Seen,
    Shows,
    Variant,
    dies,
    explained_by,
    present,
    rule,
)
from ..memory.memory import array_size, asan_place, place_of, ubsan_places, unsound
from .variants import played

_INDEX = re.compile(r"index (-?\d+) out of bounds for type '([^']+)'")


@rule("PUF114", "size-depends-on-setting", proof=dies())
@explained_by(unsound)
def size_depends_on_setting(facts: Facts) -> Findings:
    """With another value of an [env] key the env writes past its arrays or its rows.

    Why it ruins training: a setting is there to be changed. The next sweep doubles it, and
    the env silently writes into its neighbours, or into its own next field.

    Bad:

        #define OBS_SIZE 121                    // right for size 11 alone
        for (int i = 0; i < env->size * env->size; i++) env->observations[i] = 0;

    Good:

        #define OBS_SIZE (env->size * env->size)

    Fix: derive the size from the setting (OBS_SIZE may be an expression over `env`, arrays
    may be allocated in init), or refuse what does not fit: in init, set `num_agents` to 0,
    or clamp the value. Where a binding is written by hand this is a warning, unless
    [sweep.env.KEY] of the ini reaches the value: PufferLib's sizes are constants. The same holds
    for num_agents: one agent cannot play a game for two.
    """
    others, own = played(facts), _own_faults(facts)
    told: set[str] = set()
    # by what is done, whether it is a warning, and where
    alike: dict[tuple[str, bool, str | None, int | None], list[tuple[str, Variant, Seen]]] = {}
    for variant in others:
        key, found = variant.key, _past_the_end(facts, variant)
        if key is None or key in told or found is None:
            continue
        what, where = found
        if (where.get("file"), where.get("line")) not in own:
            told.add(key)
            where["seen_in"] = "setting"
            lent = (facts.handwritten or key == "num_agents") and not _is_swept(facts, variant)
            alike.setdefault((what, lent, where.get("file"), where.get("line")), []).append(
                (key, variant, where))
    maker = "my_init" if facts.handwritten else "init"
    for (what, lent, *_), each in alike.items():
        key, variant, where = each[0]
        values = [f"{key} = {variant.value:g}" for key, variant, _ in each]
        owned = [f"{key} = {float(present(facts.config).env[key]):g}" for key, *_ in each]
        yield Finding("PUF114", f"with {' or '.join(values)} {what}", **where,
                      severity="warning" if lent else "",
                      shows=Shows(settings={key: variant.value}),
                      expected=f"a game for {' and for '.join(values)}, or a refusal",
                      actual=f"sizes that are right for {' and '.join(owned)}",
                      hint="derive the size from "
                      + " and ".join(f"env->{key}" for key, *_ in each)
                      + f", or bound {'it' if len(each) == 1 else 'them'} in {maker}")


def _own_faults(facts: Facts) -> set[tuple[str, int]]:
    """(file, line) of faults under the ini's own values: no other value is to blame for them."""
    plays = [*facts.outcomes.values(), *(v.outcome for v in facts.variants if v.key is None)]
    return {(file, line) for outcome in plays
            for file, line, _ in ubsan_places(facts, outcome.sanitizer)}


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


def _past_the_end(facts: Facts, variant: Variant) -> tuple[str, Seen] | None:
    """A write beyond rows or arrays in this play: in words, and where."""
    outcome = variant.outcome
    for fact in outcome.all(CrashFact):
        if fact.array and fact.write == 1:
            return f"the env writes past its {fact.array}", place_of(facts, fact)
    text = outcome.sanitizer
    place = asan_place(facts, text)
    if place and re.search(r"WRITE of size", text):
        return f"the env writes past {array_size(text)}", _seen(facts, place)
    for file, line, said in ubsan_places(facts, text):
        index = _INDEX.search(said)
        if index and "const" not in index[2]:       # a table that is read is another matter
            return (f"the env uses index {index[1]} of an array of type {index[2]}",
                    _seen(facts, {"file": file, "line": line}))
    return None


def _seen(facts: Facts, place: FileLine) -> Seen:
    return {**place, "env": None, "step": None, "seed": facts.seed, "stack": [], "seen_in": ""}
