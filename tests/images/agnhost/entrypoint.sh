#!/bin/sh
# `/agnhost` of the image.
export PYTHONPATH=/opt/agnhost
exec /usr/bin/python3 -BsS -c 'import agnhost; agnhost.main()' "$@"
