#!/bin/sh
# What the image runs: a command of qirsh.
set -eu
if [ "${1-}" = demo ]; then
    shift
    # Only what listens for others can be published by a container engine: who publishes the port decides who comes.
    set -- demo --force "$@"
    if [ -z "${QIRSH_BASE_URL-}${QIRSH_BASE_URL_FILE-}" ]; then
        export QIRSH_BASE_URL="http://localhost:${QIRSH_PORT:-8420}"
    fi
fi
exec qirsh "$@"
