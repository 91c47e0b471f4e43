"""cublasLt.h as nvmath-python's Cython files declare it: NVIDIA's own list of numbers, structs and
functions, in a wheel of 5 MB where the header comes in one of 400 MB.
"""
import re
from importlib import metadata


def read(name):
    files = metadata.files("nvmath-python")
    return next(file for file in files if file.name == name).locate().read_text()


def cublaslt_header():
    """The text of a header: the enums of cuBLAS and cuBLASLt, the structs, the functions."""
    enums, own = read("cycublas.pxd"), read("cycublasLt.pxd")
    parts = ["#pragma once\n#include <library_types.h>\n#include <driver_types.h>\n"
             "#include <stdint.h>\n#include <stdio.h>\n"]
    for name, body in re.findall(r'^ctypedef enum (\w+) .+:\n((?:    .+\n)+)', enums + own, re.M):
        values = ", ".join(re.sub(r' ".+"', "", line.strip()) for line in body.splitlines())
        parts.append(f"enum {name} {{ {values} }};")
    parts += [f"typedef {kind} {name};" for kind, name in
              re.findall(r"^ctypedef (\S+) (cublasLt\w+) '\w+'$", own, re.M)]
    for name, body in re.findall(r"^ctypedef struct (\w+) '\w+':\n((?:    .+\n)+)", own, re.M):
        parts.append(f"struct {name} {{ {'; '.join(body.split(chr(10)))} }};")
    parts += [f"{returned} {name}({taken});" for returned, name, taken in
              re.findall(r"^cdef (.+?) (cublasLt\w+)\((.*)\) except", own, re.M)
              if "LoggerCallback" not in taken]
    return "\n".join(parts) + "\n"
