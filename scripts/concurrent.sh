#!/bin/sh
# Lists the folders of the packages that start goroutines, in their code or in their tests: what the race detector and `make flaky` are for. In the
# others nothing runs at the same time but a server of a test and the client that waits for it: the race detector takes five times as long there.
# With arguments it lists the files of tests in these folders that start some.
set -eu

# This package reads documents of megabytes; the server that its tests call does nothing beside it.
alone='^services/registry/openapi$'
starts='^[[:space:]]*go |\.Go\(|t\.Parallel\('

if [ $# -gt 0 ]; then
	for folder in "$@"; do
		grep -lE "$starts" "$folder"/*_test.go || true
	done
else
	git ls-files '*.go' ':!*.pb.go' ':!*.pb.gw.go' | xargs grep -lE "$starts" | xargs -n1 dirname | sort -u | grep -v "$alone"
fi
