"""`puffer-sdk debug`: a debugger at the step where a repro program of check fails.

failure       types: Failure, Watch, Frame, Diagnosis
debugger      runs gdb or lldb: a Failure -> a script; what the debugger prints -> a Diagnosis
debug         a repro program -> a Failure; opens a debugger there, or diagnoses it
batch_report  a Diagnosis -> the lines that --batch prints
"""
