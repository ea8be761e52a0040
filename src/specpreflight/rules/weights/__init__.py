"""Rules about what the weights hold, and what a loader makes of them."""
