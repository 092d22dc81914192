#!/bin/sh
# Runs every fuzz target of the root module for FUZZTIME each. Go fuzzes one target at a time.
set -eu

# `go test -list` prints a package's targets, then its "ok" line; a package without tests prints "?".
go test -list '^Fuzz' ./... | awk '/^Fuzz/{t[++n]=$1} /^ok/{for(i=1;i<=n;i++) print $2, t[i]; n=0}' |
	while read -r pkg target; do
		echo "fuzz: $target in $pkg"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" "$pkg" </dev/null
	done
