"""Export a policy.  checkpoint -> NAME_policy.bin (C), .onnx, or .pt2 (torch.export)

    puffer_sdk.export("my_env")                     ./my_env_policy.bin, for include/puffernet.h
    puffer_sdk.export("my_env", to="onnx")          ./my_env_policy.onnx
    puffer_sdk.export("runs/my_env/0007", to="torch", output="policy.pt2")

Every format holds one tick of the network and the sizes it was made for. In ONNX and torch the
state is an input and an output; the caller zeroes the rows of agents whose episode ended.

Sizes: n agents, D observation, H hidden, L layers, K heads, A sum of head widths.
"""
from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..base import extras, files
from ..base.errors import RunError, UsageError
from ..base.spec import OBS_NAMES, Spec
from ..env import header, obs_spec
from ..interop.python_envs import env_source, layouts
from ..settings import encoder, torch_class
from ..settings.values import Config
from ..training import backends, checkpoint, runs
from ..training.find_model import USUAL, find_model, measured, which_weights

if TYPE_CHECKING:
    from ..interop.python_envs.space_rows import Observations

SUFFIXES = {"c": ".bin", "onnx": ".onnx", "torch": ".pt2"}
ONNX_OPSET, ONNX_IR = 17, 8         # understood by runtimes since 2022
TRAILER = struct.Struct("<8IQ32s32s")       # puffernet.h draws it
TRAILER_END = struct.Struct("<II8s")


@dataclass(frozen=True)
class TrainedPolicy:
    """A checkpoint's network: its sizes, and the weights by name."""

    path: Path
    name: str                       # of the environment
    step: int                       # agent steps trained
    obs_size: int
    obs_dtype: str                  # "uint8", "int32" or "float32"
    act_sizes: tuple[int, ...]      # a head of width 1 is continuous
    hidden_size: int
    num_layers: int
    settings_hash: str              # of all settings of the training
    config: Config = field(repr=False)
    weights: dict[str, np.ndarray] = field(repr=False)      # as shapes() has them
    layout: Observations | None = field(default=None, repr=False)   # of a Python environment's rows
    chosen: str = ""                # which one it is: "the best of run 3, after 4,096 steps"
    measured: str = ""              # what the run's evaluation says of it; "": nobody measured it
    masked: bool | None = None      # it saw masks; None: an older checkpoint does not say
    comes_and_goes: bool | None = None      # rows may have no agent; None likewise

    @property
    def parts(self) -> tuple[encoder.Part, ...]:
        """What the network sees of a row besides plain numbers; () of a network of one's own."""
        own = self.config.policy.torch_class
        return () if own else encoder.parts_of(self.config.policy.encoder, self.obs_size)

    @property
    def continuous(self) -> int:
        return sum(width == 1 for width in self.act_sizes)

    def about(self) -> dict[str, object]:
        """The facts that every format holds; JSON-able."""
        return {"env": self.name, "step": self.step, "obs_size": self.obs_size,
                "obs_dtype": self.obs_dtype, "act_sizes": list(self.act_sizes),
                "settings_hash": self.settings_hash,
                "logstd": [float(x) for x in self.weights.get("logstd", ())]}


@dataclass(frozen=True)
class Exported:
    """An exported file."""

    path: Path
    to: str
    policy: TrainedPolicy
    folder: Path | None = None      # the environment's, if one was named


def export(run: str | Path | None = None, to: str = "c", output: str | Path | None = None, *,
           model: str | Path | None = None, runs_dir: Path | None = None) -> Path:
    """Write the policy of a run for C, ONNX or PyTorch, and return the file.

    run       an environment (its newest run), a run's folder, or a checkpoint file
    to        "c", "onnx" or "torch"
    output    the file; default: NAME_policy.bin, .onnx or .pt2 in the current folder
    model     with an environment: "best" or "latest", a run's number or folder, or a checkpoint
              file
    An existing file is replaced as a whole. Raises UsageError if the policy cannot be exported,
    RunError if the file cannot be written.
    """
    return export_policy(run, to, output, model=model, runs_dir=runs_dir).path


def export_policy(run: str | Path | None = None, to: str = "c", output: str | Path | None = None, *,
                  model: str | Path | None = None, runs_dir: Path | None = None) -> Exported:
    """export, with facts about the written file."""
    if to not in SUFFIXES:
        raise UsageError("there is no such export format", expected=" or ".join(SUFFIXES),
                         actual=to)
    path, folder = find_checkpoint(run, model, runs_dir)
    if folder is not None:
        torch_class.name_given(env_source.CompiledSource(folder))
    policy = read_policy(path)
    if folder is not None and policy.name != folder.name:
        policy = fitted(policy, header.read(folder), policy.config.env)
    label = files.name(env_source.find(policy.name).label if ":" in policy.name else policy.name,
                       "the environment's name", where=path)
    target = files.typed(output) if output else Path.cwd() / f"{label}_policy{SUFFIXES[to]}"
    if target.is_dir() or not target.parent.is_dir():
        raise UsageError("--output must be a file in an existing folder", where=target)
    if target == files.real(path):
        raise UsageError("the export would replace the checkpoint itself", where=target)
    save = files.save_typed if output else files.save       # the usual name may be a link
    save(target, WRITERS[to](policy), what="the export", hint=f"{files.SPARE}: --output")
    return Exported(target, to, policy, folder)


