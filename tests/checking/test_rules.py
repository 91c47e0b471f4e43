"""What rules make of facts that specimens seldom show: echoes, thresholds, arrays that few have."""
from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.rule_facts import fact, facts_of, found

from puffer_sdk.checking.collect.c import hidden
from puffer_sdk.checking.collect.c.jobs import Jobs
from puffer_sdk.checking.collect.c.sizes import Sizes
from puffer_sdk.checking.collect.c.source import fractions, logging
from puffer_sdk.checking.collect.c.source.layout import Scalar
from puffer_sdk.checking.collect.c.source.sites import Site
from puffer_sdk.checking.core import engine, registry
from puffer_sdk.checking.core.facts import Difference, Facts, Outcome
from puffer_sdk.checking.core.finding import Finding, span
from puffer_sdk.checking.rules.episodes import episodes
from puffer_sdk.checking.rules.logs.mismatch import assigned, episode_sums
from puffer_sdk.checking.rules.memory import memory, origins
from puffer_sdk.checking.rules.memory.memory import Undefined
from puffer_sdk.checking.rules.observations import groups
from puffer_sdk.checking.rules.observations.stale import behind_the_state, half_cleared
from puffer_sdk.checking.rules.observations.stores import Stores
from puffer_sdk.env.obs_spec import ObsField, ObsSpec


@pytest.mark.parametrize("endings, kept, words", [
    (3, 3, ["every ending"]), (40, 3, ["3 of 40 endings"]), (2, 2, []), (40, 2, [])])
def test_three_endings_without_a_reset_are_no_accident(endings, kept, words):
    facts = facts_of(audit=[fact("endings", endings=endings, kept=kept, resets=9)])
    assert [f.message for f in found(facts, "PUF401")] == [
        f"after {word} the env is not reset" for word in words]


@pytest.mark.parametrize("seen, high, always, told", [
    (3, 1, False, ["each of 3 episodes has one step"]), (2, 1, False, []), (3, 2, False, []),
    (3, 1, True, [])])
def test_episodes_of_one_step_are_an_error_where_a_test_ends_them(seen, high, always, told):
    facts = facts_of(run=[fact("sample", name="length", seen=seen, low=1, high=high)],
                     openings=[fact("openings", tests=9, lost=9)])
    facts.source.always_sets = lambda field: always
    with suppress(registry.NotTested):
        assert [(f.message, f.severity) for f in found(facts, "PUF408")] == [
            (text, "") for text in told]


@pytest.mark.parametrize("lost, fixed, told", [
    (2, 0, []), (3, 0, ["3 of 9 openings are over after one step, whatever is done"]), (9, 0, []),
    (9, 8, [])])
def test_three_openings_that_are_lost_are_no_accident(lost, fixed, told):
    facts = facts_of(run=[fact("sample", name="length", seen=9, low=1, high=8)],
                     openings=[fact("openings", tests=9, lost=lost, fixed=fixed, tries=12)])
    assert [f.message for f in found(facts, "PUF408")] == told


def test_an_opening_is_not_lost_where_every_episode_has_one_step():
    """A bandit of which no arm pays in some contexts."""
    facts = facts_of(run=[fact("sample", name="length", seen=9, low=1, high=1)],
                     openings=[fact("openings", tests=9, lost=5)])
    facts.source.always_sets = lambda field: True
    assert found(facts, "PUF408") == []


@pytest.mark.parametrize("fixed, told", [(3, 1), (2, 0)])
def test_a_level_that_is_lost_each_time_is_told_however_many_levels_there_are(fixed, told):
    facts = facts_of(run=[fact("sample", name="length", seen=9, low=1, high=8)],
                     openings=[fact("openings", tests=512, lost=1 + fixed, fixed=fixed)])
    assert len(found(facts, "PUF408")) == told


@pytest.mark.parametrize("agents, who, agent", [(1, "3 of 4 envs", None),
                                                (2, "3 of 4 agents", 1)])
def test_who_got_stuck(agents, who, agent):
    facts = facts_of(agents=agents, run=[
        fact("run", lived=9, rewards=9),
        fact("silence", stuck=3, agents=4, steps=900, env=0, agent=1)])
    (finding,) = found(facts, "PUF402")
    assert finding.message == f"{who} got stuck: no reward and no terminal for 900 steps"
    assert finding.agent == agent


@pytest.mark.parametrize("entries, rounds, told", [(0, 3, True), (1, 3, False), (0, 2, False)])
def test_episodes_that_make_no_entry(entries, rounds, told):
    facts = facts_of(run=[fact("run", terminals=9, entries=entries, rounds=rounds)])
    with suppress(registry.NotTested):
        assert bool(found(facts, "PUF421")) == told


@pytest.mark.parametrize("array, hint", [
    ("observations", "correct OBS_SIZE, or the index"),
    ("rewards", "the arrays have one element for each of num_agents")])
def test_what_an_overrun_is_mended_by(array, hint):
    facts = facts_of(packed=[fact("overrun", array=array, past=0, phase="step", bytes=4)])
    facts.shape.dtype = "f32"
    facts.spec = SimpleNamespace(functions={}, rows_field="num_agents")
    assert [finding.hint for finding in found(facts, "PUF203")] == [hint]


