#!/bin/sh
# Builds programs for tests: `scripts/programs.sh FOLDER "FLAGS" PACKAGE…`. A file is only written if the program has changed: go test keeps the
# results of tests by the time at which the files that they opened were written.
set -eu

dir=$1 flags=$2
shift 2
mkdir -p "$dir/.built"
# shellcheck disable=SC2086 # flags are words
"${GO:-go}" build $flags -ldflags "-s -w -X main.version=test" -o "$dir/.built/" "$@"
for built in "$dir/.built/"*; do
	cmp -s "$built" "$dir/${built##*/}" || cp "$built" "$dir/${built##*/}"
done
