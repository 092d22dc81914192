#!/bin/sh
# Builds programs for tests: `scripts/programs.sh FOLDER "FLAGS" PACKAGE…`, in a folder of bin/. go test keeps the results of tests by the times of
# the files and folders that they opened, so these follow from what is in them.
set -eu

dir=$1 flags=$2 built=bin/.built/${1#bin/}
shift 2
mkdir -p "$dir" "$built"
# settle copies a file if it has changed.
settle() {
	cmp -s "$1" "$2" && return
	cp "$1" "$2"
	sum=$(cksum <"$2")
	touch -d "@$((946684800 + ${sum%% *} % 757382400))" "$2"
}
# shellcheck disable=SC2086 # flags are words
"${GO:-go}" build $flags -ldflags "-s -w -X main.version=test" -o "$built/" "$@"
for program in "$built"/*; do
	[ ! -f "$program" ] || settle "$program" "$dir/${program##*/}"
done
# Beside its programs a folder has the Temporal server and the examples, as bin/ does.
case $dir in
bin/test*) settle bin/windlass-temporal bin/test/windlass-temporal ;;
*) ln -sfn ../test/examples "$dir/examples" && ln -sf ../test/windlass-temporal "$dir/" && touch -h -d @946684800 "$dir/examples" "$dir/windlass-temporal" ;;
esac
touch -d @946684800 "$dir"