ASAN = """==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x50
WRITE of size 4 at 0x60 thread T0
    #0 0x41 in memset /usr/lib/memory.c:90
    #1 0x42 in put /games/dock/dock.h:7
    #2 0x43 in c_step /games/dock/dock.h:99
"""


@pytest.mark.parametrize("text, place", [
    (ASAN, {"file": "dock.h", "line": 7}), (ASAN.replace("/games/dock", "/games/ship"), None),
    ("    #0 0x42 in put /games/dock/dock.h:7\n", None)])
def test_a_sanitizers_report_leads_to_the_authors_line(text, place):
    assert memory.asan_place(facts_of(), text) == place


@pytest.mark.parametrize("elements, told", [
    ([3], ["element 3 of the observation reaches"]),
    ([3, 4, 8], ["elements 3-4 of the observation reach", "element 8 of the observation reaches"]),
    (range(0, 800, 8), ["elements 0 of each 8 of the observation reach"]),
    (range(6, 38, 8), ["elements 6 of each 8, up to 30, of the observation reach"]),
    (range(10, 60, 5), ["elements 0 of each 5, from 10 up to 55, of the observation reach"]),
    ([n * n for n in range(2, 28)], ["elements 4, 9, 16 and 23 more of the observation reach"])])
def test_large_numbers_of_one_pattern_are_one_finding(elements, told):
    facts = facts_of(run=[fact("obs_scale", element=e, value=6, largest=9) for e in elements])
    facts.shape.dtype, facts.shape.obs_size = "f32", 800
    assert [f.message for f in found(facts, "PUF304")] == [f"{text} 9" for text in told]


def of_columns(*columns: tuple, entries=9, goals=0, agents=4, **finishes) -> Facts:
    """Entries with these (name, lowest, highest) of Log."""
    facts = facts_of(run=[
        fact("run", envs=4, agents=agents, entries=entries, goals=goals),
        fact("finishes", **finishes), *(
            fact("logged", element=k, entries=entries, low=low, high=high)
            for k, (_, low, high) in enumerate(columns))])
    facts.spec = SimpleNamespace(
        functions={}, binding=None, header=Path("dock.h"), log_fields=[
            SimpleNamespace(name=name, length=None, line=1, type="float") for name, *_ in columns])
    facts.source.log = ""           # nothing is known of what fills it
    return facts


@pytest.mark.parametrize("perf, more, told", [
    ((1, 1), {}, 1), ((0, 0), {}, 0), ((0.5, 1), {}, 0), ((1, 1), {"lost": 0}, 0),
    ((1, 1), {"lost": 2}, 0), ((1, 1), {"lost": 0, "even": 3}, 1), ((1, 1), {"entries": 3}, 1),
    ((1, 1), {"entries": 2}, 0), ((1, 1), {"goals": 1}, 0), ((0.5, 0.5), {"agents": 5}, 0)])
def test_a_perf_that_never_varies_is_told_where_endings_differ(perf, more, told):
    """Not where it is 0, which a hard game's is in random play, nor where goals are logged."""
    facts = of_columns(("perf", *perf), ("score", 0, 1), **{"gained": 3, "lost": 3, **more})
    with suppress(registry.NotTested):
        findings = found(facts, "PUF423")
        assert len(findings) == told
        assert all("1 in each of" in f.message and "above 0 in 3" in f.message for f in findings)


@pytest.mark.parametrize("high, filled, told", [
    ((0, 0, 0), (), ["nothing ever writes Log.hits"]), ((0, 0, 0), {0, 1, 2}, []),
    ((0, 0, 0), {0}, ["nothing ever writes Log.hits[1-2]"]), ((0, 4, 0), (), [
        "nothing ever writes Log.hits[0, 2]"]), ((1, 1, 1), (), [])])
def test_a_field_of_log_that_moves_is_written_whatever_the_source_shows(
        high, filled, told, monkeypatch):
    """Of an array, each element is looked at."""
    facts = of_columns(*(("hits", 0, each) for each in high))
    facts.spec.log_fields = [SimpleNamespace(name="hits", length=3, line=1, type="float")]
    monkeypatch.setattr(logging, "may_fill", lambda source, name, element: element in filled)
    assert [f.message for f in found(facts, "PUF423")] == told


@pytest.mark.parametrize("lag, told", [
    (-1, ["Log.episode_length is wrong in every entry: the steps made are 4"]), (1, []), (0, None)])
def test_no_way_of_counting_makes_a_late_reset_steps_more_than_were_made(lag, told, monkeypatch):
    """The step between two episodes may count for either, or for none."""
    facts = facts_of(run=[fact("run", terminals=9, entries=9, rounds=9),
                          fact("entries", name="episode_length", judged=9, lag=lag, low=5, high=9,
                               measured=4, logged=5)])
    facts.source = SimpleNamespace(stepping=list, functions={})
    facts.spec = SimpleNamespace(functions={}, has_max_agents=False, log_fields=())
    monkeypatch.setattr(episode_sums, "is_reset_late", lambda facts: True)
    if told is None:
        with pytest.raises(registry.NotTested, match="one step late") as caught:
            list(episode_sums.sums(facts))
        assert caught.value.because == ("PUF401",)
    else:
        assert [f.message for f in episode_sums.sums(facts)] == told


