#!/bin/sh
# tilt-ci.sh TILT: starts every resource of the Tiltfile with the given Tilt, waits for all of them and for the smoke turn, and stops them.
# Fails if a resource does not become ready, or if the smoke turn did not run.
set -eu

tilt=$1
log=bin/tilt-ci.log
export TILT_DISABLE_ANALYTICS=1
mkdir -p bin
# `tilt ci` waits for Kubernetes settings only if the Tiltfile uses them; ours has local resources alone.
status=0
"$tilt" ci --port 0 --timeout "${TILT_TIMEOUT:-15m}" >"$log" 2>&1 || status=$?
grep -E 'smoke' "$log" || true
if [ "$status" -ne 0 ]; then
	tail -n 60 "$log" >&2
	echo "tilt-ci: tilt ci ended with status $status; the whole log is in $log" >&2
	exit "$status"
fi
if ! grep -q '= 84' "$log"; then
	echo "tilt-ci: the smoke turn did not answer 84; the whole log is in $log" >&2
	exit 1
fi
echo "tilt-ci: ok"
