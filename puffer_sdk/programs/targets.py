"""Make programs of an environment.  NAME.c + NAME.h + raylib -> build/NAME-local, -fast, web/

    local   to debug: address, undefined, bounds and leak sanitizers, stops at the first report
    fast    to play: optimised
    web     to show: a folder with a page for any web server

Each is one compiler command. A hash covers all that a program depends on, its preprocessed source
included; the program is compiled again when the hash changes. It is written under a temporary name.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..base import files, paths, trust, ui
from ..base.errors import BuildError, RunError, UsageError
from ..base.spec import Spec
from ..env import binding, build, dialects, header
from ..raylib import drawing
from ..raylib.drawing import Served
from ..settings import config, outside_libraries
from ..toolchain import compilers
from . import webpage

TARGETS = ("local", "fast", "web")
USUAL = ("best", "latest")      # models that programs do without where there is none
RUNTIME = paths.PACKAGE / "programs" / "runtime"     # our C files that are linked into programs

LOCAL = ("-g", "-O1", "-fno-omit-frame-pointer",
         "-fsanitize=address,undefined,bounds,leak", "-fno-sanitize-recover=all")
FAST = ("-O2",)
WEB = ("-UPLATFORM_DESKTOP", "-DPLATFORM_WEB", "-O2", "-sASYNCIFY",
       "-sASYNCIFY_IGNORE_INDIRECT", "-sASYNCIFY_STACK_SIZE=65536",
       "-sALLOW_MEMORY_GROWTH", "-sTOTAL_STACK=5MB", "-sENVIRONMENT=web", "-sMINIFY_HTML=0",
       "-Wl,--wrap=WindowShouldClose,--wrap=SetTargetFPS")

_FOR_LINKING = re.compile(r"-s[A-Z]|-Wl,")
_MAIN = re.compile(r"\bmain\s*\(")
_RUNTIME_MISSING = re.compile(r"cannot find \S*(?:asan|ubsan|lsan)|clang_rt\.\S*: No such file|"
                              r"library .*clang_rt.* not found|cannot find \S*clang_rt")


@dataclass(frozen=True)
class Program:
    """A built program."""

    target: str             # "local", "fast" or "web"
    path: Path              # the executable, or build/web/index.html
    command: list[str]      # the same build, as typed in the environment's folder
    seconds: float
    cached: bool            # True if an earlier build is still valid
    warnings: str = ""      # the compiler's
    bytes: int = 0          # of the executable, or of all the page's files
    policy: Path | None = None      # the exported policy that it plays, if any
    chosen: str = ""                # which one that is


@dataclass
class Record:
    """build/.NAME-TARGET.json: what a program was made of, and the SHA-256 of its files."""

    key: str
    files: dict[str, str]


@dataclass(frozen=True)
class _Plan:
    """One command and all that its product depends on."""

    spec: Spec
    target: str
    product: Path
    source: Path
    compiler: Sequence[str]
    flags: Sequence[str]
    links: Sequence[str]
    key: Sequence[str]              # compiler and raylib, by name and version
    runtime: Sequence[Path] = ()    # our C files that are compiled along with it
    inputs: Sequence[Path] = ()     # files beyond the preprocessed source and those
    env: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        return [*self.compiler, *self.flags, str(self.source), *map(str, self.runtime),
                *build.closing_flags(self.spec), *self.links]

    def shown(self) -> list[str]:
        """The command for a shell in the environment's folder."""
        folder = str(self.spec.folder)
        words = [word.replace(f"{folder}/", "") if word != f"-I{folder}" else "-I."
                 for word in [*self.command, "-o", str(self.product)]]
        return compilers.with_variables(words, self.env)