def test_a_rule_that_found_something_was_tested():
    def judge():
        yield Finding("PUF422", "found")
        raise registry.NotTested("another detector of it could not look")

    verdict = engine.judge([(("PUF422",), judge)])
    assert verdict.not_tested == {} and [f.code for f in verdict.findings] == ["PUF422"]


@pytest.mark.parametrize("signal, causes, explained", [
    (11, ["PUF201", "PUF202"], ["PUF201"]), (8, ["PUF201", "PUF202"], ["PUF202"]), (11, [], None)])
def test_a_verdict_names_the_faults_that_ended_an_experiment(signal, causes, explained):
    facts = facts_of()
    facts.outcomes["run"] = Outcome("run", [fact("crash", signal=signal)], False)
    with pytest.raises(registry.NotTested, match="did not survive") as caught:
        registry.need(facts, "run")
    _, why = registry.reasons({"PUF303": caught.value}, [Finding(code, "") for code in causes])
    assert why.get("PUF303") == explained


@pytest.mark.parametrize("parts, told", [
    ((), ["2, 5-6, 9"]), ((ObsField("OBS_ALL", 0, 12, None, None, "", 0),), ["2, 5-6, 9"]),
    ((ObsField("OBS_A", 0, 4, None, None, "", 0), ObsField("OBS_B", 4, 8, None, None, "", 0)),
     [2, "5-6", 9])])
def test_elements_of_one_fault_are_one_finding_unless_their_names_differ(parts, told):
    facts = facts_of()
    facts.row = ObsSpec(12, parts)
    cells = [fact("left", element=element) for element in (2, 5, 6, 9)]
    assert [group.element for group in groups.grouped(facts, cells)] == told


def test_rows_of_a_picture_are_told_by_the_comment_after_obs_size():
    facts = facts_of()
    facts.row = ObsSpec(144, whole=ObsField("", 0, 144, None, None, "", 0, "image", (12, 12, 1)))
    facts.shape.obs_size = 144
    assert groups.whole(facts, span(36, 95)) == "rows 3-7 of the image"


@pytest.mark.parametrize("lines, told", [((7,), ["1, 3, 5"]), ((7, 9), [1, 3, 5]), ((), [1, 3, 5])])
def test_what_one_division_makes_nan_is_one_finding(lines, told, monkeypatch):
    facts = facts_of(run=[fact("obs_not_finite", element=each, value="nan") for each in (1, 3, 5)])
    facts.shape.dtype, facts.spec = "f32", SimpleNamespace(functions={})
    monkeypatch.setattr(origins, "undefined", lambda facts, kind: [
        Undefined("dock.h", line, {}, "c_step", "") for line in lines])
    findings = found(facts, "PUF303")
    if len(lines) == 2:                 # any of these lines
        assert all("dock.h:7, dock.h:9" in finding.hint for finding in findings)
    assert [finding.element for finding in findings] == told


@pytest.mark.parametrize("change, told", [
    ({}, ["rows 1-3 of the grid"]), ({"emptied": 1}, []), ({"filled": 0}, []),
    ({"highest": 9}, []), ({"lowest": 1}, []), ({"kind": "list"}, []), ({"first": 5}, [])])
def test_a_picture_is_cleared_as_a_whole_or_not_at_all(change, told):
    """Not where the rest shows other values, or where what is left is no row."""
    case = {"emptied": 0, "filled": 1, "highest": 1.0, "lowest": 0.0, "kind": "grid", "first": 4,
            **change}
    counts = {key: case[key] for key in ("filled", "emptied")}
    facts = facts_of(poison=[], rewrite=[
        fact("cell", element=element, seen=99, written=9, changed=9, reverted=1, varied=1, **counts)
        for element in range(case["first"], 16)])
    facts.shape.obs_size = 16
    facts.spec = SimpleNamespace(functions={})
    facts.row = ObsSpec(16, whole=ObsField("", 0, 16, None, None, "", 0, case["kind"], (4, 4)))
    high = [1.0] * 4 + [case["highest"]] * 12
    facts.statistics = SimpleNamespace(low=np.full(16, case["lowest"]), high=np.array(high))
    found = half_cleared.half_cleared(facts)
    assert [f.message.partition(" keep")[0] for f in found] == told


def test_truncations_are_written_on_every_step_as_terminals_are():
    stale = fact("stale", array="truncations", count=5, total=10, step=7)
    (finding,) = found(facts_of(truncations=1, stale=[stale]), "PUF321")
    assert (finding.severity, finding.step) == ("error", 7)
    assert finding.message == "c_step does not always write truncations: the previous value stays"


def test_an_element_that_no_step_writes_is_of_the_episode():
    """Drawn anew when one agent of several begins again, which no step between endings does."""
    both = {"seen": 64, "changed": 4, "fell": 1, "rose": 1, "varied": 1}
    never, some = ([fact("cell", element=3, written=written, **both)] for written in (0, 9))
    assert found(facts_of(agents=2, poison=[], rewrite=never), "PUF302") == []
    (finding,) = found(facts_of(agents=2, poison=[], rewrite=some), "PUF302")
    assert finding.element == 3 and "some steps leave" in finding.message


