"""PUF402-404, 406: episodes that never end, all end together, keep state, or end unseen."""
import re
from collections.abc import Iterator

from ....env import obs_spec
from ....env.syntax import Node
from ...collect.c.source.beginnings import counted_on
from ...collect.c.source.fields import FILLS
from ...collect.c.source.functions import Function
from ...core.vocabulary import (
    AgainFact,
    EndingsFact,
    Facts,
    Finding,
    Findings,
    LockstepFact,
    NotFreshFact,
    NotTested,
    OldWordsFact,
    Proof,
    RestartsFact,
    RunFact,
    Shows,
    SilenceFact,
    enough,
    explained_by,
    need,
    needed,
    present,
    rule,
)
from ..determinism.seeds.seed_ignored import seeded_from
from ..memory.memory import unrepeatable, unsound
from .no_reset.known import is_not_reset
from .no_reset.no_reset import TOO_SHORT

HORIZONS = 2            # of an episode, up to which a batch shows enough of it


@rule("PUF402", "never-ends", "warning")
def never_ends(facts: Facts) -> Findings:
    """An agent is stuck: for a very long time it gets neither a reward nor a terminal, whatever
    anybody does.

    Why it ruins training: a stuck agent fills the batch with steps that teach nothing. Every hour
    more envs are stuck, and the score sinks without a visible cause.

    Bad:

        if (car->off_road) return;                  // and nobody ever puts it back

    Good:

        if (car->off_road || ++env->tick >= MAX_TICKS) {
            env->terminals[0] = 1.0f;
            add_log(env);
            c_reset(env);
            return;
        }

    Fix: end the episode when the agent is lost, or after a time limit; without episodes, put
    the agent back.

    How it is seen: the silence lasts until the end of the run, for a thousand steps of random play
    or more, and 8 times as long as the longest earlier one of any agent; or nothing ever ends, and
    rewards all but cease in the second half of the run. Agents whose last event was a terminal may
    wait for the others. With a variable number of agents, an env without any active agent is an
    error.
    """
    run, fact = needed(facts, "run", RunFact), needed(facts, "run", SilenceFact)
    if is_not_reset(facts):
        raise NotTested("episodes do not begin anew", "PUF401")
    if run.lived == 0:
        yield Finding("PUF402", "no row ever has an agent", **facts.at("c_reset"), env=0,
                      expected="somebody who lives", actual=f"none in {run.steps:,} steps",
                      seed=facts.seed, seen_in="run", severity="error",
                      hint="set num_agents and alive in c_reset")
        return
    if run.rewards + run.terminals == 0:
        raise NotTested("no reward and no terminal was ever seen")
    if fact.stuck:
        many = facts.shape.env_agents > 1
        yield Finding("PUF402", f"{fact.stuck} of {fact.agents} "
                                f"{'agents' if many else 'envs'} got stuck: no reward and no "
                                f"terminal for {fact.steps} steps",
                      **facts.at("c_step"), env=fact.env,
                      agent=fact.agent if many else None, step=fact.step,
                      expected="an ending, or a reward, as often as elsewhere in this run"
                      if not fact.ceased else f"about as many events in the second half of the "
                      f"run as in the first, {fact.early}",
                      actual=f"none since step {fact.step}" if not fact.ceased
                      else f"{fact.late}", seed=facts.seed, seen_in="run",
                      hint="end the episode after a time limit, or when the agent is lost")


