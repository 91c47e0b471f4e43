"""An author's machine and folders: what is installed, what is made, what is removed.

probe_program  what doctor's probes share: Finding, ask
probes         Python, compilers, tools
raylib_probes  the raylib of each kind of build
gpu_probes     driver, compiler and libraries for an NVIDIA GPU
doctor         runs all probes: the machine -> Findings
env_names      a name -> why it cannot name an environment, or None
rendering      a template -> files in a folder: ours by Jinja, others' by cookiecutter
scaffold       a name and a template -> a new project
python_env     the Python half of a PufferLib 3 environment -> sizes, agents, defaults
floats         C source with an array of integers -> the same with floats
upgrading      an environment of PufferLib 3 or early 4.0 -> one of 4.0
ocean          an environment -> a binding.c, or write a folder to submit to PufferLib
to_form5       an environment of 4.0 -> one header in PufferLib 5.0's form
clean          an environment -> what may be removed from the disk
"""