@pytest.mark.parametrize("code", ["PUF501", "PUF503", "PUF504", "PUF505"])
def test_memory_errors_explain_any_difference(code):
    """The one finding that has to be mended first is not followed by its echoes."""
    names = ("trace-base", "trace-moved", "trace-debug", "trace-threads")
    facts = facts_of(**{name: [] for name in names})
    difference = Difference(0, 4, "rewards", 0, None, 1.0, 2.0)
    facts.differences = {"trace-moved": difference} if code == "PUF501" else \
        {"trace-alone-first": difference} if code == "PUF503" else {}
    facts.build_differences = {"trace-debug": difference, "trace-threads": difference}
    facts.traces = dict.fromkeys(("trace-reversed", *names))
    (finding,) = found(facts, code)
    assert finding.code == code
    facts.outcomes["sanitized-high"] = Outcome("sanitized-high", [fact("asan")], False)
    with pytest.raises(registry.NotTested, match="memory errors"):
        found(facts, code)


@pytest.mark.parametrize("unset, shared, told", [
    (False, True, True), (False, False, True), (True, True, True), (True, False, False)])
def test_a_local_that_nothing_sets_is_not_shared_by_threads(unset, shared, told):
    """Each thread has a stack of its own; where the two touch one word, it may be that as well."""
    facts = facts_of(trace_debug=[], trace_threads=[
        replace(fact("shared_memory"), frame=None)] if shared else [])
    facts.build_differences = {"trace-threads": Difference(0, 4, "rewards", 0, None, 1.0, 2.0)}
    facts.problems = [SimpleNamespace(
        code="PUF117", where="dock.h:9", message="", expected="", hint="",
        actual="-Wuninitialized" if unset else "-Wabsolute-value")]
    if told:
        assert [f.code for f in found(facts, "PUF504")] == ["PUF504"]
    else:
        with pytest.raises(registry.NotTested, match="nothing has set"):
            found(facts, "PUF504")


@pytest.mark.parametrize("cell, told", [
    ({"filled": 4}, True), ({"filled": 4, "emptied": 4}, True), ({"emptied": 4}, False)])
def test_what_a_reset_sets_and_steps_clear_is_no_one_hot(cell, told):
    cells = [fact("cell", element=k, seen=64, written=9, changed=4, **cell) for k in range(8)]
    facts = facts_of(poison=[], rewrite=cells, audit=[fact("endings")])
    assert [f.detector for f in found(facts, "PUF302")] == (["never-cleared"] if told else [])


@pytest.mark.parametrize("late, told", [(0, True), (9, False)])
def test_what_no_reset_clears_is_that_of_the_reset(late, told):
    """Which comes a step late, or never: PUF401."""
    cells = [fact("cell", element=k, seen=64, written=9, changed=4, filled=4) for k in range(8)]
    facts = facts_of(poison=[], rewrite=cells, audit=[fact("endings", endings=9, late=late)])
    if told:
        assert [f.detector for f in found(facts, "PUF302")] == ["never-cleared"]
    else:
        with pytest.raises(registry.NotTested, match="do not begin anew"):
            found(facts, "PUF302")


@pytest.mark.parametrize("fields, words", [
    ({"cuts": 9, "blank": 3}, ["3 of 9 truncations leave final_observations as it was"]),
    ({"cuts": 9, "moved": 9, "next": 9},
     ["final_observations holds the first observation of the next episode"]),
    ({"cuts": 9, "moved": 9, "next": 8}, []),       # alike by chance
    ({"cuts": 9, "moved": 9, "left": 4, "left_first": 8, "left_last": 11},
     ["elements 8-11 of final_observations are never written"]),
    ({"cuts": 5, "blank": 2, "moved": 3, "left": 1}, [
        "element 0 of final_observations is never written"]),
    ({"cuts": 4, "blank": 2, "left": 1}, []),       # twice is no proof
    ({"cuts": 2, "moved": 2, "next": 2}, None)])
def test_a_final_observation_is_what_was_seen_last(fields, words):
    facts = facts_of(finals=[fact("finals", **fields)])
    facts.spec = SimpleNamespace(writes_final_obs=True, functions={})
    if words is None:
        with pytest.raises(registry.NotTested, match="fewer than 3"):
            found(facts, "PUF323")
    else:
        assert [f.message for f in found(facts, "PUF323")] == words


@pytest.mark.parametrize("fields, severity", [
    ({"unlogged": 60, "summed": 60, "all": 40}, "error"),
    ({"unlogged": 60, "summed": 60, "elsewhere": 5}, None),     # sums grow with every step
    ({"unlogged": 60, "after": 40, "own": 40}, "warning"),
    ({"unlogged": 60, "after": 40, "all": 40}, None),           # entries of several lives
    ({"unlogged": 60, "after": 40, "own": 40, "partial": 9}, None),
    ({"partial": 90, "theirs": 40, "left": 30}, "warning"),     # of those that end one by one
    ({"partial": 90, "theirs": 40, "others": 20, "left": 30}, None),
    ({"partial": 90, "theirs": 40}, None)])
def test_an_ending_without_an_entry_is_left_out_or_a_part_of_the_next(fields, severity):
    facts = facts_of(run=[fact("omitted", endings=100, **fields),
                          fact("run", terminals=100, entries=40, rounds=100)])
    facts.source = SimpleNamespace(assigned_logs=list, cleared_logs=list, computed_logs=set,
                                   reach=lambda *roots, without=(): [])
    facts.spec = SimpleNamespace(functions={}, struct="Dock", log_fields=())
    findings = []
    with suppress(registry.NotTested):      # of what the log does tell
        for finding in registry.load()["PUF422"].look(facts):
            findings.append(finding)
    assert [f.severity for f in findings] == ([severity] if severity else [])


