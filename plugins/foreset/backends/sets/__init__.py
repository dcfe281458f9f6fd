"""Steps on Python sets: for `foreset test`, and what the other backends are held to."""
