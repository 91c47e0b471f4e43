"""What CUDA finds on this machine.  PATH, wheels, a driver -> Runtime, cuBLASLt's file, Driver

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
from dataclasses import dataclass
from functools import cache
from glob import glob
from importlib import util
from itertools import groupby
from pathlib import Path

from ..base import paths, ui

EXTRAS = {13: "cuda", 12: "cuda12"}     # CUDA's major version: what brings it, newest first
HEADER, LIBRARY = "cuda_runtime_api.h", "libcudart_static.a"
# Where toolkits install themselves: NVIDIA's, Arch's, Debian's
SYSTEM = ("/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda", "/usr")
SECONDS = 20                # what a driver or a compiler may take to answer
PATIENCE = 180              # and a driver whose GPUs the system lists: the first call may be slow
LISTED = ("/proc/driver/nvidia/gpus/*", "/dev/nvidia[0-9]*", "/dev/dxg")    # the last is WSL's


@dataclass(frozen=True)
class Runtime:
    """CUDA's runtime, which the trainer is compiled against.

    version   (13, 0): CUDA's
    include   the folder of cuda_runtime_api.h
    library   libcudart_static.a
    origin    "CUDA_HOME", "PATH", "wheels", "system"
    home      the folder that holds both; CUDA's other libraries may lie there too
    """

    version: tuple[int, int]
    include: Path
    library: Path
    origin: str
    home: Path

    def __str__(self) -> str:
        place = "NVIDIA's wheels" if self.origin == "wheels" else self.home
        return f"{shown(self.version)} ({place})"


@dataclass(frozen=True)
class Gpu:
    name: str
    capability: tuple[int, int]
    memory: int                         # bytes

    @property
    def arch(self) -> str:
        """As compilers call it: "90"."""
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


def newest_cuda(driver: Driver | None) -> int:
    """The major version that it runs; of an unknown driver, the newest there is."""
    return driver.version[0] if driver and driver.version else max(EXTRAS)


def install_hint(major: int) -> str:
    """How to get what compiles and multiplies for drivers of this CUDA."""
    extra = EXTRAS[max((known for known in EXTRAS if known <= major), default=min(EXTRAS))]
    return f"pip install 'puffer-sdk[{extra}]'"


# ---- the runtime ------------------------------------------------------------------------------

def find_runtime(driver: Driver | None = None) -> Runtime | None:
    """The first that this driver runs the programs of, or the first.

    In order: CUDA_HOME, CUDA_PATH, the toolkit of the nvcc on PATH, NVIDIA's wheels in this Python,
    where toolkits install themselves; of several there the newest.
    """
    found = find_runtimes()
    newest = newest_cuda(driver)
    found.sort(key=lambda runtime: runtime.version[0] > newest)             # stable
    return found[0] if found else None


def find_runtimes() -> list[Runtime]:
    """Every one on this machine, in the order of preference."""
    places = [(name, Path(os.environ[name])) for name in ("CUDA_HOME", "CUDA_PATH")
              if os.environ.get(name)]
    nvcc = shutil.which("nvcc")
    if nvcc:
        places.append(("PATH", Path(os.path.realpath(nvcc)).parents[1]))
    places += [("wheels", path.parents[1]) for path in _wheel_files(f"include/{HEADER}", "*")]
    places += [("system", Path(path)) for pattern in SYSTEM for path in glob(pattern)]
    known: dict[Path, Runtime] = {}
    for origin, several in groupby(places, lambda place: place[0]):
        found = filter(None, (_look(home.resolve(), origin) for _, home in several))
        for runtime in sorted(found, key=lambda runtime: runtime.version, reverse=True):
            known.setdefault(runtime.include, runtime)
    return list(known.values())


def _look(home: Path, origin: str) -> Runtime | None:
    targets = sorted((home / "targets").glob("*"))
    includes = [home / "include", *(target / "include" for target in targets)]
    libraries = [home / "lib64", home / "lib", *sorted((home / "lib").glob("*-linux-gnu")),
                 *(target / "lib" for target in targets)]
    include = next((folder for folder in includes if (folder / HEADER).is_file()), None)
    library = next((folder / LIBRARY for folder in libraries if (folder / LIBRARY).is_file()), None)
    if include is None or library is None:
        return None
    said = re.search(r"^#define CUDART_VERSION +(\d+)",          # links of toolkits are followed
                     paths.content(include / HEADER).decode(errors="replace"), re.M)
    number = int(said[1]) if said else 0
    return Runtime((number // 1000, number % 1000 // 10), include, library, origin, home)


@cache
def _answer(*command: str) -> str | None:
    """What a program prints; None if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def _wheel_files(name: str, folders: str = "cu*") -> list[Path]:
    """NAME in the folders of NVIDIA's wheels: site-packages/nvidia/cu13, which they share, and
    before CUDA 13 one for each wheel, such as nvidia/cublas."""
    spec = util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    return [path for root in roots for path in sorted(Path(root).glob(f"{folders}/{name}"),
                                                      reverse=True) if path.exists()]


# ---- its other libraries ----------------------------------------------------------------------

def find_cublaslt(major: int, runtime: Runtime | None = None) -> Path | None:
    """libcublasLt.so.MAJOR, where the trainer will find it.

    PUFFER_CUBLASLT (a file, or its folder) and nothing else; or LD_LIBRARY_PATH, beside the
    runtime, NVIDIA's wheels, the system's.
    """
    return find_library(f"libcublasLt.so.{major}", "PUFFER_CUBLASLT", runtime)


def find_library(name: str, variable: str, runtime: Runtime | None = None) -> Path | None:
    """One of CUDA's libraries.

    What the variable names (a file, or its folder) and nothing else; or LD_LIBRARY_PATH, beside
    the runtime, NVIDIA's wheels, the system's.
    """
    given = os.environ.get(variable, "")
    if given:
        place = Path(given)
        return next((path for path in (place, place / name) if path.is_file()), None)
    folders = [Path(text) for text in os.environ.get("LD_LIBRARY_PATH", "").split(":") if text]
    if runtime:
        folders += [runtime.home / part for part in ("lib64", "lib")]
        folders += sorted((runtime.home / "targets").glob("*/lib"))
    folders += [path.parent for path in _wheel_files(f"lib/{name}", "*")]
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).absolute()
    return _system_library(name)


def _system_library(name: str) -> Path | None:
    tool = shutil.which("ldconfig", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    said = _answer(tool, "-p") if tool else None
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