@pytest.mark.parametrize("idle, others, told", [
    (140, 67, [1]), (39, 67, []), (140, 50, [])])
def test_an_agent_to_whose_choices_no_row_answers(idle, others, told):
    """In a game of turns, the longer play seldom shows either agent's choices."""
    answers = [fact("answer", agent=agent, row=row, tested=tested, any=answered)
               for agent, tested, answered in ((0, 100, others), (1, idle, 0)) for row in range(2)]
    facts = facts_of(agents=2, crossed=answers, effect=[
        fact("effect", width=4, values=4, rates=[0.2] * 4, same=[]),
        fact("reach", tested=24, moved=3), fact("reach", agent=1, tested=19, moved=0)])
    facts.spec = SimpleNamespace(functions={}, macro_lines={})
    agents = next(one for one in registry.load()["PUF411"].detectors if one.name == "agents")
    assert [one.agent for one in agents.function(facts)] == told


@pytest.mark.parametrize("fields, told", [
    ({"inexact": 30, "low": 2, "high": 40}, True), ({"inexact": 30, "low": 7, "high": 7}, False),
    ({"inexact": 30, "low": 2, "high": 40, "beyond": 1}, False)])
def test_a_perf_that_is_divided_as_whole_numbers(fields, told):
    facts = facts_of(run=[fact("run", entries=30)], audit=[fact("site", count=30, **fields)])
    facts.sites = [Site("quotient", "dock.h", 7, 0, 5, 2, "int", "a / b", "perf", "log.perf")]
    facts.spec = SimpleNamespace(functions={}, log_fields=())
    assert [(f.element, f.line) for f in found(facts, "PUF423")] == ([("perf", 7)] if told else [])


@pytest.mark.parametrize("greed, told", [(0.7, ["[env] greed = 0.7 counts as 0: it is made a whole "
                                                "number before it is used"]), (2.0, [])])
def test_a_setting_whose_fraction_nothing_sees(greed, told, monkeypatch):
    facts = facts_of(probe=[])
    monkeypatch.setattr(fractions, "cut_short", lambda source: {
        "greed": ("dock.h", 9, "(int)greed")})
    facts.spec = SimpleNamespace(struct="Dock", binding=None)
    facts.config = SimpleNamespace(env={"greed": greed})
    assert [f.message for f in found(facts, "PUF113")] == told


@pytest.mark.parametrize("kind, value, line", [
    ("int", "", 2), ("unsigned int", "", 2), ("float", "", None), ("int", " * 60", None),
    ("bool", "", None)])                                            # a bool of 0.7 is true
def test_a_setting_that_my_init_stores_as_a_whole_number(kind, value, line):
    facts = facts_of(probe=[])
    text = f'void my_init(Env* env, Dict* kwargs) {{\n    env->pay = dict_get(kwargs, "greed")' \
           f"->value{value};\n}}\n"
    facts.source.files = {"binding.c": text}
    facts.spec = SimpleNamespace(struct="Dock", binding=Path("binding.c"),
                                 settable=[SimpleNamespace(name="pay", type=kind)])
    facts.config = SimpleNamespace(env={"greed": 0.7})
    assert [f.line for f in found(facts, "PUF113")] == ([line] if line else [])
    facts.source.files["binding.c"] = text.replace("env->pay", "// env->pay")
    assert found(facts, "PUF113") == []


@pytest.mark.parametrize("old, told", [(9, True), (8, False)])
def test_an_agent_that_begins_anew_alone_is_shown_its_own_beginning(old, told):
    """Eight of ten may be chance, or a value that an ending does not change."""
    mirror = fact("mirror", element=4, seen=99, alone=10, alone_old=old, step=7, value=0.0,
                  expected=1.0)
    facts = facts_of(agents=3, poison=[], mirror=[mirror])
    facts.spec = SimpleNamespace(functions={}, struct="Dock")
    facts.source = SimpleNamespace(layout=None)
    messages = [f.message for f in behind_the_state.behind_the_state(facts)]
    assert messages == (["after an agent's own ending, element 4 of its observation still shows "
                         "the episode that is over"] if told else [])


def masks(*rows, actions=()) -> Facts:
    facts = facts_of(masks=[*(fact("mask_row", agent=k, **row) for k, row in enumerate(rows)),
                            *(fact("mask_byte", action=k, value=k, **one)
                              for k, one in enumerate(actions))])
    facts.shape.mask = 3
    facts.spec = SimpleNamespace(functions={})
    return facts


KEPT = {"steps": 400, "ends": 5, "ends_written": 5}
GOOD = {"legal_acts": 90, "forbidden_idle": 60, "twin": 0, "twin_acts": 60, "twin_wrong": 90}
FREE = {"legal_acts": 150, "twin": 1, "twin_acts": 90, "twin_wrong": 60}


