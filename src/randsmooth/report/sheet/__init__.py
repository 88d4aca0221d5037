"""What was measured: the tables side by side with every figure, before any format is chosen."""
