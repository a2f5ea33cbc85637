"""The parameters that a hook runs with. What is wrong with their sources is said on standard error and never stops it.

spec: kernel.md §2, aiwork.md §1 (time zone), §6 (default branch)
"""

import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from rulecore_kernel.state.config import Settings, resolve

from .clock import day_in
from .project_config import read_front_matter, read_project_config

README = ".aiWork/readme.md"


def hook_settings(top: str, environ: Mapping[str, str]) -> Settings:
    """project.md over the environment over the defaults; complaints about our own keys are printed."""
    values, findings = read_project_config(Path(top))
    settings = resolve(project=values, environment=environ)
    _say(*findings, *(warning.message for warning in settings.warnings if warning.key.startswith("aiwork")))
    return settings


def project_day(top: str, settings: Settings) -> date:
    """Today in the zone of `aiwork.timezone`, else of the memory's readme.md, else of this machine."""
    setting = settings.values.get("aiwork.timezone")
    zone = setting.value if setting and setting.value else None
    if zone is None:
        values, findings = read_front_matter(Path(top, README), README)
        _say(*findings)
        zone = values.get("timezone")
    try:
        return day_in(str(zone) if zone else None)
    except ValueError as error:
        _say(f"{error}; the zone of this machine counts")
        return day_in(None)


def _say(*complaints: object) -> None:
    for complaint in complaints:
        print(f"warning: {complaint}", file=sys.stderr)
