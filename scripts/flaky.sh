#!/bin/sh
# Runs tests N times under load and names those that failed even once: `scripts/flaky.sh N [PACKAGE…]`. Without packages these are all that start
# goroutines and are tested within one process. Flags of the race detector are in RACE; without it the runs take a quarter of the time.
set -eu

n=$1
shift
go=${GO:-go}
tools=${TOOLS:-bin/tools}
out=bin/flaky
rm -rf "$out"
mkdir -p "$out"

if [ $# -eq 0 ]; then
	concurrent=$(./scripts/concurrent.sh | grep -vE '^(bench|cmd|deploy|examples|test|tools)' | sed 's|^|./|')
	# shellcheck disable=SC2046,SC2086 # lists of packages
	set -- $($go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $concurrent)
fi

# As many processes that only compute as there are cores, and twice as many test binaries at a time as usual.
cores=$(getconf _NPROCESSORS_ONLN)
load=
for _ in $(seq "$cores"); do
	(while :; do :; done) &
	load="$load $!"
done
# shellcheck disable=SC2064,SC2086 # the ids as they are now
trap "kill $load 2>/dev/null" EXIT

echo "flaky: $# packages, $n times, beside $cores processes that take all the time they get"
status=0
[ -n "${RACE:-}" ] || export CGO_ENABLED=0
# shellcheck disable=SC2086 # RACE is words
"$tools/gotestsum" --format dots --hide-summary skipped --jsonfile-timing-events "$out/events.json" -- \
	-vet=off ${RACE:-} -count "$n" -shuffle on -p $((2 * cores)) -timeout 2h "$@" >"$out/log" 2>&1 || status=$?

grep -h '"Action":"fail"' "$out/events.json" | sed -n 's/.*"Package":"\([^"]*\)","Test":"\([^"]*\)".*/\1 \2/p' | sort | uniq -c | sort -rn >"$out/failed" || true
if [ $status -eq 0 ]; then
	echo "flaky: none of $(grep -c '"Action":"pass".*"Test"' "$out/events.json") runs failed"
	exit 0
fi
echo "flaky: failed, of $n runs each (output in $out/log):" >&2
cat "$out/failed" >&2
exit 1
