"""One module a command: options, output, exit code. What they do lives elsewhere."""
