"""Pictures on machines without a display.  the environment's variables -> those that work"""
from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from contextlib import suppress

SURFACELESS = 0x31DD        # EGL_PLATFORM_SURFACELESS_MESA
DEVICES = 0x313F            # EGL_PLATFORM_DEVICE_EXT


def missing() -> bool:
    """Whether there is no display to draw on."""
    return sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def prepare(keywords: Mapping[str, object]) -> None:
    """Let MuJoCo draw by EGL, where pictures are wanted, there is no display and EGL works."""
    if keywords.get("render_mode") and missing() and "MUJOCO_GL" not in os.environ \
            and _egl_works():
        os.environ["MUJOCO_GL"] = "egl"


def _egl_works() -> bool:
    """Whether EGL opens a display of its own: on a GPU, or in software."""
    with suppress(OSError, AttributeError):
        egl = ctypes.CDLL("libEGL.so.1")
        egl.eglGetProcAddress.restype = ctypes.c_void_p
        address = egl.eglGetProcAddress(b"eglGetPlatformDisplayEXT")
        if not address:
            return False
        device, count = ctypes.c_void_p(), ctypes.c_int()
        query = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
        if query:
            ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(query)(
                1, ctypes.byref(device), ctypes.byref(count))
        get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p,
                               ctypes.c_void_p)(address)
        for platform, native in ((DEVICES, device), (SURFACELESS, None)):
            display = get(platform, native, None) if native is None or count.value else None
            if display and egl.eglInitialize(ctypes.c_void_p(display), None, None):
                return True
    return False
