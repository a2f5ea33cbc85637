"""Where a parameter's value comes from: runtime > project.md > environment > default.

The edges parse project.md and read the environment; here they are plain mappings. Both spellings of a key are read,
``onerror.retry_limit: 3`` and ``onerror: {retry_limit: 3}``. A value of the wrong type or out of range falls back
to the default and is reported; so is a key that nobody reads. Source: spec kernel.md section 2.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from rulecore_kernel.state.domain import Domain, Type, shown
from rulecore_kernel.state.names import hint
from rulecore_kernel.state.parameters import BY_KEY, Parameter
from rulecore_kernel.values import Json

PROJECT_FILE = "project.md"
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class Source(StrEnum):
    """Where a value came from, strongest first."""

    RUNTIME = "runtime"
    PROJECT = "project.md"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


class Setting(NamedTuple):
    """A value with its source."""

    value: Json
    source: Source


class Layer(NamedTuple):
    """One source: ``file`` names it in warnings, ``values`` are by key."""

    source: Source
    file: str
    values: Mapping[str, Json]


class ConfigWarning(NamedTuple):
    """Something in a source that was not used. ``message`` names file, key, value and what is expected."""

    file: str
    key: str
    message: str


class Settings(NamedTuple):
    """Every parameter's value in one workspace. A required parameter that no source has is absent from ``values``.

    The typed readers raise ``KeyError`` for a key that has no value and ``TypeError`` when the parameter is of
    another type: both are mistakes of the program, not of the configuration.
    """

    values: Mapping[str, Setting]
    warnings: tuple[ConfigWarning, ...] = ()

    def value(self, key: str) -> Json:
        """The value of ``key`` as it is."""
        return self.values[key].value

    def integer(self, key: str) -> int:
        """The value of an integer parameter."""
        value = self.values[key].value
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} is not an integer parameter")
        return value

    def number(self, key: str) -> float:
        """The value of a number parameter."""
        value = self.values[key].value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{key} is not a number parameter")
        return value

    def flag(self, key: str) -> bool:
        """The value of a boolean parameter."""
        value = self.values[key].value
        if not isinstance(value, bool):
            raise TypeError(f"{key} is not a boolean parameter")
        return value

    def text(self, key: str) -> str:
        """The value of a string parameter."""
        value = self.values[key].value
        if not isinstance(value, str):
            raise TypeError(f"{key} is not a string parameter")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """The value of a parameter that is a list of strings."""
        value = self.values[key].value
        if not isinstance(value, list | tuple):
            raise TypeError(f"{key} is not a list parameter")
        return tuple(str(item) for item in value)

    def override(self, runtime: Mapping[str, Json]) -> "Settings":
        """These settings with ``runtime`` above everything, for one call. ``warnings`` are those of ``runtime``
        alone."""
        flat = flatten(runtime)
        warnings = unknown_keys(flat, Source.RUNTIME.value)
        layer = Layer(Source.RUNTIME, Source.RUNTIME.value, flat)
        values = dict(self.values)
        for key in flat:
            if (parameter := BY_KEY.get(key)) is not None:
                _settle(parameter, (layer,), values, warnings)
        return Settings(values, tuple(warnings))


def resolve(
    runtime: Mapping[str, Json] | None = None,
    project: Mapping[str, Json] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    project_file: str = PROJECT_FILE,
    parameters: Mapping[str, Parameter] = BY_KEY,
) -> Settings:
    """Settle every parameter.

    Arguments: ``runtime`` comes from a command line or a client's settings, ``project`` is the front matter of
    ``project_file``, ``environment`` the process's variables. Never raises; what could not be used is in ``warnings``.
    """
    layers: list[Layer] = []
    warnings: list[ConfigWarning] = []
    for source, file, plain in (
        (Source.RUNTIME, Source.RUNTIME.value, runtime),
        (Source.PROJECT, project_file, project),
    ):
        flat = flatten(plain or {}, parameters)
        layers.append(Layer(source, file, flat))
        warnings += unknown_keys(flat, file, parameters)
    layers.append(environment_layer(environment or {}, parameters))
    values: dict[str, Setting] = {}
    for parameter in parameters.values():
        _settle(parameter, layers, values, warnings)
    return Settings(values, tuple(warnings))


def pick(parameter: Parameter, layers: Iterable[Layer]) -> tuple[Setting | None, ConfigWarning | None]:
    """The value from the first of ``layers`` that has the key, else the default.

    Returns None for a required parameter without a usable value, and a warning when the value that was found was
    not usable.
    """
    default = None if parameter.required else Setting(parameter.default, Source.DEFAULT)
    for source, file, values in layers:
        if parameter.key not in values:
            continue
        value = values[parameter.key]
        mismatch = parameter.domain.mismatch(value)
        if mismatch is None:
            return Setting(value, source), None
        otherwise = f"using the default {_plain(default.value)}" if default else "it is required and has no default"
        name = parameter.variable if source is Source.ENVIRONMENT else f"{parameter.key}{mismatch.path}"
        message = f"{file}: {name}: given {mismatch.given}; expected {mismatch.allowed}; {otherwise}"
        return default, ConfigWarning(file, parameter.key, message)
    return default, None


def flatten(plain: Mapping[str, Json], parameters: Mapping[str, Parameter] = BY_KEY) -> dict[str, Json]:
    """Dotted keys from nested or dotted ones, aliases resolved; of a key that is given twice the last one counts."""
    aliases = {parameter.alias: key for key, parameter in parameters.items() if parameter.alias}
    return {aliases.get(name, name): value for name, value in _leaves(plain, "", parameters)}


def unknown_keys(
    flat: Mapping[str, Json], file: str, parameters: Mapping[str, Parameter] = BY_KEY
) -> list[ConfigWarning]:
    """A warning, with the nearest known key, for each key of ``flat`` that nobody reads."""
    return [
        ConfigWarning(file, key, f"{file}: {key}: no such parameter{hint(key, parameters)}; it has no effect")
        for key in flat
        if key not in parameters
    ]


def environment_layer(environment: Mapping[str, str], parameters: Mapping[str, Parameter] = BY_KEY) -> Layer:
    """The parameters that the process's variables set. An empty variable counts as not set; others are not ours."""
    values: dict[str, Json] = {}
    for key, parameter in parameters.items():
        text = environment.get(parameter.variable)
        if text:
            values[key] = from_text(text, parameter.domain)
    return Layer(Source.ENVIRONMENT, Source.ENVIRONMENT.value, values)


