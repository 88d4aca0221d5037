"""Logs of certificates that other programs wrote, as the field publishes them.

No torch here.
"""
