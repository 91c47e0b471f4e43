"""Judgements of episodes: do they end, as what, and does the observation keep up?"""
from collections import Counter

from ...collect.python.python_facts import Episode, Play, PythonFacts
from ...core.vocabulary import Finding, Findings, NotTested, enough, half, most, present
from .judging import agent_of, judgement

ENDLESS = 10_000        # steps of one episode after which it looks endless
ENDINGS = 5             # that are enough
LIMIT = 20              # steps: a shorter episode of fixed length is a game of so many rounds

MOVES = 50              # steps within episodes that are enough to see how observations change
PRINTED = 8             # steps for each byte that is printed
GROWN = 20              # entries of a container that grows without end


def _ended(play: Play) -> list[Episode]:
    return [episode for episode in play.episodes if not episode.cut]


@judgement("PUF402", needs=("play",))
def never_ends(facts: PythonFacts) -> Findings:
    play = present(facts.play)
    if play.terminals or play.truncations or (facts.long and facts.long.endings):
        return
    longest = facts.long.longest if facts.long else 0
    if longest < ENDLESS:
        raise NotTested(f"no episode ended, in {longest:,} steps")
    yield Finding("PUF402", f"no episode ends: the longest had {longest:,} steps",
                  **facts.at("step"), expected="terminated or truncated, some time",
                  actual="neither", seen_in="long",
                  hint="end it when the task is done or lost, or wrap it: "
                       "gymnasium.wrappers.TimeLimit")


@judgement("PUF322", "PUF321", needs=("play",))
def kinds_of_endings(facts: PythonFacts) -> Findings:
    play = present(facts.play)
    ended = _ended(play)
    if not ended:
        raise NotTested("no episode ended")
    place = facts.at("step")
    if len(ended) >= ENDINGS and all(episode.both for episode in ended) \
            and not present(facts.shape).parallel:
        yield Finding("PUF322", "every ending is terminated and truncated at once", **place,
                      expected="terminated where the game is over, truncated where time is up",
                      actual=f"both, {len(ended)} times", seen_in="play",
                      hint="return terminated and truncated as two answers to two questions")
        return
    yield from _at_once(facts, ended)
    lengths = Counter(episode.length for episode in ended)
    longest = max(lengths)
    same = [episode for episode in ended if episode.length == longest]
    if len(same) >= ENDINGS and longest >= LIMIT and half(len(same), len(ended)) \
            and not any(play.timed) and all(
                episode.terminated and not episode.truncated for episode in same):
        yield Finding("PUF322", f"{len(same)} of {len(ended)} episodes end as terminated after "
                      f"exactly {longest} steps: a time limit is a truncation", **place,
                      expected="truncated", actual="terminated", severity="warning",
                      seen_in="play", hint="return terminated=False, truncated=True; or show the "
                      "time in the observation, if it belongs to the game")


def _at_once(facts: PythonFacts, ended: list[Episode]) -> Findings:
    """Episodes that are over with their first step."""
    one = [episode for episode in ended[1:] if episode.length == 1]
    if len(ended) < 2 * ENDINGS or len(one) < len(ended) - 1:
        return
    if ended[0].length > 1:
        yield Finding("PUF321", "after the first episode, every one ends with its first step",
                      **facts.at("reset"), expected="an episode like the first, of "
                      f"{ended[0].length} steps", actual="1 step", seen_in="play",
                      hint="clear in reset() what step() ends an episode by")
    elif any(episode.truncated for episode in one):
        yield Finding("PUF322", "every episode is truncated after its first step",
                      **facts.at("step"), expected="a longer time limit", actual="1 step",
                      seen_in="play", hint="does the limit count what it should?")
    elif _actions_matter_later(facts):
        yield Finding("PUF321", "every episode ends with its first step, although actions change "
                      "what comes next", **facts.at("step"), expected="episodes of several steps",
                      actual="1 step", severity="warning", seen_in="play",
                      hint="is the condition the wrong way round?")


