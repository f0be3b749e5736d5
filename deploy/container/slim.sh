#!/bin/sh
# Takes out of an environment what the service never reads, and compiles the rest: nothing can be compiled later,
# where the root is read-only.
set -eu
packages=$(echo "$1"/lib/python3*/site-packages)

# Languages that the service does not speak.
find "$packages/babel/locale-data" -name '*.dat' -regextype posix-extended \
    ! -regex '.*/(root|en|ar|tr)(_[^/]*)?\.dat' -delete
# Sources of what is compiled.
find "$packages" -type f \( -name '*.c' -o -name '*.h' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pyi' \) -delete
# Not of libraries that came with a wheel: those were altered in a way that strip may spoil.
find "$packages" -type f -name '*.so' ! -path '*.libs/*' -exec strip --strip-debug {} +

"$1/bin/python3" -m compileall -q --invalidation-mode unchecked-hash "$packages"
