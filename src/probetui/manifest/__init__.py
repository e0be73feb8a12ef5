"""Load pods from YAML; errors give line and path.

The schema of the API is lightkube's models. To import `lightkube.models` imports the
package above, with its client and an HTTP library: 260 ms, and I/O in a layer without
any. So the package is put in place without running it, unless it is imported already
(docs/decisions/api-objects.md).
"""

import sys
from importlib.util import find_spec, module_from_spec

_spec = None if "lightkube" in sys.modules else find_spec("lightkube")
if _spec is not None:
    sys.modules["lightkube"] = module_from_spec(_spec)
