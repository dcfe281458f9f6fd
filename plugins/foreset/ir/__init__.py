"""The program as data: terms, rules, programs, steps. Pure; equality ignores positions."""
