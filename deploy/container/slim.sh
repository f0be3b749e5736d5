#!/bin/sh
# Takes out of an environment what the service never reads, and compiles what it imports: nothing can be compiled
# later, where the root is read-only.
set -eu
packages=$(echo "$1"/lib/python3*/site-packages)

# Languages that the service does not speak.
find "$packages/babel/locale-data" -name '*.dat' -regextype posix-extended \
    ! -regex '.*/(root|en|ar|tr)(_[^/]*)?\.dat' -delete
# Sources of what is compiled.
find "$packages" -type f \( -name '*.c' -o -name '*.h' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pyi' \) -delete
# Not of libraries that came with a wheel: those were altered in a way that strip may spoil.
find "$packages" -type f -name '*.so' ! -path '*.libs/*' -exec strip --strip-unneeded {} +

# All that a start imports, and no more: the rest would be a tenth of the image.
"$1/bin/python3" -B - "$packages" > imported <<'PYTHON'
import sys

import qirsh.cli.commands
import qirsh.cli.failures
import qirsh.cli.main

files = (getattr(module, "__file__", None) or "" for module in sys.modules.values())
print(*sorted(file for file in files if file.startswith(sys.argv[1]) and file.endswith(".py")), sep="\n")
PYTHON
"$1/bin/python3" -m compileall -q --invalidation-mode unchecked-hash -i imported
rm imported
