"""rulecore kernel: decisions as pure functions. No I/O, no clock, no randomness."""
