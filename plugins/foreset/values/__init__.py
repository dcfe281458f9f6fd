"""What values mean: functions, casts, comparison, widening and aggregates of Python values, for everybody.

The oracle, the readers of steps, verification and constraints rely on one meaning. Engines that compute elsewhere are
compared with it.
"""
