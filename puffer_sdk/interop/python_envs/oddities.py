"""What the interface does not allow, in the words of `check` and `train`.  Oddity -> an error

Each kind has its code, its sentence and its remedy: {what} is the part of the observation, the
argument or the function; {when} the call.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...base.errors import PufferError, RunError


@dataclass
class Oddity:
    """Something that the interface does not allow; `kind` is a key of ODD.

    what        the part of the observation, the argument, ...
    count       how often it was seen
    """

    kind: str
    when: str = ""
    agent: str = ""
    step: int | None = None
    what: str = ""
    element: int | None = None
    expected: object = None
    actual: object = None
    count: int = 1


@dataclass(frozen=True)
class Kind:
    """severity: "" = the rule's, "none" = no finding; at: the function that a finding is placed at,
    "" = the call's; trains: whether rows hold it all the same, though check calls it an error"""

    code: str
    message: str
    hint: str = ""
    severity: str = ""
    at: str = ""
    trains: bool = False


_ARRAY = "return np.array(..., dtype=...) of the shape and dtype of the space"
_AGENTS = "env.agents lists who acts next; each of them is in all five dicts until it has ended"
_NEW = "return a new array each time: self.state.copy()"
_OLD = "an environment of the old Gym is wrapped with Shimmy: shimmy.GymV21CompatibilityV0(env=env)"

