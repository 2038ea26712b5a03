"""Values that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Later(Generic[T]):
    """A value that `make` returns, once; several threads wait for each other.

    >>> later = Later(lambda: 2 + 2)
    >>> later.ready, later(), later.ready
    (False, 4, True)
    >>> later.then(str)()
    '4'
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._value: Any = None
        self._lock = RLock()

    @classmethod
    def known(cls, value: T) -> Later[T]:
        """Return a value that is there already."""
        later = cls(lambda: value)
        later._value, later._make = value, None
        return later

    @property
    def ready(self) -> bool:
        """Whether the value was made."""
        return self._make is None

    def __call__(self) -> T:
        """Return the value; the first call makes it."""
        with self._lock:
            if self._make is not None:
                self._value = self._make()
                self._make = None
        value: T = self._value
        return value

    def then(self, change: Callable[[T], S]) -> Later[S]:
        """Return what a function makes of the value: now, if it is there, or else later."""
        return Later.known(change(self())) if self.ready else Later(partial(_changed, self, change))

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_value": self._value}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())


def _changed(later: Later[T], change: Callable[[T], S]) -> S:
    return change(later())