def build_programs(env: paths.Env | None = None,
                   settings: Mapping[str, object] | None = None,
                   targets: Sequence[str] = ("fast",), *, model: str | Path | None = "best",
                   ini: Path | None = None, runs_dir: Path | None = None, verbose: bool = False,
                   on_progress: Callable[[str, int, int], None] | None = None) -> list[Program]:
    """Make programs of ENV (a folder or a name), one per target.

    model    the policy that they play: "best" or "latest", a run's number or folder (its best), a
             checkpoint file; None for random play. Without a run they play at random.
    ini      a file of settings over the environment's own ini
    Raises UsageError for a refused setting or model, BuildError with the author's file and line.
    """
    folder = paths.find_env(env)
    spec = header.read(folder)
    over = [ini] if ini else []
    resolved = config.resolve(folder, settings, spec=spec, over=over)
    page = resolved
    if "web" in targets and (own := _web_ini(spec)):
        page = config.resolve(folder, settings, spec=spec, over=[own, *over])
    return [build_program(folder, target, env_settings=(
                page if target == "web" else resolved).env, model=model,
                          runs_dir=runs_dir, verbose=verbose, on_progress=on_progress)
            for target in targets]


def _web_ini(spec: Spec) -> Path | None:
    """NAME_web.ini beside the ini: PufferLib 5.0 reads it over that for pages."""
    ini = config.find_ini(spec.folder) if spec.by_agent else None
    own = ini.with_name(f"{spec.name}_web.ini") if ini else None
    return own if own and own.is_file() else None


def build_program(folder: Path, target: str, *, env_settings: Mapping[str, float],
                  model: str | Path | None = "best", runs_dir: Path | None = None,
                  verbose: bool = False,
                  on_progress: Callable[[str, int, int], None] | None = None) -> Program:
    """Make one program of the environment in `folder`, unless it is up to date.

    Raises UsageError for an unknown target or model, BuildError if something is missing or does
    not compile, RunError if nothing can be written.
    """
    if target not in TARGETS:
        raise UsageError(f"there is no program '{target}'", expected=", ".join(TARGETS))
    spec = header.read(Path(folder))
    build_dir = paths.writable(paths.build_dir(spec.folder), purpose="build products")
    source = _find_source(spec, build_dir)
    binding.write_config_header(spec, env_settings, build_dir)
    policy, chosen = _write_policy(spec, env_settings, model, runs_dir, build_dir)
    served = drawing.static("web" if target == "web" else "desktop", verbose=verbose,
                            on_progress=on_progress)
    began = time.perf_counter()
    make_plan = _plan_web if target == "web" else _plan_native
    plan = make_plan(spec, target, source, build_dir, served)
    key = _key(plan)
    record = build_dir / f".{spec.name}-{target}.mac"
    warnings, cached = "", _is_done(record, plan, key)
    if not cached:
        files.remove(record)
        warnings = _compile(plan)
        files.write_if_changed(record, _mac(plan, key))
    size = sum(path.stat().st_size for path in _files(plan))
    return Program(target, plan.product, plan.shown(), time.perf_counter() - began, cached,
                   warnings, size, policy, chosen)


def _find_source(spec: Spec, build_dir: Path) -> Path:
    source = spec.folder / f"{spec.name}.c"
    if source.is_file():
        return source
    if spec.by_agent:
        return binding.write_program(spec, build_dir)
    raise BuildError(f"there is no {source.name}, which programs are compiled "
                     "from", where=spec.folder,
                     expected=f"{source.name} with a main, next to {spec.header.name}",
                     hint="`puffer-sdk new` writes an example; check, train and eval need none")


# -- the three commands ------------------------------------------------------------------------


def _flags(spec: Spec, build_dir: Path, served: Served) -> list[str]:
    flags = [*build.env_flags(spec, served.headers), *dialects.layer_flags(spec.folder)]
    if build_dir.parent != spec.folder:         # #include "build/NAME_config.h"
        flags.append(f"-I{build_dir.parent}")
    return flags


