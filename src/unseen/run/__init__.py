"""Running long work: files that survive a crash, checkpoints, logs, progress, and where work runs."""
