"""Plain values as they come from JSON and YAML: what the edges hand to the kernel."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

Json: TypeAlias = Union[None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]]
JsonObject: TypeAlias = Mapping[str, Json]
