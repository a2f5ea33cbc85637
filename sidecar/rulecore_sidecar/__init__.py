"""rulecore sidecar: the live side. Language server, guard service, file truth, agents, CLI."""

__version__ = "0.1.0"
