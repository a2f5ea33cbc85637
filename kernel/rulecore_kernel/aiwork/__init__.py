"""The `.aiWork` memory: names and numbers, over an in-memory listing.

spec: aiwork.md
"""
