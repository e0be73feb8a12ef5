"""The table of actions, one module for each group or two; `actions.py` joins them."""
