"""``python -I -m rulecore_sidecar``: what editors and installed agent carriers start."""

from rulecore_sidecar.entry import main

main()