@pytest.mark.parametrize("rows, words", [
    ([{**KEPT, "written": 400}, {**KEPT, "written": 0}], ["the mask of agent 1 is never written"]),
    ([{**KEPT, "written": 0}], []),                                 # it may be right as it is
    ([{**KEPT, "written": 400, "ends_written": 0}],
     ["a new episode begins with the mask of the last one"]),
    ([{**KEPT, "written": 90, "ends_written": 0}], []),             # written when it changes
    ([{**KEPT, "written": 400, "ends_written": 1}], [])])
def test_rows_of_the_mask_that_keep_what_they_held(rows, words):
    assert [f.message for f in found(masks(*rows), "PUF413")] == words


@pytest.mark.parametrize("actions, words", [
    ([FREE, GOOD], None),
    # the byte of action 1 says when action 2 acts, and 1 acts when it is forbidden
    ([FREE, {"legal_acts": 80, "legal_idle": 10, "forbidden_acts": 40, "forbidden_idle": 20,
             "twin": 0, "twin_acts": 120, "twin_wrong": 30},
      {"legal_acts": 90, "legal_idle": 60, "twin": 1, "twin_acts": 90, "twin_idle": 60}],
     "element 1 of the mask tells when action 2 of head 0 does something"),
    # two jumps, both rare: each one's byte tells of the other
    ([FREE, {"legal_idle": 7, "forbidden_acts": 5, "forbidden_idle": 138, "twin": 2,
             "twin_acts": 5, "twin_idle": 145},
      {"legal_idle": 5, "forbidden_acts": 7, "forbidden_idle": 138, "twin": 1, "twin_acts": 7,
       "twin_idle": 143}],
     "element 2 of the mask tells when action 1 of head 0 does something"),
    ([FREE, {"legal_idle": 7, "forbidden_acts": 5, "forbidden_idle": 138, "twin": 0,
             "twin_acts": 5, "twin_idle": 145}, GOOD], None),       # one alone may be chance
    ([FREE, {"legal_acts": 20, "legal_idle": 60, "forbidden_acts": 65, "forbidden_idle": 5}],
     "forbids actions where they do something"),
    ([FREE, {"forbidden_acts": 150}], "the mask never allows anything but action 0 of head 0"),
    ([FREE, {"forbidden_acts": 10, "forbidden_idle": 140}], None),  # never where that is possible
    ([FREE, {"legal_acts": 80, "forbidden_acts": 20, "forbidden_idle": 50}], None),    # stricter
    ([{**GOOD, "beside": 30, "like": 30}, {**GOOD, "beside": 30}],
     "the code treats it as it treats forbidden ones"),
    ([{**GOOD, "beside": 30, "like": 30}, {**GOOD, "beside": 30, "like": 20}], None),
    ([{**GOOD, "beside": 30, "like": 30}, {**GOOD, "beside": 30, "like": 30},
      {**GOOD, "beside": 30}, {**GOOD, "beside": 30}], None),       # of two phases, one each
    ([{**FREE, "beside": 30, "like": 30}, {**GOOD, "beside": 30}], None)])      # to wait
def test_bytes_of_the_mask_and_the_actions_that_they_stand_for(actions, words):
    findings = found(masks(actions=actions), "PUF413")
    assert len(findings) == (words is not None)
    assert words is None or words in findings[0].message


def test_an_env_without_a_mask_is_not_asked_for_one():
    facts = facts_of()
    facts.shape.mask = 0
    assert found(facts, "PUF413") == []


def store(*elements: tuple[int, int], varies: int = 0, valued: int = 1):
    return fact("store", elements=[list(pair) for pair in elements], varies=varies, valued=valued)


@pytest.mark.parametrize("stores, told", [
    ([store((0, 4)), store((6, 7))], True),             # values on both sides of it
    ([store((0, 4))], True),
    ([store((0, 7))], False),                           # it is stored to, and what is stored is 0
    ([store((0, 7), valued=0), store((0, 4))], True),   # cleared with the others
    ([store((0, 7), valued=0)], False),                 # nothing is known of those beside it
    ([store((0, 4), varies=1), store((6, 7))], False),  # a board, whose cells nobody came to
    ([store((0, 2), (6, 7), varies=1), store((3, 4))], False)])
def test_an_element_that_no_value_is_stored_to(stores, told):
    facts = facts_of(trace_debug=[fact("stored"), *stores])
    assert Stores(facts).has_no_value(5) == told
    assert not Stores(facts_of(trace_debug=stores)).has_no_value(5)      # not all are known


@pytest.mark.parametrize("above, below, zero, odd, cleared, told", [
    (20, 20, 0, 0, [], False), (20, 3, 0, 0, [], False), (3, 20, 0, 0, [], False),  # sum, max, min
    (0, 0, 0, 0, [], True), (19, 18, 0, 0, [], True),               # always, or only sometimes
    (0, 0, 20, 0, [], True),                                        # it comes to 0
    (0, 0, 0, 20, [], False), (15, 15, 0, 5, [], False),            # 0 / 0 is added: PUF423's
    (0, 0, 0, 5, [], True), (14, 15, 0, 4, [], True),               # assigned, at times 0 / 0
    (0, 0, 20, 0, ["perf"], False), (0, 0, 20, 0, ["log"], False), (0, 0, 9, 0, ["perf"], True)])
