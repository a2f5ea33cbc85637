"""State: one immutable value, the one door to it, its merge, and the parameters with their sources.

Modules: ``domain`` (which values are allowed), ``model`` (:class:`~.model.State`), ``variables`` (who may read and
write what), ``manager`` (:class:`~.manager.StateManager`), ``merge`` (parallel branches), ``parameters`` (every key
with type, default, range and reader), ``config`` (ConfigInjection: which source wins).

Invariant: nothing here imports ``rulecore_kernel.rules``; rules read state, state knows no rule.
Source: spec kernel.md sections 2 and 3.
"""
