"""Views of plans, deployments and simulations."""