def find_checkpoint(run: str | Path | None = None, model: str | Path | None = None,
                    runs_dir: Path | None = None) -> tuple[Path, Path | None]:
    """The checkpoint to export, and the environment's folder if one in C was named."""
    path = Path(os.path.expanduser(run)) if run is not None else None
    if path is not None and (path.is_file() or path.suffix == ".safetensors"
                             or (path / "run.json").is_file()):
        if model is not None:
            raise UsageError("two policies are named", where=path, expected="one",
                             actual=f"this and --load-model-path {model}")
        return find_model(files.real(path).parent, path), None
    source = env_source.find(run)
    folder = source.folder if source.in_c else None
    home = source.runs_dir(runs_dir)
    if model in (None, "best", "latest") and runs.latest_run(home, with_checkpoint=True) is None:
        raise UsageError("there is no trained policy yet", where=home,
                         hint=runs.hint_to_train(home))
    return find_model(home, model or USUAL), folder


def read_policy(path: Path) -> TrainedPolicy:
    """Read a checkpoint. Raises UsageError if its weights do not fit its settings."""
    past = checkpoint.load(path)
    env, config = past.facts["env"], past.config
    settings = json.dumps(past.facts["config"], sort_keys=True).encode()
    try:
        policy = TrainedPolicy(
            path=path, step=past.step, obs_size=int(env["obs_size"]),
            name=str(env["name"]),
            obs_dtype=str(env["obs_dtype"]), act_sizes=tuple(int(w) for w in env["act_sizes"]),
            hidden_size=config.policy.hidden_size, num_layers=config.policy.num_layers,
            settings_hash=hashlib.sha256(settings).hexdigest()[:31], config=config,
            weights=past.tensors, layout=layouts.from_dict(env.get("layout")),
            chosen=which_weights(past), measured=measured(past), masked=env.get("masked"),
            comes_and_goes=env.get("comes_and_goes"))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError("this checkpoint does not name its environment", where=path,
                         detail=f"{type(error).__name__}: {error}") from None
    if config.policy.torch_class:
        return policy
    for name, shape in shapes(policy).items():
        found = past.tensors.get(name)
        if found is None or found.shape != shape:
            raise UsageError(f"this checkpoint's weights do not fit its settings: {name}",
                             where=path, expected=shape,
                             actual="nothing" if found is None else found.shape)
    return policy


def fitted(policy: TrainedPolicy, spec: Spec, env_settings: Mapping[str, float]) -> TrainedPolicy:
    """The policy for the environment of this header, under its name; warns if it had another one.

    Raises UsageError where it is known not to fit. The program itself checks the sizes that only
    the compiled header knows, when it loads the file.
    """
    past = checkpoint.load(policy.path)
    size, env = obs_spec.size_of(spec, env_settings), past.facts["env"]
    checkpoint.check_fits(past, {
        "name": spec.name, "obs_dtype": OBS_NAMES[spec.obs_dtype],
        "obs_size": env["obs_size"] if size is None else size,
        "act_sizes": list(spec.act_widths or env["act_sizes"])}, env_settings)
    checkpoint.warn_of_other_name(past, spec.name)
    return replace(policy, name=spec.name)


def shapes(policy: TrainedPolicy) -> dict[str, tuple[int, ...]]:
    """The network's tensors, in the order of the flat file."""
    hidden, outputs = policy.hidden_size, sum(policy.act_sizes)
    logstd = {"logstd": (policy.continuous,)} if policy.continuous else {}
    layers = {f"layers.{i}": (3 * hidden, hidden) for i in range(policy.num_layers)}
    seen = encoder.seen_size(policy.parts, policy.obs_size)
    return {"encoder": (hidden, seen), "decoder": (outputs + 1, hidden), **logstd, **layers,
            **encoder.weight_shapes(policy.parts)}


def refuse_torch_class(policy: TrainedPolicy, what: str) -> None:
    if policy.config.policy.torch_class:
        raise UsageError(f"a custom network cannot be exported to {what}",
                         where=policy.path, expected="the network of puffer-sdk",
                         actual=f"policy.torch_class {policy.config.policy.torch_class}",
                         hint="--to torch takes it")


def require(package: str, to: str, install: str) -> None:
    if find_spec(package) is None:
        raise UsageError(f"--to {to} requires the package {package}, which is not installed",
                         hint=install)


# ---- C ----------------------------------------------------------------------------------------


