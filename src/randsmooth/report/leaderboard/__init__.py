"""Every certificate table of a folder on one page that sorts and filters."""