@rule("PUF403", "lockstep", "warning")
def lockstep(facts: Facts) -> Findings:
    """Every episode of every env has the same length, so all envs always end on the same steps.

    Why it ruins training: a batch is made of all envs over one horizon. Where they run in
    lockstep and an episode is much longer than that, one batch holds nothing but openings,
    another nothing but endgames, and the policy forgets one while it learns the other. Losses
    swing with the period of the episode.

    Bad:

        void c_reset(Env* env) { env->tick = 0; ... }       // every episode: 1000 ticks

    Good (episodes begin at ticks of their own, and the envs stay apart):

        void c_reset(Env* env) { env->tick = random_below(&env->rng, MAX_TICKS / 2); ... }

    Fix: stagger the envs: let each episode, or the first of each env, begin at a tick of its
    own or end a little early. Log the steps that were made, not the tick.

    How it is seen: in a long run, all agents of all envs always ended together. Episodes of up to
    two horizons ([train] horizon) are not reported: a batch holds half of one or more, which does
    little harm.
    """
    fact = needed(facts, "run", LockstepFact)
    if is_not_reset(facts):
        raise NotTested("episodes do not begin anew", "PUF401")
    horizon = present(facts.config).train.horizon
    if not fact.locked or fact.length <= HORIZONS * horizon:
        return
    if not enough(fact.ends):
        raise NotTested(f"only {fact.ends} episodes of an env ended")
    yield Finding("PUF403", f"all {fact.ends * fact.envs} episodes of {fact.envs} envs "
                            f"have {fact.length} steps: all end together",
                  **facts.at("c_step"), expected=f"endings spread over time (a batch is "
                  f"{horizon} steps of each env)",
                  actual=f"all envs end on steps {fact.length}, {2 * fact.length}, ...",
                  seed=facts.seed, seen_in="run",
                  hint="let episodes begin at a tick of their own")


def _same_game(facts: Facts) -> NotTested | None:
    """A seed that is put back is what every episode keeps."""
    again = facts.fact("again", AgainFact)
    kept = again and again.kept == again.envs and again.others
    return NotTested("a seed that c_reset puts back explains it", "PUF502") if kept else None


@rule("PUF404", "reset-leaks-state", "warning")
@explained_by(unsound, unrepeatable, _same_game)
def reset_leaks_state(facts: Facts) -> Findings:
    """The next episode depends on the previous one: c_reset forgets a field.

    Why it ruins training: an agent cannot know what the previous episode left behind, so the
    same observation has different futures. Evaluation, which begins in fresh envs, measures
    another game than the one that was trained on.

    Bad:

        void c_reset(Glider* env) { env->x = 0; env->y = 0; }       // speed is kept

    Good:

        void c_reset(Glider* env) { env->x = 0; env->y = 0; env->speed = 0; }

    Fix: set the field in c_reset. Where the memory is meant (a curriculum, a second generator),
    say so: `[check] allow = PUF404 levels rise with skill`.

    How it is seen: an env that has been played and a new one get the same seed, c_reset and the
    same actions; their rows must be the same. The message names the fields that remove the
    difference if they are restored before c_reset.
    """
    need(facts, "fresh")
    fact = facts.fact("fresh", NotFreshFact)
    if fact is None:
        return
    run, restarts = facts.fact("run", RunFact), facts.fact("audit", RestartsFact)
    if run and not run.terminals and not (restarts and restarts.restarts):
        raise NotTested("no episode ended: c_reset is called once, and forgets nothing")
    old = facts.fact("fresh", OldWordsFact)
    words = old.words if old else []
    outside = bool(old and old.known and not words)
    fields = [field for field in dict.fromkeys(facts.field_at(word) for word in words)
              if field and not facts.is_address(field)]
    if fields and set(fields) <= set(seeded_from(facts.source)):
        raise NotTested("the seed that c_reset makes of them explains it", "PUF502")
    named = dict.fromkeys(re.sub(r"\[\d+\]", "[i]", field) for field in fields)
    kept = ", ".join(list(named)[:3])
    array = fact.array.rstrip("s")
    part = obs_spec.named(facts.row.parts, fact.element) if fact.array == "observations" else None
    array += f" {part.name}" if part and part.name else ""
    after = "right after c_reset" if fact.after == 0 else f"{fact.after} steps after c_reset"
    yield Finding("PUF404", f"an episode depends on those before it: its {array} differs {after}"
                  + (f" ({kept} kept an old value)" if kept else ""), **facts.at("c_reset"),
                  env=fact.env, agent=fact.agent, step=fact.step,
                  element=fact.element if fact.array in ("observations", "action_mask") else None,
                  expected=f"{fact.fresh}, as in a new env", actual=fact.played,
                  seed=facts.seed, seen_in="fresh",
                  hint=_to_forget(facts, fields, kept, outside))


