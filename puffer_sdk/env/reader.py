"""Reads an environment's C with libclang.  NAME.h (or a hand-written binding.c) -> Spec, problems

Every departure from the contract is found here, as errors that carry a rule code: `check`
reports them all, everything else stops at the first.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import paths
from ..base.errors import BuildError, DialectError, PufferError
from ..base.spec import NARROW, SEEDED, CField, Spec
from . import contract, dialects, final_obs, probe, pufferlib5
from .bound import Bound
from .contract import FUNCTIONS, OBS_TYPES, REQUIRED, TENSORS
from .source import hide

if TYPE_CHECKING:
    from clang.cindex import Cursor, Diagnostic

OURS = ("vecenv.h", "puffer_dict.h", "pufferenv.h")     # which the author's files include
OF_FIELDS = ("PUF102", "PUF103", "PUF104")      # problems of what structs hold


@dataclass
class Reader(Bound):
    """One reading of one environment; `problems` grows as it goes."""

    def run(self) -> tuple[Spec | None, list[PufferError]]:
        self.find_files()
        if refused := paths.on_gpu(self.header):
            return None, [refused]
        if not self.header.is_file():
            return None, [BuildError("the environment has no header", where=self.folder,
                                     expected=self.header.name, actual="no such file")]
        for path in paths.c_files(self.folder):
            if path.stat().st_size > contract.MOST_BYTES:
                return None, [BuildError(f"{path.name} is too large", where=path, expected=f"at "
                              f"most {contract.MOST_BYTES:,} bytes", actual=path.stat().st_size)]
        self.parse()
        spec = self.make_spec()
        self.check_binding()
        spec = spec and replace(spec, remarks=tuple(self.remarks))
        self.check_lines()
        self.problems.sort(key=lambda p: (p.code is not None, p.code or ""))
        errors = self.compiler_errors()
        errors = self.as_compiled(errors) if errors else []
        if any(not str(error.where).startswith("binding.c") for error in errors):
            # A struct that does not compile has whatever fields clang could make out
            self.problems = [p for p in self.problems if p.code not in OF_FIELDS]
        self.problems[:0] = errors
        if self.problems and (other := dialects.recognise(
                self.name, self.texts(), upgraded=(self.folder / "binding.c.orig").is_file())):
            self.problems = [other, *(p for p in self.problems if not dialects.follows(p))]
        self.problems.sort(key=lambda p: not isinstance(p, DialectError))
        return (None if any(p.code is None for p in self.problems) else spec), self.problems

    def compiler_errors(self) -> list[PufferError]:
        """What clang refuses in the author's files, unless a problem already explains it.

        The probe's own lines do not count, nor what vecenv.h says once there are problems.
        """
        found: list[PufferError] = []
        if self.is_form5 and not self.obs_type:     # all else follows from that
            return found
        for diag in self.unit.diagnostics:
            file = diag.location.file
            if diag.severity < diag.Error or (file and file.name == self.main):
                continue
            if self.problems and file and self.folder not in Path(file.name).resolve().parents or (
                    diag.spelling.startswith("too many errors") and (found or self.problems)):
                continue
            if self.absent & set(re.findall(r"'(\w+)'", diag.spelling)):
                continue
            where = f"{self.relative(file.name)}:{diag.location.line}" if file else None
            if file and Path(file.name).name in OURS:
                where = self.place_behind(diag) or self.place_of_include() or where
            error = BuildError(f"the C compiler refuses this: {diag.spelling}",
                               where=where or self.header.name)
            if lacking := re.fullmatch(r"'([^']+)' file not found", diag.spelling):
                error.header = lacking[1]
                home = paths.home_of_header(lacking[1], self.folder)
                error.hint = (f"add to the ini: [build] include = {home}" if home else
                              "[build] include of the ini names the folder that has it")
            found.append(error)
        return found[:20]

    def place_behind(self, diag: Diagnostic) -> str | None:
        """The author's line that an error in our vecenv.h refers to."""
        for note in diag.children:
            file = note.location.file
            if file and file.name != self.main and (
                    self.folder in Path(file.name).resolve().parents):
                return f"{self.relative(file.name)}:{note.location.line}"
        return None

    # -- the contract ------------------------------------------------------------

    def make_spec(self) -> Spec | None:
        struct = self.env_struct()
        if struct is None:
            return None
        fields = self.struct_fields(struct)
        if self.is_form5:
            agent = self.structs.get("struct Agent") or self.structs.get("Agent")
            fields += pufferlib5.row_fields(agent, self.obs_type)
        types = {f.name: f.type for f in fields}
        if len(fields) > contract.MOST_FIELDS:
            self.problem(None, f"{self.struct_title()} has too many fields", self.place(struct),
                         expected=f"at most {contract.MOST_FIELDS:,}", actual=f"{len(fields):,}")
            return None
        self.check_fields(struct, types)
        if self.is_form5:
            self.check_agents(struct, fields)
        self.remarks += self.warnings()
        log_fields = self.check_log()
        self.check_init()
        obs_count, widths = self.check_spaces(types)
        functions = {n: (self.relative(c.location.file.name), c.location.line)
                     for n, c in self.funcs.items() if n in (*FUNCTIONS, "init")}
        text = {n: m[0] for n, m in self.macros.items()}
        finals = "a c_step stands beside puf_step" if pufferlib5.OWN in (self.flags or ()) else \
            final_obs.find(self.funcs, struct.type.get_canonical().spelling, types)
        return Spec(
            name=self.name, folder=self.folder, header=self.header,
            struct=self.struct_name, fields=fields, log_fields=log_fields, functions=functions,
            obs_dtype=OBS_TYPES.get(types.get("observations", "")) or TENSORS.get(
                text.get("OBS_TENSOR_T", ""), ("f32",))[0],
            obs_size=text.get("OBS_SIZE"), obs_count=obs_count,
            act_sizes=text.get("ACT_SIZES"), act_widths=widths,
            macro_lines={n: (self.relative(m[1]), m[2]) for n, m in self.macros.items()},
            binding=self.binding, has_init="init" in functions,
            log_is_tag=not self.logs and "struct Log" in self.structs, has_mask=self.has_mask,
            steps_per_second=self.evaluate("puffer_probe_speed") if self.is_form5 else None,
            is_cpp="-xc++" in (self.flags or ()), late_obs=pufferlib5.LATE in (self.flags or ()),
            own_names=pufferlib5.OWN in (self.flags or ()),
            mask_at=text.get("ACTION_MASK_AT"), log_reads_state=self.log_reads_state(),
            has_truncations=types.get("truncations") == final_obs.TRUNCATIONS,
            has_max_agents=types.get("max_agents") == contract.COMING["max_agents"],
            has_alive=types.get("alive") == contract.COMING["alive"],
            has_team=types.get("team", "").startswith("int["), teams=self.find_teams(),
            has_seats="MY_USES_PERM" in self.binding_macros or self.is_form5 and any(
                pufferlib5.has_seats(hide(paths.text(path)))
                for path in paths.c_files(self.folder)),
            has_bot="c_bot" in self.funcs,
            remarks=tuple(self.remarks), final_obs=None if isinstance(finals, str) else finals,
            no_final_obs=finals if isinstance(finals, str) else "")

    def env_struct(self) -> Cursor | None:
        """The struct that all four functions take a pointer to, or None with problems."""
        takes = {}
        for name in FUNCTIONS:
            cursor = self.funcs.get(name)
            if cursor is None:
                self.absent.add(name)
                self.problem("PUF101", f"{name} is not defined",
                             hint=f"write void {name}({self.guess_struct()}* env) {{ ... }}")
                continue
            arguments = list(cursor.get_arguments())
            pointee = arguments[0].type.get_pointee() if len(arguments) == 1 else None
            if pointee is None or not pointee.spelling or (
                    pointee.get_canonical().spelling not in self.structs):
                self.problem("PUF101", f"{name} does not take a pointer to the env struct",
                             self.place(cursor), expected=f"void {name}(Env* env)",
                             actual=f"{name}{cursor.type.spelling.partition(' ')[2]}")
                continue
            takes[name] = pointee
        spellings = {t.get_canonical().spelling for t in takes.values()}
        if len(spellings) > 1:
            listing = ", ".join(f"{n}({t.spelling}*)" for n, t in takes.items())
            self.problem("PUF101", "the functions take different structs",
                         self.place(self.funcs["c_step"]) if "c_step" in takes else None,
                         expected="the same struct in all four", actual=listing)
            return None
        if not takes:
            return None
        pointee = takes.get("c_step") or next(iter(takes.values()))
        self.struct_name = pointee.spelling.removeprefix("const ")
        self.struct = self.structs[pointee.get_canonical().spelling]
        return self.struct

    def check_fields(self, struct: Cursor, types: dict[str, str]) -> None:
        lines = {c.spelling: self.place(c) for c in struct.type.get_fields()}
        vec_init = "MY_VEC_INIT" in self.binding_macros     # it seeds its envs itself
        unasked = {"observations": self.refused_tensor() or self.typed_by_tensor(types)
                   or self.is_form5 and not self.obs_type,
                   "rng": vec_init or self.binding and types.get("rng") in SEEDED}
        for name, (good, how) in REQUIRED.items():
            if unasked.get(name):
                continue
            good = good or tuple(self.logs) or ("Log", "struct Log")
            if name == "observations" and "OBS_TENSOR_T" in self.macros:
                good = (*good, NARROW)      # whether it fits, check_tensor_type says
            if name not in types:
                self.absent.add(name)
                self.problem("PUF102", f"{self.struct_title()} has no field '{name}'",
                             self.place(struct), hint=f"add: {how}")
            elif types[name] not in good and (name != "log" or self.find_log()):
                unsigned = (name, types[name]) == ("num_agents", "unsigned int")
                older = self.binding and name in dialects.ARRAYS
                (self.object_to if unsigned else self.problem)(
                    "PUF102", f"{self.struct_name}.{name} has the wrong type"
                    + ": it is that of an older PufferLib" * bool(older),
                    lines.get(name) or self.place(struct),
                    expected=how.replace(";", ""), actual=types[name],
                    hint=f"{dialects.upgrade(self.name)} rewrites it, and the lines that use it"
                    if older else contract.why_its_type(name, types[name]),
                    upgrade=dialects.upgrade(self.name) if older else None)
        if types.get("truncations", "float *") != "float *":
            self.object_to("PUF102", f"{self.struct_name}.truncations has the wrong type",
                           lines["truncations"], expected="float* truncations;",
                           actual=types["truncations"],
                           hint="unused: PufferLib has no truncations" * bool(self.binding)
                           or None)
        for name, how in contract.wrong_coming(types):
            self.problem("PUF102", f"{self.struct_name}.{name} has the wrong type", lines[name],
                         expected=how, actual=types[name])
        if wrong := final_obs.wrong_field(types):
            self.problem("PUF102", wrong, lines[final_obs.FIELD],
                         expected=types.get("observations"), actual=types[final_obs.FIELD])
        by_macro = "MY_ACTION_MASK" in self.binding_macros
        seen = "ACTION_MASK_AT" in self.macros
        if wrong := contract.wrong_mask_field(types, by_macro, bool(self.binding), seen):
            self.absent |= {"action_mask"} - set(types)
            self.problem("PUF102", wrong, lines.get("action_mask") or self.place(struct),
                         expected=contract.MASK_FIELD, actual=types.get("action_mask", "none"))
        self.has_mask = contract.is_masked(types, by_macro, bool(self.binding), seen)
        if self.is_form5 and not self.has_mask:
            ours = paths.include_dir()
            self.has_mask = pufferlib5.writes_masks(hide(paths.text(file)) for file in self.files()
                                                    if ours not in Path(file).parents)

    def check_agents(self, struct: Cursor, fields: tuple[CField, ...]) -> None:
        """What PufferLib 5.0's trainer binds and writes."""
        if pufferlib5.room(fields) is None:
            self.problem("PUF102", f"{self.struct_title()} has no array 'agents'",
                         self.place(struct), hint="add: Agent agents[1];")
        for name in pufferlib5.TRAINERS:
            if not any((each.name, each.type) == (name, "int") for each in fields):
                self.object_to("PUF102", f"{self.struct_title()} has no int '{name}', which "
                               "PufferLib's trainer writes", self.place(struct),
                               hint=f"add: int {name};")
        if not self.obs_type:
            self.problem("PUF103", "obs_t is not declared", expected="typedef float obs_t;  "
                         '(or unsigned char), above #include "pufferenv.h"')

    def struct_title(self) -> str:
        return f"struct {self.struct_name.removeprefix('struct ')}"

    def check_init(self) -> None:
        """A generated binding calls init(env); a hand-written one calls what it likes."""
        init = self.funcs.get("init")
        if init is None or self.binding:
            return
        arguments = [a.type.get_pointee().get_canonical().spelling for a in init.get_arguments()]
        if [self.structs.get(a) for a in arguments] != [self.struct]:
            self.problem("PUF101", "init does not take a pointer to the env struct alone",
                         self.place(init), expected=f"void init({self.struct_name}* env)",
                         actual=f"init{init.type.spelling.partition(' ')[2]}",
                         hint="settings come as struct fields, set from [env] before init")

    def check_log(self) -> tuple[CField, ...]:
        log = self.find_log()
        if log is None:
            self.absent.add("Log")
            self.problem("PUF102", "there is no struct Log",
                         hint="typedef struct Log { float perf; float score; float "
                              "episode_return; float episode_length; float n; } Log;")
            return ()
        fields = self.struct_fields(log)
        for cursor in log.type.get_fields():
            kind = cursor.type.get_canonical().spelling
            if kind != "float" and not re.fullmatch(r"float ?\[\d+\]", kind):
                self.problem("PUF104", f"Log.{cursor.spelling} is not a float",
                             self.place(cursor), expected="float", actual=kind,
                             hint="logs are summed as a row of floats")
        numbers = sum(f.length or 1 for f in fields)
        if numbers > contract.MOST_LOGGED:
            self.problem("PUF104", "Log holds too many numbers", self.place(log),
                         expected=f"at most {contract.MOST_LOGGED:,}", actual=f"{numbers:,}")
            return ()
        names = [f.name for f in fields]
        if "n" not in names:
            self.problem("PUF104", "Log has no field 'n'", self.place(log),
                         hint="end it with: float n;  (the number of episodes summed)")
        elif names[-1] != "n" and not self.is_form5:     # which finds it by its name
            self.object_to("PUF104", "Log.n is not the last field", self.place(log),
                           expected="n last", actual=f"{names[-1]} last")
        return fields

    def check_spaces(self, types: dict[str, str]) -> tuple[int | None, tuple[int, ...] | None]:
        """OBS_SIZE, ACT_SIZES, NUM_ATNS and OBS_TENSOR_T against each other and the struct."""
        for name, example in (("OBS_SIZE", "#define OBS_SIZE 4"),
                              ("ACT_SIZES", "#define ACT_SIZES {3}")):
            if name not in self.macros:
                self.absent.add(name)
                if name in self.enumerators:
                    self.problem("PUF112", f"{name} is an enumerator, and has to be a macro",
                                 self.enumerators[name], hint=f"add #define {name} {name} below")
                    continue
                self.problem("PUF112", f"{name} is not defined",
                             (self.binding or self.header).name,
                             hint=f"state it, such as {example}")
        obs_count = self.evaluate("puffer_probe_obs")
        if obs_count is not None and obs_count < 1:
            self.problem("PUF112", "OBS_SIZE is not a size", self.macro_place("OBS_SIZE"),
                         expected="at least 1", actual=obs_count)
        elif obs_count is not None and obs_count > contract.MOST_OBSERVED:
            self.problem("PUF112", "OBS_SIZE is too large", self.macro_place("OBS_SIZE"),
                         expected=f"at most {contract.MOST_OBSERVED:,}", actual=f"{obs_count:,}")
            obs_count = None
        widths = None
        array = self.probes.get("puffer_probe_acts")
        if array is not None:
            lists = [c for c in array.get_children() if c.kind.name == "INIT_LIST_EXPR"]
            given = list(lists[0].get_children()) if lists else []
            values = [width for c in given if (width := probe.integer(c)) is not None]
            if values and len(values) == len(given):
                widths = tuple(values[:contract.MOST_NAMES])
                self.check_widths(widths, len(values))
                stated = self.evaluate("puffer_probe_mask")
                if wrong := contract.wrong_mask_size(stated, widths):
                    self.problem("PUF112", wrong, self.binding_macros["MY_ACTION_MASK"],
                                 expected=sum(widths), actual=stated,
                                 hint="one byte for each action, head after head")
                at = self.evaluate("puffer_probe_mask_at")
                if wrong := contract.wrong_mask_place(at, widths, obs_count):
                    self.problem("PUF112", wrong, self.macro_place("ACTION_MASK_AT"),
                                 expected=f"at most {(obs_count or 0) - sum(widths)}", actual=at)
            elif lists and not given:
                self.problem("PUF112", "ACT_SIZES is an empty list", self.macro_place("ACT_SIZES"),
                             expected="the width of each action head", actual="{}",
                             hint="#define ACT_SIZES {5}: one head of five actions")
            elif not lists and "ACT_SIZES" in self.macros:
                text = self.macros["ACT_SIZES"][0]
                self.problem("PUF112", "ACT_SIZES is not a list of widths",
                             self.macro_place("ACT_SIZES"), expected="{5}, or {9, 5}",
                             actual=text, hint=f"#define ACT_SIZES {{{text}}}")
        self.check_pointer_name()
        self.check_tensor_type(types)
        return obs_count, widths

    def check_pointer_name(self) -> None:
        """An OBS_SIZE over settings calls the struct `env`, whatever the functions call it."""
        text = self.macros.get("OBS_SIZE", ("",))[0]
        other = [name for name in re.findall(r"(\w+) ?->", text) if name != "env"]
        if other:
            self.problem("PUF112", f"OBS_SIZE names '{other[0]}', which is not known there",
                         self.macro_place("OBS_SIZE"), expected="an expression over env",
                         actual=text, hint=f"write env-> in place of {other[0]}->")

    def check_widths(self, widths: tuple[int, ...], count: int) -> None:
        place = self.macro_place("ACT_SIZES")
        if min(widths) < 1:
            self.problem("PUF112", "a head of ACT_SIZES has no actions", place,
                         expected="widths of at least 1 (1 = continuous)", actual=list(widths))
        if sum(widths) > contract.MOST_ACTIONS:
            self.problem("PUF112", "ACT_SIZES has too many actions", place,
                         expected=f"at most {contract.MOST_ACTIONS:,} over all heads",
                         actual=f"{sum(widths):,}")
        if count > contract.MOST_HEADS:
            self.problem("PUF112", "ACT_SIZES has too many heads", place,
                         expected=f"at most {contract.MOST_HEADS}", actual=count)
        heads = self.evaluate("puffer_probe_heads")
        if heads is not None and heads != count:
            self.problem("PUF112", "NUM_ATNS is not the number of entries in ACT_SIZES",
                         self.macro_place("NUM_ATNS"), expected=count, actual=heads,
                         hint="remove NUM_ATNS: it is computed")

    def find_teams(self) -> tuple[int, int] | None:
        """(teams, agents of each) of the first line `// puffer: teams 2 x 5`; 0: any number."""
        for path in paths.c_files(self.folder):
            for number, line in enumerate(paths.text(path).splitlines(), 1):
                said = contract.TEAMS.search(line)
                found = said and contract.team_sizes(said[1])
                if said and not found:
                    self.problem(None, "this line declares no teams",
                                 f"{self.relative(str(path))}:{number}", actual=said[0],
                                 expected="// puffer: teams 2 x 5, or // puffer: teams 2")
                if found:
                    return found
        return None

    def check_lines(self) -> None:
        """Refuses #line numbers for which a table of lines would fill the memory."""
        ours = [path for path in map(Path, self.files()) if self.folder in path.resolve().parents]
        for path in filter(Path.is_file, ours):
            for number, line in enumerate(paths.text(path).splitlines(), 1):
                found = re.match(r"\s*#\s*(?:line\s+)?(\d+)", line)
                if found and int(found[1][:18]) > contract.MOST_LINES:
                    self.problem(None, "#line gives a line that no file has",
                                 f"{self.relative(str(path))}:{number}", actual=found[1],
                                 expected=f"at most {contract.MOST_LINES:,}")
