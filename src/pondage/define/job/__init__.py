"""Components, jobs and flows as an author declares them."""
