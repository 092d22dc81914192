#!/bin/sh
# Runs a check unless it has succeeded with the same inputs before, in any clone of this user: `scripts/unchanged.sh NAME PATH… -- COMMAND…`. PATHs are
# all that the check depends on: files, folders of the repository, and `-` for what comes on the standard input. Their contents, the command and the
# version of Go are the key; nothing depends on times. Without git there is nothing to compare, and the check runs.
set -eu

name=$1
shift
paths=
while [ "$1" != -- ]; do paths="$paths $1" && shift; done
shift

given=
case " $paths " in *" - "*) given=$(cat) ;; esac
contents() {
	for path in $paths; do
		case $path in
		-) printf '%s\n' "$given" ;;
		bin/*) sha256sum "$path" ;;
		# Files that are deleted but still in the index are inputs as well: their absence is what has changed.
		*) git ls-files -co --exclude-standard -z -- "$path" | sort -zu | xargs -0 sh -c 'for f; do [ ! -f "$f" ] || echo "$f"; done' sh | xargs -d '\n' -r sha256sum ;;
		esac
	done
}
folder=${XDG_CACHE_HOME:-${HOME:-}/.cache}/windlass-checks
if [ -z "${HOME:-}" ] || ! git rev-parse --git-dir >/dev/null 2>&1; then exec "$@" </dev/null; fi
key() { { echo "$*"; "${GO:-go}" version; contents; } | sha256sum | cut -d ' ' -f 1; }
key=$(key "$@")
if [ -f "$folder/$name-$key" ]; then
	echo "$name: nothing has changed since it succeeded"
	exit 0
fi
"$@" </dev/null
# Inputs that have changed meanwhile were not checked. A folder that cannot be written keeps nothing.
[ "$(key "$@")" != "$key" ] || { mkdir -p "$folder" && touch "$folder/$name-$key"; } 2>/dev/null || true