ODD = {
    # made
    "no-function": Kind("PUF101", "the environment has no {what}", at="class"),
    "no-field": Kind("PUF102", "the environment has no {what}", "set it in __init__", at="class"),
    "not-gymnasium": Kind("PUF102", "the environment does not inherit from gymnasium.Env",
                          "class ...(gymnasium.Env): wrappers and other trainers ask for it",
                          "warning", "class"),
    "metadata": Kind("PUF102", "{what} is not what Gymnasium expects",
                     "metadata = {{'render_modes': ['rgb_array'], 'render_fps': 30}}", "warning",
                     "class"),
    "no-render-mode": Kind("PUF102", "metadata promise pictures, but the environment takes no "
                           "render_mode", "take a keyword render_mode=None, and pass it on",
                           "warning", "maker"),
    "space-type": Kind("PUF112", "the {what} is no space of Gymnasium", at="__init__"),
    "space-empty": Kind("PUF112", "the {what} is empty", at="__init__"),
    "space-bounds": Kind("PUF112", "the bounds of the {what} contradict each other", at="__init__"),
    "space-narrow": Kind("PUF112", "low and high of the {what} are equal somewhere",
                         "leave the element out, or widen its bounds", "warning", "__init__"),
    "space-refused": Kind("PUF112", "{what}", "wrap it: gymnasium.wrappers.TransformObservation",
                          at="__init__"),
    "agents-differ": Kind("PUF112", "{what} have different spaces",
                          "pad them: supersuit.pad_observations_v0, pad_action_space_v0",
                          at="__init__"),
    "mask-shape": Kind("PUF112", "the action mask has another size than the action space",
                       "one entry for each value of each head"),
    "mask-value": Kind("PUF112", "the action mask holds something else than 0 and 1",
                       severity="warning"),
    "mask-empty": Kind("PUF412", "the mask forbids every action of {what}",
                       "leave one legal, such as an action that does nothing"),
    "same-object": Kind("PUF503", "{what} returned the same object twice",
                        "create the environment inside the function", at="maker"),
    "alone": Kind("PUF503", "a second instance in the same process raises an exception",
                  "train steps each copy in a process of its own: vec.total_agents is their "
                  "number; if each needs a port or an id of its own, take a keyword env_index",
                  "warning", "__init__"),
    # calls
    "reset-seed": Kind("PUF101", "reset() takes no seed", _OLD),
    "reset-options": Kind("PUF101", "reset() takes no options",
                          "def reset(self, *, seed=None, options=None)", "warning", "reset"),
    "seed-default": Kind("PUF502", "reset() without a seed always begins the same game: its seed "
                         "has a default", "seed=None", at="reset"),
    "old-argument": Kind("PUF101", "{what} has something of the old Gym", severity="warning",
                         at="reset"),
    "reset-values": Kind("PUF101", "reset() does not return (observation, info)", _OLD),
    "step-values": Kind("PUF101", "step() does not return what it should",
                        "return observation, reward, terminated, truncated, info"),
    "step-old": Kind("PUF101", "step() returns four values", _OLD),
    "info-type": Kind("PUF101", "the info that {when}() returns is no dict", "return {{}}"),
    "picture": Kind("PUF101", "render() returns no picture", "return a (H, W, 3) array of uint8",
                    at="render"),
    "picture-rewritten": Kind("PUF101", "a picture that render() returned changes later",
                              "return a new array each time", "warning", "render"),
    "close-twice": Kind("PUF208", "close() of a closed environment raises something",
                        severity="warning", at="close"),
    "gymnasium-refuses": Kind("PUF101", "Gymnasium's own checker refuses the environment",
                              "gymnasium.utils.env_checker.check_env(env)", at="class"),
    # observations
    "obs-type": Kind("PUF103", "{part} of {when}() is of another type than its space", _ARRAY),
    "obs-class": Kind("PUF103", "{part} of {when}() is of another class than its space gives",
                      _ARRAY, "warning"),
    "obs-dtype": Kind("PUF103", "{part} of {when}() has another dtype than its space", _ARRAY),
    "obs-precision": Kind("PUF103", "{part} of {when}() has another dtype than its space", _ARRAY,
                          "warning"),
    "obs-key": Kind("PUF306", "{part} of {when}() is not in the space",
                    "declare it in the Dict, or leave it out", trains=True),
    "obs-no-key": Kind("PUF306", "{part} is missing from what {when}() returns",
                       "return every key of the Dict"),
    "obs-shape": Kind("PUF306", "{part} of {when}() has another shape than its space", _ARRAY),
    "obs-outside": Kind("PUF306", "{part} of {when}() leaves its declared bounds",
                        "correct the scale, clamp the state, or widen the bounds", trains=True),
    "windows": Kind("PUF302", "observations are windows of one array", severity="none"),
    "obs-rounded": Kind("PUF306", "{part} of {when}() leaves its declared bounds by a rounding",
                        severity="none"),
    "obs-not-finite": Kind("PUF303", "{part} of {when}() is not finite",
                           "find the division, square root or logarithm, and treat its edge",
                           trains=True),
    "obs-rewritten": Kind("PUF302", "an observation that {what}() returned changes later", _NEW),
    "obs-reused": Kind("PUF302", "two observations are the same object", _NEW, "warning"),
    "obs-shared": Kind("PUF503", "two instances return the same array as their observation",
                       "make the array in __init__ or in step, not in the class or the module"),
    "info-rewritten": Kind("PUF302", "an array in an info changes later", _NEW, "warning"),
    "info-reused": Kind("PUF302", "two infos share an object", "return a new dict each time",
                        "warning"),
    # rewards, endings, actions
    "reward-type": Kind("PUF312", "the reward is no number", "return float(...); of several "
                        "numbers the one to maximise: float(np.dot(weights, reward)), or set "
                        "vec.reward_weights, such as 0.7,0.3"),
    "reward-class": Kind("PUF312", "the reward is no plain number", "return float(...)",
                         "warning"),
    "reward-not-finite": Kind("PUF312", "a reward is not finite",
                              "find the division, square root or logarithm, and treat its edge",
                              trains=True),
    "ending-class": Kind("PUF322", "{what} is no bool", "return bool(...)", "warning"),
    "ending-value": Kind("PUF322", "{what} is neither True nor False", "return bool(...)"),
    "action-written": Kind("PUF205", "step() changes the action that it was given",
                           "work on a copy: action = np.array(action)"),
    "reset-hidden": Kind("PUF406", "step() begins a new episode without an ending",
                         "return terminated or truncated, and leave reset() to the caller"),
    "reset-in-step": Kind("PUF406", "step() resets the environment that it has just ended",
                          "return the last observation, and leave reset() to the caller",
                          "warning"),
    # agents
    "agents-none": Kind("PUF407", "after reset() there is no agent", _AGENTS, at="reset"),
    "agent-unknown": Kind("PUF407", "agents lists {what}, who is not in possible_agents", _AGENTS),
    "agent-no-obs": Kind("PUF301", "an agent in agents has no observation", _AGENTS),
    "agent-no-observation": Kind("PUF301", "an agent that acted gets no observation", _AGENTS),
    "agent-no-reward": Kind("PUF311", "an agent that acted gets no reward", _AGENTS),
    "agent-no-terminated": Kind("PUF321", "an agent that acted is missing from the terminations",
                                _AGENTS),
    "agent-no-truncated": Kind("PUF321", "an agent that acted is missing from the truncations",
                               _AGENTS),
    "agent-no-info": Kind("PUF101", "an agent that acted is missing from the infos", _AGENTS,
                          "warning"),
    "agent-vanished": Kind("PUF321", "an agent leaves without an ending", _AGENTS),
    "agent-lingers": Kind("PUF401", "an agent that has ended is still in agents", _AGENTS),
    "agent-back": Kind("PUF401", "an agent that has ended acts again before reset()", _AGENTS),
}


def sentence(each: Oddity) -> str:
    """What is wrong: "the observation of step() has another shape than its space"."""
    part = f"'{each.what}' of the observation" if each.what else "the observation"
    message = ODD[each.kind].message.format(what=each.what, when=each.when or "step", part=part)
    return message + (f" (agent {each.agent})" if each.agent else "")


def refuse(oddities: Iterable[Oddity], when: str, agent: object = "",
           error: type[PufferError] = RunError, strict: bool = False) -> None:
    """Raise an error for the first of these that rows or training cannot hold.

    when    the call; strict: what trains all the same counts as well
    """
    for each in oddities:
        kind = ODD[each.kind]
        if not kind.severity and (strict or not kind.trains):
            each.when, each.agent = each.when or when, each.agent or str(agent)
            element = "" if each.element is None else f"element {each.element}: "
            actual = None if each.actual is None else f"{element}{each.actual}"
            raise error(sentence(each), expected=each.expected, actual=actual, code=kind.code,
                        hint=kind.hint.format() or None)
