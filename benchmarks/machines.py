"""Several machines, stood in for by network namespaces of this one, joined by a switch.

    with Machines(2) as machines:               Linux, and the right to make namespaces
        machines.start(1, ["torchrun", ...])    on the second; machine 0 is 10.77.0.1
        machines.cut(1)                         pull its cable

The switch is a process: few kernels can delay what an interface sends. What a machine sends leaves
at `rate`, and arrives `delay` later. All share this machine's cores.
"""
from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import select
import signal
import struct
import subprocess
import sys
import time
import uuid

NETWORK = "10.77.0"
# linux/if_tun.h
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
CSUM_TSO4_TSO6 = 0x01 | 0x02 | 0x04     # the kernel hands over segments of 64 KB, unsplit
VNET_HEADER, MAC = 10, 6
LONGEST = VNET_HEADER + 14 + 65536


class NoMachines(Exception):
    """No namespaces or no TAP interfaces here; the text says what failed."""


class Machines:
    """count   of them
    rate    bits per second that each can send
    delay   seconds until they arrive

    Raises NoMachines when it is entered.
    """

    def __init__(self, count: int, rate: float = 1e9, delay: float = 1e-3):
        self.rate, self.delay = rate, delay
        self._tag = f"pf{uuid.uuid4().hex[:6]}"
        self.names = [f"{self._tag}-{number}" for number in range(count)]
        self._switch: subprocess.Popen | None = None

    def __enter__(self) -> Machines:
        try:
            self._make()
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            said = getattr(error, "stderr", b"") or str(error).encode()
            raise NoMachines(said.decode(errors="replace").strip()) from None
        return self

    def _make(self) -> None:
        ports = []
        try:
            for number, name in enumerate(self.names):
                cable = self.cable(number)
                _run("ip", "netns", "add", name)
                ports.append(_open_tap(cable))
                _run("ip", "link", "set", cable, "netns", name)
                _run(*_in(name), "ip", "addr", "add", f"{self.address(number)}/24", "dev", cable)
                _run(*_in(name), "ip", "link", "set", cable, "up")
                _run(*_in(name), "ip", "link", "set", "lo", "up")
            self._switch = subprocess.Popen(
                [sys.executable, __file__, str(self.rate), str(self.delay), *map(str, ports)],
                pass_fds=ports)
        finally:
            for port in ports:
                os.close(port)

    def __exit__(self, *exc) -> None:
        if self._switch:
            self._switch.kill()
            self._switch.wait()
        for name in self.names:
            with contextlib.suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def address(self, number: int) -> str:
        return f"{NETWORK}.{number + 1}"

    def cable(self, number: int) -> str:
        """The name of a machine's network interface."""
        return f"{self._tag}c{number}"

    def cut(self, number: int) -> None:
        """Pull the cable of a machine."""
        _run(*_in(self.names[number]), "ip", "link", "set", self.cable(number), "down")

    def start(self, number: int, words: list, **options) -> subprocess.Popen:
        """A command on one machine; options as Popen takes them. Gloo gets its cable's name."""
        environ = {**options.pop("env", os.environ), "GLOO_SOCKET_IFNAME": self.cable(number)}
        return subprocess.Popen([*_in(self.names[number]), *map(str, words)], env=environ,
                                **options)


def _in(name: str) -> list[str]:
    return ["ip", "netns", "exec", name]


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def _open_tap(name: str) -> int:
    """A network interface whose frames are read from the returned file, and written to it."""
    port = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(port, TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                                 IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
        fcntl.ioctl(port, TUNSETOFFLOAD, CSUM_TSO4_TSO6)
    except OSError:
        os.close(port)
        raise
    return port


# -- the switch's process ------------------------------------------------------------


def switch(rate: float, delay: float, ports: list[int]) -> None:
    """Hand frames on, until it is killed. Who owns an address shows in what they send."""
    owners: dict[bytes, int] = {}
    sent = dict.fromkeys(ports, 0.0)            # when a port has sent all that it was given
    due: list[tuple[float, int, bytes, list[int]]] = []
    count = 0
    while True:
        wait = max(0.0, due[0][0] - time.perf_counter()) if due else None
        for port in select.select(ports, [], [], wait)[0]:
            frame = _read(port)
            if not frame:
                continue
            to, of = (bytes(frame[VNET_HEADER + at:VNET_HEADER + at + MAC]) for at in (0, MAC))
            owners[of] = port
            others = [owners[to]] if to in owners else [each for each in ports if each != port]
            start = max(time.perf_counter(), sent[port])
            sent[port] = start + (len(frame) - VNET_HEADER) * 8 / rate
            count += 1
            heapq.heappush(due, (sent[port] + delay, count, frame, others))
        while due and due[0][0] <= time.perf_counter():
            _, _, frame, others = heapq.heappop(due)
            for port in others:
                with contextlib.suppress(OSError):      # a cable that was pulled, a full queue
                    os.write(port, frame)


def _read(port: int) -> bytes:
    try:
        return os.read(port, LONGEST)
    except OSError:         # nothing there, or its machine is gone
        time.sleep(1e-5)
        return b""


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)        # its owner ends it
    switch(float(sys.argv[1]), float(sys.argv[2]), [int(word) for word in sys.argv[3:]])
