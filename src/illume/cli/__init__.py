"""The command line: one file a command, and small files that the commands share."""
