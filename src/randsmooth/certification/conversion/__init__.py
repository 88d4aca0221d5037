"""A base classifier as a file for another runtime: exported, or quantised to 8-bit integers."""
