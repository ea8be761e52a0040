"""What the engine changes or refuses because of the target's architecture, by family."""
