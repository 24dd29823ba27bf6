"""The live host of reactors: an event loop, accumulators, timers and graphs around the reaction machine."""
