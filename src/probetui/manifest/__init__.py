"""Load pods from YAML; errors give line and path.

The schema of the API is lightkube's models. An import of `lightkube.models` also
imports its parent package, with a client and an HTTP library: 260 ms, and I/O in a
layer without any. So a stand-in for the parent is registered without running it, unless
it is imported already (docs/decisions/api-objects.md).
"""

import sys
from importlib.util import find_spec, module_from_spec

_spec = None if "lightkube" in sys.modules else find_spec("lightkube")
if _spec is not None:
    sys.modules["lightkube"] = module_from_spec(_spec)