def test_entries_that_replace_what_is_there(above, below, zero, odd, cleared, told):
    facts = facts_of(columns=[fact("column", element=1, entries=20, above=above, below=below,
                                   zero=zero, odd=odd)])
    names = [SimpleNamespace(name=name, length=None, line=3) for name in ("score", "perf", "n")]
    facts.spec = SimpleNamespace(log_fields=names)
    facts.source.cleared_logs = lambda: [(name, "dock.h", 9) for name in cleared]
    facts.source.computed_logs = set
    assert assigned.replaced(facts) == (["perf"] if told else [])
    facts.source.computed_logs = lambda: {"perf"}           # of sums: a sum itself
    assert assigned.replaced(facts) == []


@pytest.mark.parametrize("word, told", [
    ({"moves": 20, "flips": 320, "bits": 32}, True), ({"moves": 3, "flips": 45, "bits": 28}, True),
    ({"moves": 20, "flips": 40, "bits": 16}, False),                # a count
    ({"moves": 20, "flips": 320, "bits": 32, "again": 8}, True),    # which c_reset begins anew
    ({"moves": 20, "flips": 320, "bits": 32, "again": 12}, False)]) # one of a few codes
def test_a_generator_is_known_by_its_bits(word, told):
    facts = facts_of(probe=[fact("word", at=64, **word)])
    state = Scalar("wind", 64, 4, "unsigned int", ())
    facts.layout = SimpleNamespace(scalars=[state, Scalar("x", 64, 4, "float", ())])
    found = hidden.generators(facts)
    assert found == ([state] if told else [])
    assert hidden.as_option(found) == ("64:4" if told else "")


@pytest.mark.parametrize("init, played", [(0.2, ["trace-debug", "trace-trained", "trace-threads"]),
                                          (2.5, ["trace-trained"])])
def test_an_init_that_takes_seconds_is_not_played_without_optimization(init, played):
    facts = facts_of(probe=[fact("cost", init=init)])
    facts.shape.whole_steps = 0
    listed = Jobs(facts, Sizes(1, 8, 32, 1e-6, 1e-6, 1e-6, 1.0), Path(), 10.0).of_other_builds()
    assert [job.name for job in listed] == played
    assert ("trace-threads" in facts.skipped) == (init > 1)


# -- detectors -------------------------------------------------------------------------------------


@pytest.fixture
def made_rule(monkeypatch):
    """A family of three detectors, and what they find."""
    monkeypatch.setattr(registry, "_rules", {**registry._rules})
    monkeypatch.setattr(registry, "_detectors", {**registry._detectors})
    finds = {"first": 1, "second": 1, "new": 1}

    @registry.family("PUF998", "made-up")
    def page():
        """It is made up. And more."""

    def add(name, **more):
        @registry.detector("PUF998", name, **more)
        def look(facts):
            """What it looks for."""
            if finds[name] is None:
                raise registry.NotTested("there was nothing to look at")
            yield from (Finding("PUF998", name) for _ in range(finds[name]))

    add("first", unless=("second",))
    add("second")
    add("new", level=registry.PREVIEW)
    return finds


@pytest.mark.parametrize("counts, options, told", [
    ({}, (), ["second"]), ({"second": 0}, (), ["first"]),
    ({}, ("--preview",), ["new", "second"]), ({"second": None}, (), ["first"])])
def test_detectors_of_a_rule(made_rule, counts, options, told):
    """One is silent where another says more, and one in preview unless it is asked for."""
    made_rule.update(counts)
    facts = facts_of()
    facts.options = frozenset(options)
    seen = []
    try:
        for finding in registry._rules["PUF998"].look(facts):
            seen.append(finding)
    except registry.NotTested:
        assert None in counts.values()
    assert [finding.detector for finding in seen] == told == [one.message for one in seen]


def test_a_detector_in_preview_that_is_not_asked_for_leaves_its_rule_out(made_rule, monkeypatch):
    facts = facts_of()
    for name in ("first", "second"):
        del registry._detectors["PUF998"][name]
    monkeypatch.setattr(registry, "load", lambda: registry._rules)
    assert "PUF998" not in registry.requested(facts)
    facts.options = frozenset({"--preview"})
    assert "PUF998" in registry.requested(facts)


def test_every_detector_says_what_it_looks_for():
    for rule in registry.load().values():
        for one in rule.detectors:
            assert one.summary.endswith("."), f"{rule.code}/{one.name}"
            assert set(one.unless) <= {each.name for each in rule.detectors} - {one.name}


def test_a_stable_detector_found_four_of_five():
    for rule in registry.load().values():
        for one in rule.detectors:
            few = one.rate.faults < 5 or 5 * one.rate.found >= 4 * one.rate.faults
            assert few or one.level == registry.PREVIEW, f"{rule.code}/{one.name}: {one.rate}"


def test_rates_are_of_detectors_that_there_are():
    known = {f"{rule.code}/{one.name}" for rule in registry.load().values()
             for one in rule.detectors}
    assert set(registry.rates()) <= known
    for key, rate in registry.rates().items():
        assert rate.found >= 0 and rate.faults > 0, key


def truths(later: dict, start: dict | None = None) -> Facts:
    """Facts of action 1 of agent 0, whose mask seemed wrong."""
    facts = masks(actions=[FREE, GOOD])
    facts.outcomes["masks"].facts.extend(
        fact("mask_truth", start=k, action=1, value=1, **fields)
        for k, fields in enumerate((later, start)) if fields)
    return facts


