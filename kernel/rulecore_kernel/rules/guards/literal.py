"""OnError as the seed has it, on raw results (``guard.profile: literal``). Kept, tested and measured beside the
calibrated one. Source: spec kernel.md section 6, agents.md section 2.2.
"""
EMPTY = "empty|"
