"""Which values are allowed: one description for arguments, parameters and state variables.

A domain answers two questions: does this value belong (:meth:`Domain.mismatch`), and what would have
(:meth:`Domain.describe`). A boolean is never a number. Source: spec kernel.md section 1 (wire details).
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from math import isfinite
from typing import NamedTuple

_SHOWN_CHARACTERS = 80


class Type(StrEnum):
    """The JSON type of a value; ``ID`` is a string or an integer that identifies something."""

    ANY = "any value"
    BOOLEAN = "true or false"
    INTEGER = "an integer"
    NUMBER = "a number"
    TEXT = "a string"
    ID = "a string or an integer"
    OBJECT = "an object"
    LIST = "a list"


class Mismatch(NamedTuple):
    """A value outside its domain. ``path`` leads to it from the value asked about: ``""``, ``.a.b``, ``[1]``."""

    path: str
    given: str
    allowed: str


class Domain(NamedTuple):
    """The values of one argument, parameter or variable.

    ``values`` closes a list of strings; ``minimum`` and ``maximum`` are inclusive; ``items`` describes every value
    of an object or element of a list; ``fields`` describes the named fields of an object, each of which may be
    absent.
    """

    type: Type
    values: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    nullable: bool = False
    items: "Domain | None" = None
    fields: Mapping[str, "Domain"] = {}

    def mismatch(self, value: object) -> Mismatch | None:
        """The first part of ``value`` that does not belong, or None when all of it does."""
        if value is None:
            return None if self.nullable else Mismatch("", "null", self.describe())
        if not _BELONGS[self.type](self, value):
            return Mismatch("", shown(value), self.describe())
        return self._inner_mismatch(value) if self.items is not None or self.fields else None

    def at(self, key: str) -> "Domain":
        """The domain of the value under ``key`` of an object."""
        return self.fields.get(key) or self.items or ANYTHING

    def describe(self) -> str:
        """What is allowed, in words: ``an integer ≥ 0``, ``one of a, b or null``."""
        if self.values:
            text = f"one of {', '.join(self.values)}"
        elif self.minimum is not None and self.maximum is not None:
            text = f"{self.type} from {self.minimum:g} to {self.maximum:g}"
        elif self.minimum is not None:
            text = f"{self.type} ≥ {self.minimum:g}"
        elif self.items is not None:
            link = "of which each is" if self.type is Type.LIST else "whose values are each"
            text = f"{self.type} {link} {self.items.describe()}"
        elif self.fields:
            text = f"{self.type} with {', '.join(self.fields)}"
        else:
            text = self.type.value
        return f"{text} or null" if self.nullable and self.type is not Type.ANY else text

    def _inner_mismatch(self, value: object) -> Mismatch | None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                mismatch = self.at(key).mismatch(item)
                if mismatch is not None:
                    return mismatch._replace(path=f".{key}{mismatch.path}")
        elif isinstance(value, list | tuple) and self.items is not None:
            for index, item in enumerate(value):
                mismatch = self.items.mismatch(item)
                if mismatch is not None:
                    return mismatch._replace(path=f"[{index}]{mismatch.path}")
        return None


def _is_text(domain: Domain, value: object) -> bool:
    return isinstance(value, str) and (not domain.values or value in domain.values)


def _is_number(domain: Domain, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, float) and not isfinite(value):
        return False
    return (domain.minimum is None or value >= domain.minimum) and (domain.maximum is None or value <= domain.maximum)


_BELONGS: Mapping[Type, Callable[[Domain, object], bool]] = {
    Type.ANY: lambda *_: True,
    Type.BOOLEAN: lambda _, value: isinstance(value, bool),
    Type.INTEGER: lambda domain, value: isinstance(value, int) and _is_number(domain, value),
    Type.NUMBER: _is_number,
    Type.TEXT: _is_text,
    Type.ID: lambda _, value: isinstance(value, str | int) and not isinstance(value, bool),
    Type.OBJECT: lambda _, value: isinstance(value, Mapping),
    Type.LIST: lambda _, value: isinstance(value, list | tuple),
}

ANYTHING = Domain(Type.ANY, nullable=True)
FLAG = Domain(Type.BOOLEAN)
TEXT = Domain(Type.TEXT)
OBJECT = Domain(Type.OBJECT)
COUNT = Domain(Type.INTEGER, minimum=0)


def one_of(*values: str) -> Domain:
    """A closed list of strings."""
    return Domain(Type.TEXT, values)


def map_of(items: Domain) -> Domain:
    """An object with free keys."""
    return Domain(Type.OBJECT, items=items)


def record(**fields: Domain) -> Domain:
    """An object with the named fields, any of which may be absent; further fields are let be."""
    return Domain(Type.OBJECT, fields=fields)


def shown(value: object) -> str:
    """``value`` as a message shows it: scalars as JSON, shortened; containers by kind and size."""
    if isinstance(value, Mapping):
        return f"an object with {len(value)} field{'' if len(value) == 1 else 's'}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = f'"{value}"' if isinstance(value, str) else f"{value!r:.{_SHOWN_CHARACTERS}}"
    return text if len(text) <= _SHOWN_CHARACTERS else f'{text[:_SHOWN_CHARACTERS]}…"'
