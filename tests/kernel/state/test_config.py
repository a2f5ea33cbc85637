"""Where a parameter's value comes from, and what is said about one that cannot be used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulecore_kernel.state.config import DEFAULTS, PROJECT_FILE, Setting, Source, resolve
from rulecore_kernel.state.domain import TEXT
from rulecore_kernel.state.parameters import BY_KEY, PARAMETERS, Parameter
from rulecore_kernel.values import Json


def test_without_a_source_every_parameter_has_its_default() -> None:
    settings = resolve()
    assert settings == DEFAULTS
    assert settings.warnings == ()
    assert settings.values == {p.key: Setting(p.default, Source.DEFAULT) for p in PARAMETERS}


def test_keys_and_aliases_are_unique_and_defaults_are_allowed() -> None:
    names = [p.key for p in PARAMETERS] + [p.alias for p in PARAMETERS if p.alias]
    assert len(names) == len(set(names))
    assert [p.key for p in PARAMETERS if p.domain.mismatch(p.default)] == []
    assert len({p.variable for p in PARAMETERS}) == len(PARAMETERS)
    assert all(p.meaning and p.reader for p in PARAMETERS)


def test_no_key_is_a_group_of_another() -> None:
    assert [(a, b) for a in BY_KEY for b in BY_KEY if b.startswith(f"{a}.")] == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("read.small_bytes", 32_768),
        ("read.large_bytes", 262_144),
        ("onerror.retry_limit", 3),
        ("onerror.empty_tool_limit", 3),
        ("onerror.empty_params_limit", 2),
        ("onerror.switch_limit", 3),
        ("onerror.switch_decay_rounds", 10),
        ("onerror.loop_switch_decay_rounds", 8),
        ("onerror.forcehalt_notify_rounds", 5),
        ("context.critical_watermark", 0.85),
        ("cohesion.max_methods", 30),
        ("cohesion.god_methods", 40),
        ("cohesion.max_lines", 1000),
        ("code_standard.allowed", ()),
        ("guard.mode", "enforce"),
        ("guard.redundant_read.mode", None),
        ("guard.loop.mode", None),
        ("guard.stale_edit.mode", None),
        ("guard.profile", "calibrated"),
        ("guard.repeat_switch", 3),
        ("guard.repeat_halt", 5),
        ("guard.cycle_repeats", 3),
        ("guard.same_read_limit", 4),
        ("guard.poll_bound", 10),
        ("guard.no_progress_calls", 40),
        ("guard.unread_edit", "advise"),
        ("halt.allow_reads", True),
    ],
)
def test_defaults_are_those_of_the_specification(key: str, value: Json) -> None:
    assert DEFAULTS.value(key) == value


@pytest.mark.parametrize(
    "project",
    [
        {"guard": {"mode": "advise", "loop": {"mode": "observe"}}},
        {"guard.mode": "advise", "guard.loop.mode": "observe"},
        {"guard": {"mode": "advise", "loop.mode": "observe"}},
        {"guard.loop": {"mode": "observe"}, "guard": {"mode": "advise"}},
    ],
)
def test_keys_may_be_nested_or_dotted(project: dict[str, Json]) -> None:
    settings = resolve(project=project)
    assert settings.warnings == ()
    assert settings.values["guard.mode"] == ("advise", Source.PROJECT)
    assert settings.values["guard.loop.mode"] == ("observe", Source.PROJECT)


def test_an_empty_group_says_nothing() -> None:
    assert resolve(project={"guard": None, "onerror": {}}).warnings == ()


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("onerror.retry_limit", "5", 5),
        ("onerror.retry_limit", " 5 ", 5),
        ("context.critical_watermark", "0.5", 0.5),
        ("context.critical_watermark", "1", 1.0),
        ("halt.allow_reads", "false", False),
        ("halt.allow_reads", "Yes", True),
        ("halt.allow_reads", "0", False),
        ("guard.mode", "observe", "observe"),
        ("guard.loop.mode", "null", None),
        ("guard.loop.mode", "advise", "advise"),
        ("code_standard.allowed", "a, b ,", ("a", "b")),
        ("aiwork.default_branch", "trunk", "trunk"),
    ],
)
def test_an_environment_variable_is_read_as_the_parameters_type(key: str, text: str, value: Json) -> None:
    settings = resolve(environment={BY_KEY[key].variable: text})
    assert settings.values[key] == (value, Source.ENVIRONMENT)
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("onerror.retry_limit", "three"),
        ("onerror.retry_limit", "2.5"),
        ("onerror.retry_limit", "0"),
        ("context.critical_watermark", "nan"),
        ("context.critical_watermark", "85"),
        ("halt.allow_reads", "perhaps"),
        ("guard.mode", "off"),
    ],
)
def test_an_environment_variable_that_cannot_be_used_is_named(key: str, text: str) -> None:
    settings = resolve(environment={BY_KEY[key].variable: text})
    assert settings.values[key] == (BY_KEY[key].default, Source.DEFAULT)
    (warning,) = settings.warnings
    assert warning.message.startswith(f"environment: {BY_KEY[key].variable}: given ")


def test_an_empty_variable_is_not_set_and_foreign_ones_are_not_ours() -> None:
    settings = resolve(environment={"RULECORE_ONERROR_RETRY_LIMIT": "", "RULECORE_ONEROR_X": "1", "HOME": "/"})
    assert settings == DEFAULTS


def test_a_wrong_value_falls_back_to_the_default_not_to_the_next_source() -> None:
    settings = resolve(project={"onerror": {"retry_limit": "three"}}, environment={"RULECORE_ONERROR_RETRY_LIMIT": "9"})
    assert settings.values["onerror.retry_limit"] == (3, Source.DEFAULT)
    (warning,) = settings.warnings
    assert warning == (
        PROJECT_FILE,
        "onerror.retry_limit",
        'project.md: onerror.retry_limit: given "three"; expected an integer ≥ 1; using the default 3',
    )


def test_a_wrong_item_of_a_list_is_named() -> None:
    settings = resolve(project={"code_standard": {"allowed": ["a", 2]}}, project_file=".clinerules/project.md")
    (warning,) = settings.warnings
    assert warning.message.startswith(".clinerules/project.md: code_standard.allowed[1]: given 2; expected a string;")


def test_an_unknown_key_is_reported_with_the_nearest_known_one() -> None:
    settings = resolve(project={"onerror": {"retry_limt": 3}, "zzz": 1})
    assert [warning.key for warning in settings.warnings] == ["onerror.retry_limt", "zzz"]
    assert "did you mean onerror.retry_limit?" in settings.warnings[0].message
    assert "did you mean" not in settings.warnings[1].message


def test_a_required_parameter_without_a_usable_value_is_absent() -> None:
    parameters = {"path.root": Parameter("path.root", TEXT, None, "PathStrategy", "", required=True)}
    assert resolve(parameters=parameters).values == {}
    assert resolve(parameters=parameters).warnings == ()
    wrong = resolve(project={"path": {"root": 3}}, parameters=parameters)
    assert wrong.values == {}
    assert "required" in wrong.warnings[0].message


def test_an_override_is_above_everything_and_leaves_the_settings_alone() -> None:
    settings = resolve(runtime={"onerror.retry_limit": 4}, project={"guard.mode": "advise", "nonsense": 1})
    above = settings.override({"onerror": {"retry_limit": 5}, "guard.mode": 3})
    assert above.values["onerror.retry_limit"] == (5, Source.RUNTIME)
    assert above.values["guard.mode"] == ("enforce", Source.DEFAULT)
    assert [warning.key for warning in above.warnings] == ["guard.mode"]
    assert settings.integer("onerror.retry_limit") == 4


def test_typed_readers() -> None:
    assert DEFAULTS.integer("onerror.retry_limit") == 3
    assert DEFAULTS.number("context.critical_watermark") == 0.85
    assert DEFAULTS.flag("halt.allow_reads") is True
    assert DEFAULTS.text("guard.mode") == "enforce"
    assert DEFAULTS.texts("code_standard.allowed") == ()
    for read in (DEFAULTS.integer, DEFAULTS.number, DEFAULTS.flag, DEFAULTS.texts):
        with pytest.raises(TypeError):
            read("guard.mode")
    with pytest.raises(TypeError):
        DEFAULTS.text("halt.allow_reads")
    with pytest.raises(KeyError):
        DEFAULTS.value("no.such.key")


values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*BY_KEY, "guard", "onerror", "read"]) | st.text(max_size=6)
sources = st.dictionaries(keys, values, max_size=5)
variables = st.dictionaries(st.sampled_from([p.variable for p in PARAMETERS]), st.text(max_size=6), max_size=5)


@given(sources, sources, variables)
def test_whatever_the_sources_hold_every_parameter_has_an_allowed_value(
    runtime: dict[str, Json], project: dict[str, Json], environment: dict[str, str]
) -> None:
    settings = resolve(runtime, project, environment)
    assert list(settings.values) == list(BY_KEY)
    assert [key for key, setting in settings.values.items() if BY_KEY[key].domain.mismatch(setting.value)] == []
