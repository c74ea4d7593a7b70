"""What the commands of all houses share: options, progress, results as text."""
