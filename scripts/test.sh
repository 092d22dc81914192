#!/bin/sh
# Tests packages, or `work`: all of go.work. ARGS are more arguments of `go test`, RACE its flags for the race detector.
# Run it through `make test` or `make test-changed`, which set the order of the tests and what they find.
set -eu

tools=${TOOLS:-bin/tools}
go=${GO:-go}
out=bin/test-results
cores=$(getconf _NPROCESSORS_ONLN)
rm -rf "$out"
mkdir -p "$out"

# The files of tests are in memory where there is room, and programs may be started from there: the databases of tests are hundreds of thousands of
# files, half of the system's time. The folder is named after this checkout, because its name is an input of each result that Go's test cache keeps.
# Go's own files stay where they are.
memory=/dev/shm
room() { # megabytes
	{ df -Pm "$memory" | awk 'NR == 2 && $1 == "tmpfs" {print $4}'; awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo; } 2>/dev/null | sort -n | head -n 1
}
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "$(room)" -ge 4096 ] 2>/dev/null; then
	files=$memory/wl-$(pwd -P | cksum | cut -d' ' -f1)
	# Another run in this checkout may be using it; what one that was killed has left goes.
	exec 9>"$files.lock"
	if flock -n 9 2>/dev/null; then
		rm -rf "$files"
		trap 'rm -rf "$files" "$files.lock"' EXIT
		trap 'exit 130' INT
		trap 'exit 143' TERM HUP
	fi
	mkdir -p -m 1777 "$files"
	if printf '#!/bin/sh\n' >"$files/starts" && chmod +x "$files/starts" && "$files/starts" 2>/dev/null; then
		export GOTMPDIR="${GOTMPDIR:-/tmp}" TMPDIR="$files"
	fi
	rm -f "$files/starts"
fi

# Groups of tests, in order: `plain` and `rest` without the race detector, which say in minutes what is wrong; then at the same time `large` without
# it, and `some` and `package` with it, where something runs at the same time (RACED=1: all packages); and `process`, which start programs that may
# have it (test/harness, RaceEnv).
# Two packages of process run at a time: beside e2e first those whose tests run one after the other, and in the end those whose tests fill the cores.
order="e2e docs mcp firsthour eval tilt concurrent browser crash"
process="/test/($(echo $order | tr ' ' '|'))\$"
packages=$($go list "$@")
started=$(for name in $order; do printf '%s\n' "$packages" | grep "/test/$name\$" || true; done)
slow='/(test/[a-z]*|libs/(bus|media|rpc)|workflows/turn|workflows/turn/executor|services/(inference/provider|mcpbridge|policy/grant|registry|registry/(grpcapi|openapi|skills|workflow)|sessions|sessions/store))$'
others=$(printf '%s\n' "$packages" | grep -vE "$process" | SLOW=$slow awk '$0 ~ ENVIRON["SLOW"] {print; next} {rest = rest $0 "\n"} END {printf "%s", rest}' || true)
module=$($go list -m -f '{{if not .Indirect}}{{.Path}}{{end}}' 2>/dev/null | head -n 1)
concurrent=$(./scripts/concurrent.sh | sed "s|^|$module/|")
[ "${WINDLASS_TEST_RACE:-}" != 1 ] || concurrent=$others
# Of all packages, half have the race detector, each on one day of two. Packages that are named have it every day.
if [ "$*" = work ] && [ "${WINDLASS_TEST_RACE:-}" != 1 ] && [ "${WINDLASS_TEST_WHOLE:-}" != 1 ]; then
	seed=${WINDLASS_TEST_SHUFFLE:-0}
	seconds=$(date -u -d "$seed" +%s 2>/dev/null) && day=$((seconds / 86400)) || day=$seed
	concurrent=$(printf '%s\n' $concurrent | while read -r package; do
		[ $((($(printf %s "$package" | cksum | cut -d' ' -f1) + day) % 2)) -ne 0 ] || echo "$package"
	done)
fi
raced=$(printf '%s\n' "$others" | grep -xF "$concurrent" || true)
plain=$(printf '%s\n' "$others" | grep -vxF "$concurrent" || true)
# In these, the files of tests that start goroutines have the race detector, and the other tests run without it: most are about one request at a time.
partly='/(gateway|internal/issuer|libs/bus|services/(inference/provider|mcpbridge|policy|policy/audit/trail|registry|sessions|sessions/store))$'
some=
if [ -n "${RACE:-}" ] && [ "${WINDLASS_TEST_RACE:-}" != 1 ]; then
	some=$(printf '%s\n' "$raced" | grep -E "$partly" || true)
	raced=$(printf '%s\n' "$raced" | grep -vE "$partly" || true)
fi
# Tests of megabytes, and of thousands at once, in the packages that are tested with the race detector: files that it leaves out hold them.
large=$(git ls-files '*_test.go' | xargs grep -lx '//go:build !race' || true)
heavy=$([ -z "${RACE:-}" ] || printf '%s\n' "$large" | xargs -n1 dirname | sort -u | sed "s|^|$module/|" | grep -xF "$raced" || true)
# names lists the tests of files, any joins names to a regular expression.
names() { sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' "$@" /dev/null | sort -u; }
any() { tr '\n' '|' | sed 's/^/^(/; s/|*$/)$/'; }
# shellcheck disable=SC2086 # lists of files
whole=$(names $large)
# The tests of `some` with the race detector: those of files that start goroutines. All others of these packages are in the group `rest`.
# shellcheck disable=SC2046 # lists of files
starting=$([ -z "$some" ] || names $(./scripts/concurrent.sh $(printf '%s\n' $some | sed "s|^$module/||")) | { grep -vxF "$whole" || true; } | any)

programs() { "${MAKE:-make}" --no-print-directory test-programs || { echo programs >>"$out/failed"; return 1; }; }

# run names the results, then come the flags and packages of go test.
run() {
	name=$1
	shift
	# shellcheck disable=SC2086 # ARGS are words
	"$tools/gotestsum" --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped --jsonfile-timing-events "$out/$name.json" -- \
		-vet=off -timeout "${TIMEOUT:-30m}" "$@" ${ARGS:-} || echo "$name" >>"$out/failed"
}

# The programs are built beside the first tests. Their tests have the cores for themselves: they start many processes, which answer late otherwise.
# shellcheck disable=SC2086 # lists of packages
{
	[ -z "$started" ] || programs &
	[ -z "$some" ] || CGO_ENABLED=0 run rest -p "$cores" -skip "$starting" $some &
	rest=$!
	[ -z "$plain" ] || CGO_ENABLED=0 run plain -p "$cores" $plain
	wait $rest
	[ -z "$heavy" ] || CGO_ENABLED=0 run large -p "$cores" -run "$(echo "$whole" | any)" $heavy &
	[ -z "$some" ] || run some -p "$cores" $RACE -run "$starting" $some &
	[ -z "$raced" ] || run package -p $((cores + 1)) ${RACE:-} $raced
	wait
	[ -z "$started" ] || CGO_ENABLED=0 run process -p "$cores" -parallel "${PARALLEL:-3}" $started
}

echo "the slowest tests:"
cat "$out"/*.json 2>/dev/null | "$tools/gotestsum" tool slowest --threshold 1s --num 10 | sed 's/^/  /'
[ ! -f "$out/failed" ] || { echo "FAILED: $(tr '\n' ' ' <"$out/failed")tests, see above" >&2; exit 1; }