def pack(policy: TrainedPolicy) -> bytes:
    """The bytes of NAME_policy.bin: PufferLib's flat weights, then the trailer of puffernet.h, of
    version 2 where the network has parts."""
    refuse_torch_class(policy, "C")
    blocks = []
    for name in shapes(policy):
        data = policy.weights[name].astype("<f4").tobytes()
        blocks.append(data + bytes(-len(data) % 32))            # each starts at 8 floats
    weights = b"".join(blocks)
    trailer = TRAILER.pack(2 if policy.parts else 1, len(weights) // 4, policy.obs_size,
                           policy.hidden_size, policy.num_layers, len(policy.act_sizes),
                           policy.obs_dtype == "uint8", 0, policy.step, _text(policy.name),
                           _text(policy.settings_hash))
    trailer += _words(policy.act_sizes) + _part_words(policy.parts)
    end = len(trailer) + TRAILER_END.size
    return weights + trailer + TRAILER_END.pack(zlib.crc32(weights + trailer), end, b"PUFFNET1")


def _words(numbers: Iterable[int]) -> bytes:
    return np.fromiter(numbers, "<u4").tobytes()


def _part_words(parts: Sequence[encoder.Part]) -> bytes:
    """What a trailer of version 2 says of the parts; nothing without any."""
    words = [len(parts)] if parts else []
    for part in parts:
        words += [part.first, part.height, part.width, part.channels,
                  1 if part.pooled else 2 if part.planes else 0,
                  0 if part.mask is None else part.mask + 1, len(part.ids), len(part.layers),
                  *part.ids]
        for layer in part.layers:
            words += [layer.filters, layer.kernel, layer.stride]
    return _words(words)


def _text(text: str) -> bytes:
    """At most 31 bytes, whole characters: the 32nd byte is C's terminating zero."""
    return text.encode()[:31].decode(errors="ignore").encode()


# ---- ONNX -------------------------------------------------------------------------------------


def to_onnx(policy: TrainedPolicy) -> bytes:
    """observations (n, D), state (n, L, H) -> logits (n, A), value (n), new_state (n, L, H)."""
    refuse_torch_class(policy, "ONNX")
    require("onnx", "onnx", "pip install 'puffer-sdk[onnx]'")
    import onnx
    from onnx import TensorProto, helper

    from .onnx_network import OnnxNodes, add_network

    network = OnnxNodes()
    add_network(network, policy)
    hidden, outputs = policy.hidden_size, sum(policy.act_sizes)
    observed = {"uint8": TensorProto.UINT8, "int32": TensorProto.INT32}.get(
        policy.obs_dtype, TensorProto.FLOAT)
    state: list[str | int | None] = ["n", policy.num_layers, hidden]
    value_info = helper.make_tensor_value_info
    graph = helper.make_graph(
        network.nodes, "policy",
        [value_info("observations", observed, ["n", policy.obs_size]),
         value_info("state", TensorProto.FLOAT, state)],
        [value_info("logits", TensorProto.FLOAT, ["n", outputs]),
         value_info("value", TensorProto.FLOAT, ["n"]),
         value_info("new_state", TensorProto.FLOAT, state)], list(network.constants.values()))
    model = helper.make_model(graph, producer_name="puffer-sdk", ir_version=ONNX_IR,
                              opset_imports=[helper.make_opsetid("", ONNX_OPSET)])
    helper.set_model_props(model, {"puffer": json.dumps(policy.about(), sort_keys=True)})
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


# ---- PyTorch ----------------------------------------------------------------------------------


def to_torch(policy: TrainedPolicy) -> bytes:
    """A torch.export program: (observations (n, D), state) -> (logits, value, new state).

    Loading it needs no class, neither ours nor a torch_class. state starts as zeros; the metadata
    gives its shape, without the leading n, under "state".
    """
    require("torch", "torch", extras.install_torch())
    import torch

    from ..training.reference.own_network import Network
    from ..training.reference.policy import build_policy, load_weights

    class Tick(torch.nn.Module):
        def __init__(self, net: Network) -> None:
            super().__init__()
            self.net = net

        def forward(self, observations: torch.Tensor, state: torch.Tensor
                    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            return self.net.step(observations, state)

    backends.require_torch(policy.config, where=policy.path)
    net = build_policy(policy.obs_size, policy.act_sizes, policy.config,
                       obs_dtype=policy.obs_dtype, layout=policy.layout)
    load_weights(net, policy.weights)
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    kind = getattr(torch, policy.obs_dtype)
    state = net.initial_state(2)
    example = torch.zeros((2, policy.obs_size), dtype=kind), state
    n = torch.export.Dim("n")
    try:
        with torch.no_grad():
            program = torch.export.export(Tick(net).eval(), example, strict=False,
                                          dynamic_shapes=({0: n}, {0: n}))
        for node in program.graph.nodes:        # they hold paths of this machine
            node.meta.pop("stack_trace", None)
        about = json.dumps({**policy.about(), "state": list(state.shape[1:])}, sort_keys=True)
        buffer = io.BytesIO()
        torch.export.save(program, buffer, extra_files={"puffer.json": about})
    except Exception as error:                  # of any kind: torch's, or the user's network's
        own = policy.config.policy.torch_class
        if not own:
            raise
        raise RunError("torch.export cannot take this network", where=own,
                       detail=f"{type(error).__name__}: {error}"[:2000],
                       hint="its step() must be traceable for any n") from None
    return buffer.getvalue()


WRITERS = {"c": pack, "onnx": to_onnx, "torch": to_torch}
