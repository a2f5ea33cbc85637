"""Guards: what an agent's call may do, decided from what this session has seen.

Bird's eye: the sidecar turns an agent's hook into a :class:`~.events.Call`, looks at the files the call names and
asks :func:`~.decide.pre`; after the call ran it asks :func:`~.decide.post`. Both are pure: they read a
:class:`~.session.Session` and return a :class:`~.decide.Verdict` that holds the decision and the writes to apply.

Modules: ``events`` (values), ``session`` (state and its limits), ``commands`` (what a shell command is),
``outcome`` (what a result says), ``reads`` (IdempotencyGuard), ``edits`` (SyncGuard), ``loops`` (OnError, calibrated),
``relevance`` (what changed between two calls), ``literal`` (OnError as the seed has it), ``policy`` (parameters),
``decide`` (the order in which they are asked).

Source: spec agents.md section 2.
"""
