"""Pod YAML to pods, or an error that says line and path.

The types of the API are lightkube's; its client is not wanted. Whoever imports
`lightkube.models` imports the package above, which imports that client and an HTTP
library: 20 ms, and an adapter to the world where there is to be none. So the package
is put in place as it is found and not run, unless somebody has imported it already.
"""

import sys
from importlib.util import find_spec, module_from_spec

_spec = None if "lightkube" in sys.modules else find_spec("lightkube")
if _spec is not None:
    sys.modules["lightkube"] = module_from_spec(_spec)
