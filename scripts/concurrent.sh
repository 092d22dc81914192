#!/bin/sh
# Lists the folders of the packages in which something runs at the same time as something else, in their code or in their tests: what the race
# detector and `make flaky` are for. The others have one goroutine, and with the race detector they take five times as long to find nothing.
set -eu

# This package reads documents of megabytes; the server that its tests call does nothing beside it.
alone='^services/registry/openapi$'

git ls-files '*.go' ':!*.pb.go' ':!*.pb.gw.go' |
	xargs grep -lE '^[[:space:]]*go |\.Go\(|t\.Parallel\(|httptest\.New|rpctest\.Serve|synctest\.' |
	xargs -n1 dirname | sort -u | grep -v "$alone"
