"""What both collectors and all rules share.

In the order in which data passes:

    often           thresholds that all rules share: enough, most, half
    kinds           play/facts.def -> a frozen dataclass for each kind of fact
    fact_kinds      their names, and as fact_kinds.pyi their fields
    memory_bound    how much memory all experiments may use together
    statistics      a long run's observations and rewards, as numbers and a table
    facts           Facts: everything that rules of C environments may look at
    repro_spec      what a repro program looks for
    finding         Finding: one fault
    suppressions    findings that the author allows
    result          CheckResult
    registry        @rule, NotTested, need; finds the rules
    vocabulary      all of these that rules need, for one import
"""
