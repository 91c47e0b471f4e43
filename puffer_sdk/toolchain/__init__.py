"""Compilers and GPUs of this machine.

    compilers       run the C compiler; its refusals as errors with the author's line
    messages        the line and the sentences to show of what a compiler said
    libraries       shared libraries that are compiled once and kept
    cuda_finding    CUDA's runtime, libraries and driver, wherever they are installed
    gpu             whether a GPU can be used, and what is missing
    nvrtc           NVIDIA's run-time compiler
"""
