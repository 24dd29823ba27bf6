"""The queue: dispatches as claimable rows, and the processes that claim them."""
