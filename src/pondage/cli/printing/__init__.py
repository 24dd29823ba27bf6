"""How views are printed: tables, plans, drawings, errors."""
