"""What can go wrong, by whom it must be mended."""

from __future__ import annotations


class IllumeError(Exception):
    """Any error that illume raises on purpose."""


class SchemaError(IllumeError, ValueError):
    """The frame does not hold what was expected of it."""


class BlackBoxError(IllumeError, RuntimeError):
    """The model to explain failed, did not answer with probabilities, or is not there.

    `rows` are positions of rows that it failed on, the first of them where there are many (`more`).

    >>> print(BlackBoxError("the model raised ValueError: no", rows=(3, 7)).moved(100))
    the model raised ValueError: no; failing rows: 103, 107
    """

    def __init__(self, message: str, rows: tuple[int, ...] = (), more: bool = False) -> None:
        self.message, self.rows, self.more = message, rows, more
        named = f"; failing rows: {', '.join(map(str, rows))}" if rows else ""
        super().__init__(message + named + (" and more" if more else ""))

    def moved(self, start: int) -> BlackBoxError:
        """Return the same error about rows that come after so many others."""
        return BlackBoxError(self.message, tuple(start + row for row in self.rows), self.more)

    def __reduce__(self) -> tuple[type[BlackBoxError], tuple[str, tuple[int, ...], bool]]:
        return type(self), (self.message, self.rows, self.more)


class FormatError(IllumeError, ValueError):
    """A file is damaged, cut off, of another kind, or newer than this version of illume."""


class SaveError(IllumeError, RuntimeError):
    """Something could not be saved; a file that was there before is unchanged."""


class ExportError(IllumeError, TypeError):
    """An explainer cannot be written for another runtime: an encoder of others, or categories of one name."""


class CheckpointError(IllumeError, RuntimeError):
    """What a checkpoint folder holds belongs to another fit, or cannot be read."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; training goes on without it."""


class OutOfMemoryError(IllumeError, MemoryError):
    """Memory ran out even for a single row, or for a batch of a training."""


class LeftOutError(IllumeError, RuntimeError):
    """What is asked for needs what was left out when the explainer was saved."""


class ModelChangedWarning(UserWarning):
    """The model given to `load` does not answer as the explained one did."""


class MissingExtraError(IllumeError, ImportError):
    """An optional package is needed for this call."""

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtraError:
        """Say which extra brings the package.

        >>> raise MissingExtraError.of("matplotlib", "plots")
        Traceback (most recent call last):
        illume.errors.MissingExtraError: this needs matplotlib; install it with: pip install "illume[plots]"
        """
        return cls(f'this needs {package}; install it with: pip install "illume[{extra}]"')