def _actions_matter_later(facts: PythonFacts) -> bool:
    """Whether another action leads to another observation: a bandit's does not."""
    return any(each.differs and each.array == "observation" for each in facts.effects)


@judgement("PUF302", needs=("play",))
def stale(facts: PythonFacts) -> Findings:
    """Observations that do not follow the state."""
    play = present(facts.play)
    for agent in play.still if play.moving else ():
        yield Finding("PUF302", f"the observation of agent {agent} never changes within an "
                      "episode, although others' do", **facts.at("step"),
                      agent=agent_of(facts, agent), expected="an observation of each step",
                      actual="that of reset()", seen_in="play",
                      hint="observe every agent in step()")
    if (play.low == play.high).all():
        return                          # PUF305 says more
    if play.still and not play.moving and play.moves >= MOVES:
        yield Finding("PUF302", "step() never changes the observation; only reset() does",
                      **facts.at("step"), expected="an observation of the new state",
                      actual="that of reset()", seen_in="play",
                      hint="observe in step(), after the state has changed")
        return
    lively = play.moves >= MOVES and most(play.changes, play.moves)
    long = [episode for episode in play.episodes if enough(episode.length)]
    if lively and len(long) >= ENDINGS and all(episode.stale_first for episode in long):
        yield _late(facts, "the first step of every episode returns the observation of reset() "
                    "again", "observe after the state has changed, not before")
    ended = [episode for episode in _ended(play) if episode.length > 1]
    if lively and len(ended) >= ENDINGS and play.quiet_actions \
            and all(episode.stale_last for episode in ended):
        yield _late(facts, "the last step of every episode returns the observation of the step "
                    "before", "observe before every return of step()")
    after = [episode for before, episode in zip(play.episodes, play.episodes[1:])
             if not before.cut and before.length > 1]
    if len(after) >= ENDINGS and play.moves >= MOVES and half(play.changes, play.moves) \
            and most(sum(episode.as_before for episode in after), len(after)):
        yield Finding("PUF302", "reset() returns the last observation of the episode before",
                      **facts.at("reset"), expected="the first observation of a new episode",
                      actual="that of the old one", seen_in="play",
                      hint="observe at the end of reset()")


def _late(facts: PythonFacts, message: str, hint: str) -> Finding:
    return Finding("PUF302", message, **facts.at("step"), expected="an observation of the new "
                   "state", actual="the one before", hint=hint, seen_in="play")


@judgement("PUF111", "PUF115", "PUF206", needs=("play",))
def beyond_the_game(facts: PythonFacts) -> Findings:
    """Prints, files, programs; and containers that only grow."""
    play, place = present(facts.play), facts.at("step")
    if enough(play.printed) and PRINTED * play.printed >= play.steps:
        yield Finding("PUF111", "the environment prints while it is played", **place,
                      expected="silence", actual=f"{play.printed:,} bytes in {play.steps:,} steps",
                      seen_in="play", hint="put it into info, or behind render_mode")
    if enough(play.slept):
        yield Finding("PUF111", "the environment sleeps while it is played", **place,
                      expected="no pause", actual=f"{play.slept:,} calls of time.sleep",
                      seen_in="play", hint="wait in render(), for a person who watches")
    if enough(len(play.opened)):
        yield Finding("PUF111", "the environment writes files while it is played", **place,
                      expected="none", actual=", ".join(dict.fromkeys(play.opened[:6])),
                      seen_in="play", hint="put it into info")
    if enough(len(play.outside)):
        yield Finding("PUF115", "the environment starts programs or connects to others while it is "
                      "played", **place, expected="neither", actual=play.outside[0],
                      seen_in="play")
    for name, (first, last) in sorted(play.grown.items()):
        if half(last - first, len(play.episodes)) and last >= GROWN:
            yield Finding("PUF206", f"'{name}' grows with every episode, and is never cleared",
                          **facts.at("reset"), expected="as many entries after each reset()",
                          actual=f"{first:,}, and {last:,} after {len(play.episodes)} episodes",
                          severity="warning", seen_in="play",
                          hint="clear it in reset(), or use deque(maxlen=...)")
