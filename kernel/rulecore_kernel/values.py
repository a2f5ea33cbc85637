"""Plain values as they come from JSON and YAML: what the edges hand to the kernel."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
JsonObject: TypeAlias = Mapping[str, Json]