@pytest.mark.parametrize("fields, told", [
    ({}, True), ({"late_acts": 2}, False), ({"late_idle": 2}, False),   # chance; stricter
    ({"late_acts": 4, "late_idle": 4}, False), ({"spoiled": 8}, False)])
def test_a_mask_of_an_earlier_moment(fields, told):
    one = {"legal_acts": 400, "legal_idle": 15, "forbidden_acts": 15, "forbidden_idle": 500,
           "late_acts": 15, "late_idle": 14, "spoiled": 7}
    messages = [each.message for each in found(truths({**one, **fields}), "PUF413")]
    assert messages == ["the mask of head 0 is at times that of an earlier moment"] * told


@pytest.mark.parametrize("fields, start, told", [
    ({}, {}, True), ({"forbidden_acts": 9}, {}, False), ({"legal_idle": 9}, {}, False),
    ({}, {"legal_idle": 7}, False), ({}, {"forbidden_idle": 19}, False)])
def test_a_mask_of_the_start(fields, start, told):
    one = {"legal_acts": 400, "legal_idle": 99, "forbidden_acts": 99, "forbidden_idle": 100}
    right = {"legal_acts": 100, "forbidden_idle": 20}
    messages = [each.message
                for each in found(truths({**one, **fields}, {**right, **start}), "PUF413")]
    assert messages == ["the mask of head 0 stays as c_reset wrote it, while the game goes "
                        "on"] * told


@pytest.mark.parametrize("counts, says", [
    (set(), "set moles[i].dirt in c_reset, or allow"), ({"dirt"}, "c_reset goes on from the old")])
def test_the_elements_of_an_array_that_c_reset_forgets_are_one_name(counts, says, monkeypatch):
    facts = facts_of(fresh=[fact("not_fresh", array="observations"),
                            fact("old_words", known=1, words=[[-1, 0], [-1, 8]])])
    facts.layout = SimpleNamespace(path_at=lambda at: f"moles[{at // 4}].dirt",
                                   find=lambda path: None)
    facts.spec = SimpleNamespace(functions={})
    monkeypatch.setattr(episodes, "counted_on", lambda source: counts)
    (finding,) = found(facts, "PUF404")
    assert "(moles[i].dirt kept an old value)" in finding.message and says in finding.hint


@pytest.mark.parametrize("nobody, untested", [(50, "PUF409"), (0, None)])
def test_a_return_without_rewards_that_are_paid_to_nobody_is_one_fault(nobody, untested):
    facts = facts_of(agents=2, run=[
        fact("run", entries=30, terminals=60),
        fact("entries", name="episode_return", judged=30, matched=10, low=1, high=2)],
        crossed=[fact("answer", tested=100), fact("crossed", paid=100, nobody=nobody, empty=100)])
    facts.source.sets_column = lambda name: True
    facts.spec = SimpleNamespace(functions={}, has_max_agents=False)
    (sums,) = (each for each in registry.load()["PUF422"].detectors if each.name == "sums")
    if untested:
        with pytest.raises(registry.NotTested) as caught:
            list(sums.function(facts))
        assert caught.value.because == (untested,)
    else:
        assert [f.element for f in sums.function(facts)] == ["episode_return"]


@pytest.mark.parametrize("code, terminals, part, says", [
    ("PUF401", 0, 0, "no episode ended"), ("PUF401", 9, 0, "no episode ended in the short play"),
    ("PUF401", 9, 5, "no step ended the episodes of all agents"),
    ("PUF406", 0, 0, "no episode began anew"), ("PUF406", 9, 0, "no episode ended in the short"),
    ("PUF406", 9, 5, "c_step was not seen to call c_reset")])
def test_why_nothing_is_known_of_resets(code, terminals, part, says):
    facts = facts_of(run=[fact("run", terminals=terminals)],
                     audit=[fact("endings", part=part), fact("restarts")])
    with pytest.raises(registry.NotTested, match=says):
        found(facts, code)


def test_a_hang_names_the_time_that_init_has():
    facts = facts_of(probe=[fact("hang", phase="init", seconds=10)])
    facts.config = SimpleNamespace(vec=SimpleNamespace(step_timeout=10.0))
    facts.spec = SimpleNamespace(functions={})
    (finding,) = found(facts, "PUF405")
    assert finding.message == "init does not return" and "within 20 s" in finding.expected


@pytest.mark.parametrize("seeds, told", [(["seed", "tick"], False), (["seed"], True)])
def test_a_seed_that_is_made_of_what_was_kept_explains_it(seeds, told, monkeypatch):
    facts = facts_of(fresh=[fact("not_fresh", array="observations"),
                            fact("old_words", known=1, words=[[-1, 0], [-1, 4]])])
    facts.layout = SimpleNamespace(path_at=lambda at: ("seed", "tick")[at // 4],
                                   find=lambda path: None)
    facts.spec = SimpleNamespace(functions={})
    monkeypatch.setattr(episodes, "seeded_from", lambda source: seeds)
    if told:
        (finding,) = found(facts, "PUF404")
        assert "seed, tick kept an old value" in finding.message
    else:
        with pytest.raises(registry.NotTested, match="the seed that c_reset makes"):
            found(facts, "PUF404")