def _to_forget(facts: Facts, fields: list[str], kept: str, outside: bool) -> str:
    if not kept:
        return "no field of the struct makes the difference: look for statics, and for memory " \
               "behind pointers" if outside else "set every field in c_reset"
    if {re.split(r"[.\[]", field)[-1] for field in fields} <= counted_on(facts.source):
        return f"c_reset goes on from the old {kept}: if it is meant (levels in turn), allow PUF404"
    return f"set {kept} in c_reset, or allow PUF404 where the memory is meant"


@rule("PUF406", "hidden-reset", proof=Proof("terminal"))
def hidden_reset(facts: Facts) -> Findings:
    """The episode starts over without a terminal: c_step called c_reset, or the whole state
    went back to its start, while some agent's terminal stayed 0. A function that does all the
    work of c_reset counts as well.

    Why it ruins training: the trainer believes that the old episode goes on, and credits the
    new one's rewards to actions of the old one. Values never learn where an episode ends.

    Bad:

        if (env->tick >= MAX_TICKS) { add_log(env); c_reset(env); }

    Good:

        if (env->tick >= MAX_TICKS) { env->terminals[0] = 1.0f; add_log(env); c_reset(env); }

    Fix: set the terminal of every agent whose episode ends, before c_reset. An agent that died
    earlier in the episode had its terminal then. Where c_reset itself clears terminals, the one
    that was just set is lost: clear them at the head of c_step instead.
    """
    fact, where = needed(facts, "audit", RestartsFact), "audit"
    if fact.restarts == 0:          # in the few steps that it looks at
        fact, where = facts.fact("hidden", RestartsFact) or fact, ""
    if fact.hidden == 0:
        if fact.restarts == 0:
            raise NotTested(_no_restart(facts))
        return
    by = ["c_reset", *facts.beginnings][fact.by] if fact.by >= 0 else "c_reset"
    every = fact.hidden == fact.restarts
    run = facts.fact("run", RunFact)
    unseen = run is not None and run.terminals == 0
    cleared = unseen and _is_cleared_by_reset(facts)
    endless = facts.handwritten and unseen and not cleared
    who = f" of agent {fact.agent}" if facts.shape.env_agents > 1 else ""
    yield Finding("PUF406", "a new episode begins without a terminal"
                  + (who or ("" if every else " on some endings")), **facts.at_call(by),
                  env=fact.env, agent=fact.agent, step=fact.step,
                  expected=f"a terminal{who} on each of {fact.restarts} restarts",
                  actual=f"none on {fact.hidden} of them", seed=facts.seed, seen_in=where,
                  severity="warning" if endless else "error",
                  shows=Shows() if fact.by == 0 else Shows("terminal-by-state"),
                  hint="c_reset clears the terminal that c_step has just set: clear terminals at "
                       "the head of c_step, not in c_reset" if cleared
                  else f"set terminals[i] = 1.0f before {by}(env)")


def _no_restart(facts: Facts) -> str:
    endings, run = facts.fact("audit", EndingsFact), facts.fact("run", RunFact)
    if endings and endings.endings + endings.part:
        return "c_step was not seen to call c_reset, or to bring its state back"
    return TOO_SHORT if run and run.terminals else "no episode began anew inside c_step"


def _is_cleared_by_reset(facts: Facts) -> bool:
    """Whether c_step sets terminals to something but 0, and c_reset clears them."""
    def stores(functions: list[Function]) -> Iterator[Node]:
        for function in functions:
            yield from (value.bare() for _, value in source.stores(function, "terminals"))
            for call in function.library_calls:
                if call.name in FILLS and source.leads_to(function, call.node.arguments[0],
                                                          "terminals"):
                    yield call.node.arguments[1].bare()

    source = facts.source
    resetting = source.reach("c_reset")
    stepping = [each for each in source.stepping() if each not in resetting]
    return any(value.value == 0 for value in stores(resetting)) and any(
        value.value != 0 for value in stores(stepping))
