"""Planning deploys: what a project changes of the Ponds and reactors that are there."""
