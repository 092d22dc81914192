#!/bin/sh
# Builds the tools that a module below tools/ names in its go.mod into bin/tools: `scripts/tools.sh tools/lint`.
# The go command keeps what it links for `go tool` in its cache, so a fresh clone gets tools that were built before without linking them again.
set -eu

module=$1
tools=${TOOLS:-bin/tools}
mkdir -p "$tools"
for package in $("${GO:-go}" -C "$module" list tool); do
	name=${package##*/}
	case $name in v[0-9]*) name=$(basename "${package%/*}") ;; esac
	built=$("${GO:-go}" -C "$module" tool -n "$package")
	cp "$built" "$tools/.$name.new"
	mv "$tools/.$name.new" "$tools/$name"
done
