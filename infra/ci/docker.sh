#!/usr/bin/env bash
# A Docker engine with our image on a bare Debian, as root: installs the engine where it is missing,
# starts it where none answers, makes the base image, builds the image. What is there already is
# kept, layer by layer. Ends with 1 and the reason where this machine cannot run an engine.
#
#   infra/ci/docker.sh [PYTHON]     PYTHON has the launcher's packages; .venv's where none is named
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${1:-.venv/bin/python}
seconds=60
log=${TMPDIR:-/tmp}/launch-ci-dockerd.log

answers() {
    "$python" -c 'from launchers.rehearsal.engine import engine; engine().close()' 2>/dev/null
}

fail() {
    echo "ci: no Docker engine: $1" >&2
    [ ! -s "$log" ] || tail -n 20 "$log" >&2
    exit 1
}

missing=()
command -v dockerd >/dev/null || answers || missing+=(docker.io)
command -v debootstrap >/dev/null || missing+=(debootstrap)
if [ ${#missing[@]} -gt 0 ]; then
    echo "ci: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! answers; then
    echo "ci: starting the Docker engine"
    : >"$log"
    process=
    if [ -d /run/systemd/system ]; then
        systemctl start docker || fail "systemctl start docker ended with $?"
    else
        # A session of its own: it stays when this script ends, and holds none of its files.
        setsid dockerd >"$log" 2>&1 </dev/null &
        process=$!
    fi
    deadline=$((SECONDS + seconds))
    until answers; do
        [ -z "$process" ] || kill -0 "$process" 2>/dev/null || fail "dockerd ended; its last lines:"
        [ $SECONDS -lt $deadline ] || fail "it did not answer within $seconds s; its last lines:"
        sleep 0.5
    done
fi

"$python" -m launchers.cli.main image base
"$python" -m launchers.cli.main image build
