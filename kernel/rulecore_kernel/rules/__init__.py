"""The rule library: one function, one registry row, one documentation block and one table test per rule.

Modules: ``model`` (what a rule is), ``table`` (decision tables as data), ``axioms``, ``strategies``, ``on_error``,
``config_injection`` (the rules), ``registry`` (the list of them), ``activity`` (which rules are consulted where),
``evaluate`` (a rule by name, from JSON), ``keys`` (call keys), ``guards`` (the calibrated guards).

Adding a rule: write the function with its documentation block beside its kin, add its row to ``registry``, write
``test_<rule>_table``, run ``python -m rulecore_sidecar.docgen``. Source: spec kernel.md.
"""
