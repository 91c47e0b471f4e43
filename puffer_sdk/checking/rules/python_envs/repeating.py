"""Judgements of determinism: seeds, instances, processes, resets."""
from ...collect.python.python_facts import Difference, PythonFacts
from ...core.vocabulary import Finding, Findings, NotTested, half, most, present
from .judging import agent_of, judgement

SHARED = "look for class attributes and module variables that change"
NAMES = {"random": "Python's random", "numpy": "numpy.random"}


def _differs(facts: PythonFacts, way: str) -> Difference | None:
    found = facts.compared.get(way)
    return found.difference if found else None


def _finding(facts: PythonFacts, code: str, message: str, way: str, where: Difference,
             hint: str) -> Finding:
    first = "after reset()" if where.step == 0 else f"at step {where.step}"
    at = facts.at("reset" if where.step == 0 or where.array == "ending" else "step")
    what = {"agents": "the agents", "ending": "whether an episode ends", "info": "the info"}.get(
        where.array, f"the {where.array.replace('_', ' ')}")
    return Finding(code, f"{message}: {what} {first} differs", **at,
                   agent=agent_of(facts, where.agent), step=where.step, element=where.element,
                   expected=where.one, actual=where.other, hint=hint, seen_in=way,
                   severity="warning" if where.array == "info" else "")


@judgement("PUF501", "PUF503", "PUF404", "PUF301", needs=("traces",))
def same_again(facts: PythonFacts) -> Findings:
    """One cause, one finding: the one that explains most."""
    if present(facts.shape).nondeterministic:
        raise NotTested("its registration says that it is not deterministic")
    again, process = _differs(facts, "again"), _differs(facts, "process")
    if again:
        if "process" in facts.compared and not process and again.array != "info":
            yield _finding(facts, "PUF503", "a second instance plays another game than the first",
                           "again", again, SHARED)
        else:
            chance = facts.chance
            yield _finding(facts, "PUF501", "the same seed and actions give another game", "again",
                           again, "reset(seed=...) must seed every generator: "
                           "super().reset(seed=seed), then self.np_random"
                           if chance and (chance.unseeded or chance.owned) else
                           "draw from self.np_random only; look for clocks and entropy")
        return
    memory = _differs(facts, "memory")
    if memory:
        yield _finding(facts, "PUF301", "something is made with numpy.empty and never written",
                       "memory", memory, "write every element, or use numpy.zeros")
        return
    shared = list(_shared_sources(facts, process))
    yield from shared
    if shared:
        return
    beside, played = _differs(facts, "beside"), _differs(facts, "played")
    if beside:
        yield _finding(facts, "PUF503", "an instance plays another game next to another one",
                       "beside", beside, SHARED)
    if played and not (beside and played.step == 0):
        names = " and ".join(present(facts.shape).normalizers)
        yield _finding(facts, "PUF404", "reset(seed=...) after other episodes is not what it is "
                       "in a new instance", "played", played,
                       f"{names} goes on with its statistics, which no run keeps; leave it out: "
                       "train.obs_scale and vec.reward_scale fit the sizes" if names else
                       "set everything in reset() that an episode changes")


def _shared_sources(facts: PythonFacts, process: Difference | None) -> Findings:
    """Generators of the whole process, and other differences of another process."""
    found = False
    for way, name in NAMES.items():
        other = _differs(facts, way)
        if other:
            found = True
            yield _finding(facts, "PUF501", f"the game depends on {name}, which the whole process "
                           "shares", way, other,
                           "draw from self.np_random, which reset(seed=...) seeds")
    if process and not found:
        yield _finding(facts, "PUF501", "another process plays another game", "process",
                       process, "look for clocks, files, and the order of sets (PYTHONHASHSEED)")


@judgement("PUF501", needs=("traces", "drawing"))
def drawing_changes(facts: PythonFacts) -> Findings:
    found = _differs(facts, "drawn")
    if found and not _differs(facts, "again"):
        finding = _finding(facts, "PUF501", "render() changes the game", "drawn", found,
                           "draw the state, and leave it alone")
        place = facts.at("render")
        finding.file, finding.line = place.get("file"), place.get("line")
        yield finding


@judgement("PUF204", needs=("traces", "overwriting"))
def keeps_actions(facts: PythonFacts) -> Findings:
    """A later step reads the array of an earlier action."""
    found = _differs(facts, "overwritten")
    if found and not _differs(facts, "again"):
        yield _finding(facts, "PUF204", "a step reads the array of an earlier action, which is its "
                       "caller's again", "overwritten", found,
                       "keep a copy: self.last = np.array(action)")


@judgement("PUF502", needs=("traces", "chances"))
def seed_ignored(facts: PythonFacts) -> Findings:
    """Random numbers are drawn, and the seed has no effect, or too much."""
    chance, seeded, place = present(facts.chance), facts.compared.get("seeded"), facts.at("reset")
    if _differs(facts, "again") or seeded is None:
        raise NotTested("the environment is not deterministic to begin with", "PUF501")
    drawn = [name.lstrip("_") for name in (*chance.owned, *chance.shared)]
    resets, different = chance.alike
    if seeded.difference is None and (drawn or chance.constant):
        yield Finding("PUF502", "random numbers are drawn, and every seed gives the same game",
                      **place, expected="another game for another seed",
                      actual=f"the same {seeded.steps} steps" + (
                          f", with numbers from {', '.join(drawn)}" if drawn else ""),
                      hint="draw from self.np_random, which super().reset(seed=seed) seeds")
    elif not half(chance.varied, resets) and most(different, resets):
        yield Finding("PUF502", f"{resets} seeds begin only {chance.varied} different games",
                      **place, expected=f"about {different}, as resets without a seed do",
                      actual=chance.varied, hint="hand the seed on as it is")
    elif chance.unseeded:
        what = "np_random is not made" if chance.unseeded == "none" else \
            "np_random is the same for every seed"
        yield Finding("PUF502", f"reset(seed=...) does not seed the environment: {what}", **place,
                      expected="self.np_random seeded", actual="left alone",
                      hint="begin reset() with super().reset(seed=seed)")
    elif different == 1 and chance.varied > 1 and not any(
            each.kind == "seed-default" for each in facts.oddities.values()):
        yield Finding("PUF502", f"{resets} resets without a seed begin the same game", **place,
                      expected="another game each time", actual="the same opening",
                      hint="reset() without a seed goes on drawing from the generator; only "
                           "reset(seed=...) begins it anew")
