#!/bin/sh
# Tests what has changed against BASE: `scripts/test-changed.sh BASE`, through `make test-changed`.
set -eu

reached=$(./scripts/changed.sh "$1" reach)
[ -n "$reached" ] || { echo "test-changed: no test is reached by what has changed against $1"; exit 0; }
if [ "$reached" = work ]; then
	echo "test-changed: the build itself has changed, which reaches every test"
	exec "$MAKE" --no-print-directory test
fi

meshes='/test/[a-z]*$'
own=$(./scripts/changed.sh "$1" own | grep -E "$meshes" || true)
packages=$(printf '%s\n' "$reached" | grep -vE "$meshes|^smoke\$" || true)
# shellcheck disable=SC2086 # lists of packages
if printf '%s\n' "$reached" | grep -q '^smoke$' || [ -n "$own" ]; then
	"$MAKE" --no-print-directory test-programs
fi
if [ -n "$packages$own" ]; then
	# shellcheck disable=SC2086 # lists of packages
	eval "$RUN_TESTS" $packages $own
fi
if printf '%s\n' "$reached" | grep -q '^smoke$'; then
	echo "test-changed: the programs have changed; of the tests in test/ one turn is tested here, all by CI (make test PKG=./test/...)"
	eval "$TEST_ENV" "$GO" test -vet=off -run "'^TestTurns$'" ./test/e2e
fi
