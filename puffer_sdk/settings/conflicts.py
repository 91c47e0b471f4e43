"""Values that are each valid and cannot be together.  Config -> Config, or every conflict"""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..base import ui
from ..base.errors import UsageError, nearest
from ..base.spec import Spec
from . import inifile, torch_class
from .encoder import FLAT
from .goal import FORM, OF_GAMES, parse_goal
from .table import AUTO, KEYS, TORCH_FUNCTIONS
from .texts import parse_action, show
from .values import COMMAND_LINE, Config, Given


class Conflicts:
    """Values that are each valid and cannot be together."""

    def __init__(self, config: Config, given: Mapping[str, Given], ocean: bool,
                 folder: Path | None, spec: Spec | None):
        self.config, self.given, self.ocean, self.folder = config, given, ocean, folder
        self.widths = getattr(spec, "act_widths", None)
        # a binding of one's own decides what its my_log reports
        own_log = getattr(spec, "open_log", False)
        log_names = () if own_log else getattr(spec, "log_names", ())
        self.goals = OF_GAMES if getattr(spec, "in_teams", False) else log_names
        self.faults: list[UsageError] = []

    def resolve(self) -> Config:
        """The config, fixed where an Ocean ini needs it. Raises UsageError otherwise."""
        self._name()
        self._buffers()
        self._minibatch()
        self._trainer()
        self._gpus()
        self._texts()
        for name in () if self.ocean or self.config.of_python else self.config.env:
            twin = "max_" + name[4:]
            if name.startswith("min_") and self.config.env[name] > self.config.env.get(
                    twin, float("inf")):
                self._clash((f"env.{name}", f"env.{twin}"), f"[env] {name} is above {twin}",
                            f"at most {show(self.config.env[twin])}",
                            show(self.config.env[name]), "swap the two")
        inifile.raise_all(self.faults)
        return self.config

    def _clash(self, keys: tuple[str, ...], message: str, expected: str, actual: str, hint: str,
               fix: tuple[str, object] | None = None) -> None:
        """Refuse; or, in an Ocean environment, fix one value with a warning."""
        if fix and self.ocean:
            full, value = fix
            ui.warn_once(f"{self._where(keys)}: {message}; {full} = {show(value)} is used")
            self.config = self.config.with_auto(full, value, message)
            return
        self.faults.append(UsageError(message, where=self._where(keys), expected=expected,
                                      actual=actual, hint=hint))

    def _where(self, keys: tuple[str, ...]) -> str | None:
        """The place of the first key that somebody wrote, the command line's before the ini's."""
        places = [self.given[full] for full in keys if full in self.given]
        places.sort(key=lambda given: given.origin != COMMAND_LINE)
        if places:
            return places[0].where
        return next((self.config.origin[full] for full in keys
                     if full in self.config.origin), None)

    def _name(self) -> None:
        name = self.config.base.env_name
        if not self.ocean and self.folder is not None and name != self.folder.name:
            self._clash(("base.env_name",), "[base] env_name is not this environment's name",
                        f"'{self.folder.name}'", f"'{name}'", "leave env_name out")

    def _buffers(self) -> None:
        total, slices = self.config.vec.total_agents, self.config.vec.num_buffers
        if total % slices and self.config.train.gpus == 1:
            fits = next(n for n in range(min(slices, total), 0, -1) if total % n == 0)
            near = max(1, round(total / slices)) * slices
            self._clash(("vec.num_buffers", "vec.total_agents"),
                        f"total_agents = {total} does not divide into num_buffers = {slices} "
                        "equal slices", f"a multiple of {slices}", str(total),
                        f"num_buffers = {fits} works, or total_agents = {near}",
                        ("vec.num_buffers", fits))

    def _minibatch(self) -> None:
        size, horizon = self.config.train.minibatch_size, self.config.train.horizon
        total = self.config.vec.total_agents
        steps = total * horizon
        keys = ("train.minibatch_size", "train.horizon", "vec.total_agents")
        fits = max(1, min(size, steps) // horizon) * horizon
        if size > steps:
            self._clash(keys, f"minibatch_size = {size} is more than an epoch holds",
                        f"at most {steps} (total_agents {total} x horizon {horizon})", str(size),
                        f"minibatch_size = {fits} works", ("train.minibatch_size", fits))
        elif size % horizon:
            self._clash(keys, f"minibatch_size = {size} is not a multiple of "
                        f"horizon = {horizon}", f"a multiple of {horizon}", str(size),
                        f"minibatch_size = {fits} works", ("train.minibatch_size", fits))

    def _trainer(self) -> None:
        """What one of the trainers cannot do."""
        train, network = self.config.train, self.config.policy.torch_class
        if train.backend == "native" and network:
            self._clash(("train.backend", "policy.torch_class"),
                        "[policy] torch_class is a network in PyTorch, which the native trainer "
                        "cannot train", "train.backend = torch", "native",
                        "leave train.backend at auto")
        encoder = self.config.policy.encoder
        if encoder not in (AUTO, FLAT) and network:
            self._clash(("policy.encoder", "policy.torch_class"),
                        "a network of your own sees the whole row: policy.encoder is not for it",
                        "policy.encoder = auto, or no torch_class", encoder,
                        "leave policy.encoder out")
        if encoder not in (AUTO, FLAT) and (train.backend, train.device) == ("native", "cuda"):
            self._clash(("policy.encoder", "train.device"),
                        "the native trainer on a GPU has the flat encoder only",
                        "train.device = cpu, train.backend = torch, or policy.encoder = flat",
                        encoder, "leave train.device at auto")
        for name in TORCH_FUNCTIONS:
            if train.backend == "native" and self.config[name]:
                self._clash(("train.backend", name), f"{KEYS[name].shown} is in PyTorch, which the "
                            "native trainer does not take", "train.backend = torch", "native",
                            "leave train.backend at auto")
        if self.config.vec.device == "cuda" and (train.backend, train.device) != ("native", "cuda"):
            self._clash(("vec.device", "train.device", "train.backend"),
                        "environments on a GPU need the native trainer on a GPU",
                        "vec.device = cpu, or train.device = cuda",
                        f"train.device = {train.device}, train.backend = {train.backend}",
                        "leave train.device at auto, or vec.device at cpu", ("vec.device", "cpu"))
        if train.async_ and (train.backend, train.device) != ("native", "cuda"):
            self._clash(("train.async", "train.device", "train.backend"),
                        "learning during a rollout needs the native trainer on a GPU",
                        "train.async = false, or train.device = cuda",
                        f"train.device = {train.device}, train.backend = {train.backend}",
                        "leave train.async out")
        if self.config.selfplay.enabled and (train.backend, train.device, train.processes) != (
                "native", "cpu", 1):
            self._clash(("selfplay.enabled", "train.device", "train.backend", "train.processes"),
                        "self-play needs the native trainer on the CPU, in one process",
                        "train.device = cpu, or selfplay.enabled = false",
                        f"train.device = {train.device}, train.backend = {train.backend}, "
                        f"train.processes = {train.processes}",
                        "leave train.device, train.backend and train.processes at their defaults")
        vec = self.config.vec
        if self.config.selfplay.enabled and (vec.num_policies < 2 or not vec.hist_policy_percent):
            self._clash(("selfplay.enabled", "vec.num_policies", "vec.hist_policy_percent"),
                        "no opponent would play",
                        "num_policies of 2 or more, and hist_policy_percent above 0",
                        f"{vec.num_policies}, {vec.hist_policy_percent:g}",
                        "num_policies = 2 and hist_policy_percent = 0.5 are the defaults")
        if train.backend == "torch" and train.precision != "fp32":
            self._clash(("train.precision", "train.backend"),
                        f"the PyTorch trainer computes in fp32, not in {train.precision}",
                        "train.precision = fp32, or train.backend = native", train.precision,
                        "leave train.precision at fp32")

    def _gpus(self) -> None:
        """Several GPUs share everything equally."""
        train, vec = self.config.train, self.config.vec
        gpus = train.gpus
        if gpus == 1:
            return
        if train.processes > 1:
            self._clash(("train.processes", "train.gpus"),
                        "a run is shared by processes or by the GPUs of one process, not by both",
                        "train.processes = 1, or train.gpus = 1",
                        f"{train.processes} processes, {gpus} GPUs",
                        "leave one of them out", ("train.processes", 1))
        if (train.backend, train.device) != ("native", "cuda"):
            self._clash(("train.gpus", "train.device", "train.backend"),
                        f"{gpus} GPUs need the native trainer on a GPU",
                        "train.gpus = 1, or train.device = cuda",
                        f"train.device = {train.device}, train.backend = {train.backend}",
                        "leave train.gpus out", ("train.gpus", 1))
            return
        if vec.num_buffers % gpus or vec.total_agents % vec.num_buffers:
            self._clash(("vec.num_buffers", "train.gpus", "vec.total_agents"),
                        f"num_buffers = {vec.num_buffers} and total_agents = {vec.total_agents} "
                        f"cannot be divided among {gpus} GPUs",
                        f"a multiple of {gpus}, and total_agents a multiple of that",
                        f"{vec.num_buffers}, {vec.total_agents}",
                        f"num_buffers = {2 * gpus} and total_agents = "
                        f"{max(1, round(vec.total_agents / (2 * gpus))) * 2 * gpus} work")
        segments = train.minibatch_size // train.horizon
        if segments % gpus and train.minibatch_size % train.horizon == 0:
            unit = gpus * train.horizon
            self._clash(("train.minibatch_size", "train.gpus", "train.horizon"),
                        f"minibatch_size = {train.minibatch_size} cannot be shared by {gpus} GPUs "
                        "in whole horizons",
                        f"a multiple of {unit} ({gpus} GPUs x horizon {train.horizon})",
                        str(train.minibatch_size),
                        f"minibatch_size = {max(1, train.minibatch_size // unit) * unit} works")

    def _goal(self) -> None:
        text, known = self.config.eval.goal, self.goals
        try:
            goal = parse_goal(text)
        except ValueError:
            self._clash(("eval.goal",), "[eval] goal cannot be read", FORM, f"'{text}'",
                        "such as score >= 800")
            return
        if goal and known and goal.name not in known:
            meant = nearest(goal.name, known)
            why, hint = ("games do not tell", "what is logged is of both sides") \
                if known is OF_GAMES else ("is not logged", "add it to Log")
            self._clash(("eval.goal",), f"[eval] goal names '{goal.name}', which {why}",
                        "one of " + ", ".join(known), f"'{text}'",
                        f"did you mean '{meant}'?" if meant else hint)
        if self.config.train.stop_at_goal and not goal:
            self._clash(("train.stop_at_goal",), "[train] stop_at_goal without a goal",
                        "[eval] goal beside it", "none", "such as goal = score >= 800")

    def _texts(self) -> None:
        """Texts with a form of their own."""
        text, widths = self.config.eval.idle_action, self.widths
        try:
            action = parse_action(text)
        except ValueError:
            self._clash(("eval.idle_action",), "[eval] idle_action is not an action",
                        "one number per head, such as 4, 2", f"'{text}'", "0 for a single head")
            action = ()
        if action and widths and (len(action) != len(widths) or not all(
                width == 1 or (0 <= value < width and value.is_integer())
                for value, width in zip(action, widths, strict=True))):
            self._clash(("eval.idle_action",), "[eval] idle_action does not fit ACT_SIZES",
                        "one id per head, below {" + ", ".join(map(str, widths)) + "}",
                        f"'{text}'", "such as " + ", ".join("0" for _ in widths))
        self._goal()
        for full, spec in torch_class.specs(self.config).items():
            if not re.fullmatch(r".+\.py:[A-Za-z_]\w*", spec):
                kind, example = ("class", "network.py:MyPolicy") if full == torch_class.KEY \
                    else ("function", "ideas.py:my_function")
                self._clash((full,), f"{KEYS[full].shown} does not name a {kind}",
                            f"FILE.py:{'CLASS' if kind == 'class' else 'NAME'}", f"'{spec}'",
                            f"such as {example}")
