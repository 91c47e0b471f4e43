"""Objects whose facts are fixed once made.  an assignment -> an error where it would do nothing"""
from __future__ import annotations

from typing import ClassVar

from .errors import UsageError, did_you_mean


class Fixed(UsageError, AttributeError, TypeError):
    """An assignment, or a name, that would have no effect."""


class Sealed:
    """After seal(), facts cannot be replaced, nor new names be added where the class is ours.

    A class of the user's may add names of its own; methods may be replaced, as Python has it.
    """

    _settable: ClassVar[tuple[str, ...]] = ()           # public names that may be assigned
    _instead: ClassVar[dict[str, str]] = {}             # a name -> what has the effect meant
    _facts: frozenset[str] | None = None                # None until sealed

    def seal(self, before: set[str] | None = None) -> None:
        """before: names that were there when our own constructor began"""
        found = {name for name in vars(self) if not name.startswith("_")} - (before or set())
        vars(self)["_facts"] = frozenset(found)

    def __setattr__(self, name: str, value: object) -> None:
        if (self._facts is None or name.startswith("_") or name in self._settable
                or callable(ours := getattr(type(self), name, None))):
            object.__setattr__(self, name, value)
            return
        if name not in self._facts and ours is None:    # an unknown one
            if not type(self).__module__.startswith(f"{__name__.partition('.')[0]}."):
                object.__setattr__(self, name, value)
                return
            raise Fixed(f"{type(self).__name__} has no attribute '{name}': setting it would do "
                        "nothing", hint=self._instead.get(name) or did_you_mean(
                            name, [*self._settable, *self._facts,
                                   *(each for each in dir(type(self)) if each[0] != "_")]))
        raise Fixed(f"{name} is fixed once the {type(self).__name__} is made",
                    hint=self._instead.get(name))