def from_text(text: str, domain: Domain) -> Json:
    """The value that ``text`` spells in ``domain``: ``5``, ``0.9``, ``yes``, ``a,b``, ``null``; else ``text`` itself,
    which the domain then refuses."""
    word = text.strip()
    if domain.nullable and word.lower() in ("null", "none"):
        return None
    if domain.type is Type.BOOLEAN:
        return True if word.lower() in _TRUE else False if word.lower() in _FALSE else text
    if domain.type in (Type.INTEGER, Type.NUMBER):
        return _number(word, domain.type)
    if domain.type is Type.LIST:
        return tuple(part.strip() for part in word.split(",") if part.strip())
    return word


def _number(word: str, kind: Type) -> Json:
    try:
        return int(word) if kind is Type.INTEGER else float(word)
    except ValueError:
        return word


def _settle(
    parameter: Parameter, layers: Iterable[Layer], values: dict[str, Setting], warnings: list[ConfigWarning]
) -> None:
    setting, warning = pick(parameter, layers)
    if setting is not None:
        values[parameter.key] = setting
    if warning is not None:
        warnings.append(warning)


def _leaves(plain: Mapping[str, Json], prefix: str, parameters: Mapping[str, Parameter]) -> Iterator[tuple[str, Json]]:
    for name, value in plain.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and key not in parameters:
            yield from _leaves(value, f"{key}.", parameters)
        elif value is not None or not any(known.startswith(f"{key}.") for known in parameters):
            yield key, value


def _plain(value: Json) -> str:
    return ", ".join(str(item) for item in value) or "(none)" if isinstance(value, tuple) else shown(value)


DEFAULTS = resolve()
