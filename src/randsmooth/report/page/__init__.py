"""The comparison page: its frame, its first sentences and its panels."""