def _plan_native(spec: Spec, target: str, source: Path, build_dir: Path,
                 served: Served) -> _Plan:
    compiler = compilers.find_compiler()
    local = (*LOCAL, *compilers.bounds_flags(compiler))
    flags = [*_flags(spec, build_dir, served), *build.openmp_flags(spec, compiler),
             *(local if target == "local" else FAST), "-Wall"]
    needs = outside_libraries.read(spec.folder)
    runtime = [RUNTIME / "local.c"] if target == "local" else []
    if "-lX11" in served.link_flags:
        runtime.append(RUNTIME / "desktop.c")
        flags.append("-Wl,--wrap=XOpenDisplay")
    elif served.library.suffix == ".so":        # the wheel's, whose GLFW goes on without
        runtime.append(RUNTIME / "wheel.c")
        flags.append("-Wl,--wrap=InitWindow")
    return _Plan(spec, target, build_dir / f"{spec.name}-{target}", source, compiler.command,
                 flags, [*needs.link_flags, *served.link_flags],
                 (compiler.key, needs.key, *map(os.path.basename, served.link_flags)), runtime)


def _plan_web(spec: Spec, target: str, source: Path, build_dir: Path, served: Served) -> _Plan:
    emcc = drawing.find_emcc()
    policy = build_dir / f"{spec.name}_policy.bin"
    packed = {policy: policy.name} if files.is_file(policy) else {}
    packed.update(_resources(spec))
    page = build_dir / f"{spec.name}_page.html"
    files.write_if_changed(page, webpage.render(spec, source, has_policy=policy in packed))
    preload = [word for path, name in packed.items()
               for word in ("--preload-file", f"{path}@{name}")]
    flags = [*_flags(spec, build_dir, served), *WEB, "-Wall"]
    if spec.is_cpp:
        flags.append("-Wno-deprecated")         # that NAME.c and our runtime are C++ as well
    links = [*served.link_flags, "--shell-file", str(page), *preload]
    assets = [file for path in packed for file in ([path] if path.is_file() else
                                                  sorted(p for p in path.rglob("*")
                                                         if p.is_file()))]
    key = (emcc, *map(os.path.basename, served.link_flags))
    return _Plan(spec, target, build_dir / "web" / "index.html", source, [emcc], flags, links,
                 key, [RUNTIME / "web.c"], [page, *assets], drawing.emscripten_environment())


def _resources(spec: Spec) -> dict[Path, str]:
    """Folders to pack, and their paths in the program. In a tree of many environments (Ocean):
    this environment's folder, and the shared one."""
    home = paths.working_dir(spec.folder) / "resources"
    if not home.is_dir():
        return {}
    own = home / spec.name
    if home.parent == spec.folder or not own.is_dir():
        return {home: "resources"}
    folders = {own: f"resources/{spec.name}"}
    if (home / "shared").is_dir():
        folders[home / "shared"] = "resources/shared"
    return folders


# -- compiling ---------------------------------------------------------------------------------


def _key(plan: _Plan) -> str:
    """A hash of all that the product depends on. Raises BuildError without a main."""
    lines = () if plan.target == "local" else ("-P",)       # sanitizers report line numbers
    expand = [*plan.compiler, *(flag for flag in plan.flags if not _FOR_LINKING.match(flag)), "-E",
              *lines, str(plan.source)]
    text = compilers.run_compiler(expand, source=plan.source, what=plan.source.name, env=plan.env,
                                  reads=plan.target != "web")      # emcc maps more than it takes
    if not _MAIN.search(text):
        raise BuildError(f"{plan.source.name} has no main()", where=plan.source,
                         hint="`puffer-sdk new` writes an example")
    digest = hashlib.sha256(text.encode())
    relevant = [flag for flag in plan.flags if not flag.startswith("-I")]
    inputs = [*plan.runtime, *plan.inputs]
    for part in [*relevant, *plan.key, *map(str, inputs)]:
        digest.update(part.encode() + b"\0")
    for path in inputs:
        digest.update(hashlib.sha256(paths.content(path, 1 << 30)).digest())
    return digest.hexdigest()


def _compile(plan: _Plan) -> str:
    try:
        if plan.target == "web":
            return _compile_page(plan)
        return compilers.compile_to(plan.product, plan.command, source=plan.source,
                                    what=plan.source.name)
    except BuildError as error:
        if _RUNTIME_MISSING.search(error.detail or ""):
            raise _no_sanitizers(error) from None
        raise


