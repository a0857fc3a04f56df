"""What is minimised: data, losses and weights, with the exact values of both objectives in plain numpy."""
