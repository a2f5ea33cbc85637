"""rulecore hooks: enforcement on git. One module per hook, main(argv) -> int."""
