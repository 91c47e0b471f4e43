"""What CUDA finds on this machine.  PATH, wheels, a driver -> Nvcc, cuBLASLt's file, Driver

Nothing here raises for what is missing: that is None, or a sentence. A process of its own asks the
driver, because a broken driver may end the process that asks.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from glob import glob
from importlib import metadata, util
from pathlib import Path

from ..base import ui

INSTALL = "pip install 'puffer-sdk[cuda]'"
WHEELS_CUDA = 13            # which that installs; NVIDIA's wheels of CUDA 12 hold no nvcc
WHEELS = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime")
SECONDS = 20                # what a driver or a compiler may take to answer
PATIENCE = 180              # and a driver whose GPUs the system lists: the first call may be slow
LISTED = ("/proc/driver/nvidia/gpus/*", "/dev/nvidia[0-9]*", "/dev/dxg")    # the last is WSL's


@dataclass(frozen=True)
class Nvcc:
    """A CUDA compiler that says its version.

    path      the program, absolute
    version   (13, 0): CUDA's
    banner    "V13.0.88", all of it
    origin    "PATH", "CUDA_HOME", "wheels", ...
    home      the folder that holds its bin, include and lib
    """

    path: str
    version: tuple[int, int]
    banner: str
    origin: str
    home: Path

    def __str__(self) -> str:
        place = "NVIDIA's wheels" if self.origin == "wheels" else self.path
        return f"{shown(self.version)} ({place})"


@dataclass(frozen=True)
class Gpu:
    name: str
    capability: tuple[int, int]
    memory: int                         # bytes

    @property
    def arch(self) -> str:
        """As nvcc calls it: "90"."""
        return "{}{}".format(*self.capability)

    def __str__(self) -> str:
        return f"{'an' if self.name[:1] in 'AEINO' else 'a'} {self.name} (sm_{self.arch})"


@dataclass(frozen=True)
class Driver:
    """What the NVIDIA driver says of itself.

    version   the newest CUDA that it runs, None if it did not say
    gpus      those that this process may use
    problem   why there is no GPU, in a few words, where the driver says so
    build     what changes when another driver is installed: its own version, or its file
    """

    version: tuple[int, int] | None
    gpus: tuple[Gpu, ...] = ()
    problem: str | None = None
    build: str = ""


def shown(version: tuple[int, int] | None) -> str:
    return "{}.{}".format(*version) if version else "unknown"


# ---- the compiler -----------------------------------------------------------------------------

def find_nvcc(driver: Driver | None = None) -> Nvcc | None:
    """The nvcc of PUFFER_NVCC; else the first that this driver runs the programs of, or the first.

    In order: CUDA_HOME, CUDA_PATH, PATH, NVIDIA's wheels in this Python.
    """
    found = find_nvccs()
    if driver and driver.version:
        newest = driver.version[0]
        found.sort(key=lambda nvcc: nvcc.version[0] > newest)               # stable
    return found[0] if found else None


def find_nvccs() -> list[Nvcc]:
    """Every nvcc that answers, in the order of preference."""
    given = os.environ.get("PUFFER_NVCC", "").strip()
    if given:
        return [nvcc for nvcc in [_ask(shutil.which(given), "PUFFER_NVCC")] if nvcc]
    places = [(name, os.path.join(os.environ[name], "bin"))
              for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    paths = [(name, shutil.which("nvcc", path=folder)) for name, folder in places]
    paths.append(("PATH", shutil.which("nvcc")))
    paths += [("wheels", str(path)) for path in _wheel_files("bin/nvcc")
              if wheels_problem() is None]
    known: dict[str, Nvcc] = {}
    for origin, path in paths:
        nvcc = _ask(path, origin)
        if nvcc:
            known.setdefault(os.path.realpath(nvcc.path), nvcc)
    return list(known.values())


def _ask(path: str | None, origin: str) -> Nvcc | None:
    if path is None:
        return None
    path = os.path.abspath(path)
    said = _answer(path, "--version", stamp=os.stat(path).st_mtime_ns) or ""
    release = re.search(r"release (\d+)\.(\d+)", said)
    if release is None:
        return None
    # A wrapper on PATH lies elsewhere than the compiler that it calls
    plan = _answer(path, "--dryrun", "-E", "-x", "cu", os.devnull,
                   stamp=os.stat(path).st_mtime_ns)
    top = re.search(r"^#\$ TOP=(.+?)\s*$", plan or "", re.M)
    home = Path(top.group(1)).resolve() if top else Path(os.path.realpath(path)).parent.parent
    whole = re.search(r"V\d[\w.]*", said)
    return Nvcc(path, (int(release[1]), int(release[2])),
                whole.group() if whole else release.group(), origin, home)


@cache
def _answer(*command: str, stamp: int) -> str | None:
    """What a program prints; None if it fails. stamp: another program, another answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def list_archs(nvcc: Nvcc) -> list[str]:
    """The GPUs that it compiles for: ["80", "90", ...]; empty if it does not say."""
    said = _answer(nvcc.path, "--list-gpu-code", stamp=os.stat(nvcc.path).st_mtime_ns) or ""
    return re.findall(r"\bsm_(\d+)\b", said)


def _wheel_files(name: str, folders: str = "cu*") -> list[Path]:
    """NAME in the folders of NVIDIA's wheels: site-packages/nvidia/cu13, which they share, and
    before CUDA 13 one for each wheel, such as nvidia/cublas."""
    spec = util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    return [path for root in roots for path in sorted(Path(root).glob(f"{folders}/{name}"),
                                                      reverse=True) if path.exists()]


