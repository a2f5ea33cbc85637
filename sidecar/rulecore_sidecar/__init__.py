"""rulecore sidecar: the live side. Language server, guard service, file truth, agents, CLI."""