def _no_sanitizers(error: BuildError) -> BuildError:
    compiler = compilers.find_compiler()
    if compiler.kind == "clang":
        hint = compilers.install_hint(f"libclang-rt-{compiler.version.split('.')[0]}-dev")
    else:       # where dnf installs packages, gcc comes without its sanitizers
        uses_dnf = shutil.which("dnf") and not shutil.which("apt-get")
        hint = compilers.install_hint("libasan libubsan liblsan" if uses_dnf else "gcc")
    return BuildError(f"{Path(compiler.path).name} has no sanitizers here; --local requires them",
                      detail=error.detail, hint=f"{hint}; or name another compiler: CC=gcc")


def _compile_page(plan: _Plan) -> str:
    """emcc writes several files. Move them into place once all are complete, the page last."""
    home = plan.product.parent
    try:
        files.mkdir(home)
        with files.private(".web-", inside=home.parent) as scratch:
            text = compilers.run_compiler(
                [*plan.command, "-o", scratch / plan.product.name], source=plan.source,
                what=plan.source.name, env=plan.env)
            compilers.check_made(scratch / "index.wasm", plan.command, source=plan.source,
                                 what=plan.source.name)
            made = sorted(scratch.iterdir(), key=lambda path: path.suffix == ".html")
            for file in made:
                if file.suffix == ".js":        # it names the data file with its folder
                    files.write(file, file.read_bytes().replace(f"{scratch}/".encode(), b""))
                file.chmod(0o644)
                files.move(file, home / file.name)
        if not any(file.suffix == ".data" for file in made):
            files.remove(home / "index.data")
    except OSError as error:
        raise RunError("cannot write the page", where=home,
                       detail=error.strerror or str(error),
                       hint="free some space, or make the folder writable") from None
    return text


def _files(plan: _Plan) -> list[Path]:
    """The files of the product."""
    if plan.target != "web":
        return [plan.product]
    names = ("index.html", "index.js", "index.wasm", "index.data")
    return [path for path in map(plan.product.parent.joinpath, names) if path.is_file()]


def _mac(plan: _Plan, key: str) -> str:
    """Shows that a command of this user made the product of this key."""
    made = [part for path in _files(plan)
            for part in (path.name, hashlib.sha256(files.read(path)).digest())]
    return trust.mac("program", key, *made)


def _is_done(record: Path, plan: _Plan, key: str) -> bool:
    return trust.is_noted(record, lambda: _mac(plan, key), plan.product)


# -- the policy --------------------------------------------------------------------------------


def _write_policy(spec: Spec, env_settings: Mapping[str, float], model: str | Path | None,
                  runs_dir: Path | None, build_dir: Path) -> tuple[Path | None, str]:
    """Write build/NAME_policy.bin of the model, and say which. None: the program plays at random.

    If "best" or "latest" does not fit, this warns and the program plays at random; a named model
    must fit.
    """
    from ..policy import export
    from ..training import runs
    from ..training.find_model import find_model

    target = build_dir / f"{spec.name}_policy.bin"
    home = paths.runs_dir(spec.folder, runs_dir)
    if model is None:
        files.remove(target)
        return None, ""
    if model in USUAL and runs.latest_run(home, with_checkpoint=True) is None:
        return (target, "") if files.is_file(target) else (None, "")     # the author's own, perhaps
    try:
        policy = export.fitted(export.read_policy(find_model(home, model)), spec,
                               env_settings)
        data = export.pack(policy)
    except UsageError as error:
        files.remove(target)
        if model not in USUAL:
            raise
        ui.warn_once(f"{error.message}: {spec.name} plays at random",
                     f"puffer-sdk train {spec.name}; or choose one: --load-model-path")
        return None, ""
    if not files.is_file(target) or files.read(target) != data:
        files.save(target, data, what="the policy")
    return target, policy.chosen