def wheels_problem() -> str | None:
    """Why the compiler wheels will not do: some lack, or they are not of one CUDA; None if fine."""
    versions: dict[str, str] = {}
    for name in WHEELS:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    if not versions:
        return "not installed"
    missing = [name for name in WHEELS if name not in versions]
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
    minors = {name: version.split(".")[:2] for name, version in versions.items()}
    other = [name for name in WHEELS if minors[name] != minors[WHEELS[0]]]
    if other:
        return (f"{WHEELS[0]} is {versions[WHEELS[0]]}, and {other[0]} is {versions[other[0]]}: "
                "they must be of one CUDA")
    return None


# ---- the library of products ------------------------------------------------------------------

def find_cublaslt(major: int, nvcc: Nvcc | None = None) -> Path | None:
    """libcublasLt.so.MAJOR, where the trainer will find it.

    PUFFER_CUBLASLT (a file, or its folder) and nothing else; or LD_LIBRARY_PATH, beside nvcc,
    NVIDIA's wheels, the system's.
    """
    return find_library(f"libcublasLt.so.{major}", "PUFFER_CUBLASLT", nvcc)


def find_library(name: str, variable: str, nvcc: Nvcc | None = None) -> Path | None:
    """One of CUDA's libraries.

    What the variable names (a file, or its folder) and nothing else; or LD_LIBRARY_PATH, beside
    nvcc, NVIDIA's wheels, the system's.
    """
    given = os.environ.get(variable, "")
    if given:
        place = Path(given)
        return next((path for path in (place, place / name) if path.is_file()), None)
    folders = [Path(text) for text in os.environ.get("LD_LIBRARY_PATH", "").split(":") if text]
    if nvcc:
        folders += [nvcc.home / part for part in ("lib64", "lib")]
        folders += sorted((nvcc.home / "targets").glob("*/lib"))
    folders += [path.parent for path in _wheel_files(f"lib/{name}", "*")]
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).absolute()
    return _system_library(name)


def _system_library(name: str) -> Path | None:
    tool = shutil.which("ldconfig", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    said = _answer(tool, "-p", stamp=0) if tool else None
    found = re.search(rf"^\s*{re.escape(name)} .*=> (/.+)$", said or "", re.M)
    return Path(found[1]) if found else None


# ---- the driver -------------------------------------------------------------------------------

DRIVER_PROGRAM = r"""
import ctypes, json, os, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit(9)
def number(function, *args):
    value = ctypes.c_int()
    return None if getattr(cuda, function)(ctypes.byref(value), *args) else value.value
def words(status):
    text = ctypes.c_char_p()
    cuda.cuGetErrorString(status, ctypes.byref(text))
    return (text.value or b"error %d" % status).decode()
def build():
    try:
        return open("/sys/module/nvidia/version").read().strip()
    except OSError:
        pass
    try:
        file = [line.split(None, 5)[5].strip() for line in open("/proc/self/maps")
                if "/libcuda.so" in line][0]
        return "%s %d" % (file, os.stat(file).st_mtime_ns)
    except (OSError, IndexError):
        return ""
out = {"version": number("cuDriverGetVersion"), "gpus": [], "problem": None, "build": build()}
status = cuda.cuInit(0)
if status:
    out["problem"] = words(status)
else:
    for index in range(number("cuDeviceGetCount") or 0):
        device, name, size = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(name, 256, device)
        cuda.cuDeviceTotalMem_v2(ctypes.byref(size), device)
        capability = [number("cuDeviceGetAttribute", what, device) or 0 for what in (75, 76)]
        out["gpus"].append([name.value.decode(errors="replace"), capability, size.value])
print(json.dumps(out))
"""


def find_driver() -> Driver | None:
    """The NVIDIA driver and the GPUs that CUDA_VISIBLE_DEVICES leaves; None without a driver."""
    return ask_driver(*(os.environ.get(name) for name in
                        ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")))


@cache
def ask_driver(*_surroundings: str | None) -> Driver | None:
    """What DRIVER_PROGRAM says in a process of its own, once for these variables' values."""
    asking = subprocess.Popen([sys.executable, "-I", "-S", "-c", DRIVER_PROGRAM],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL)
    with asking:
        try:
            answer = _await_answer(asking)
        except subprocess.TimeoutExpired as late:
            return Driver(None, problem=f"it did not answer within {late.timeout:.0f} seconds")
        finally:
            if asking.poll() is None:
                asking.kill()
    if asking.returncode == 9:
        return None
    try:
        return read_answer(answer)
    except ValueError:
        ended = signal.Signals(-asking.returncode).name if asking.returncode < 0 \
            else f"exit status {asking.returncode}"
        return Driver(None, problem=f"asking it ended with {ended}")


def read_answer(answer: str | bytes) -> Driver:
    """What DRIVER_PROGRAM prints. Raises ValueError where it is no JSON."""
    said = json.loads(answer)
    version = said["version"]
    return Driver((version // 1000, version % 1000 // 10) if version else None,
                  tuple(Gpu(name, tuple(capability), memory)
                        for name, capability, memory in said["gpus"]), said["problem"],
                  said["build"])


def _await_answer(asking: subprocess.Popen[bytes]) -> bytes:
    """After a start, or where nothing keeps the driver loaded, its first call takes a while."""
    try:
        return asking.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        if not list_gpus():
            raise
    ui.say(f"the NVIDIA driver did not respond for {SECONDS} seconds, and this machine lists a "
           f"GPU: waiting up to {PATIENCE} more ...")
    try:
        return asking.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired as late:
        late.timeout += SECONDS
        raise


def list_gpus() -> list[str]:
    """The files by which the system shows NVIDIA's GPUs, whether or not their driver answers."""
    return sorted(path for pattern in LISTED for path in glob(pattern))
