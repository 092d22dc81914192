#!/bin/sh
# Generates Go, gateway and OpenAPI code from proto/ and puts what changed into place.
# With --check it changes nothing and fails when the committed code differs from what proto/ gives.
# Run it from the top folder, through `make generate` or `make check`: those build the tools first.
set -eu

buf=${BUF:-bin/tools/buf}
roots="proto/gen gateway/gen gateway/openapi/gen"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Only these names are ours to delete: a hand-written file in a generated folder survives.
generated() {
	[ -d "$1" ] || return 0
	(cd "$1" && find . -type f \( -name '*.pb.go' -o -name '*.pb.gw.go' -o -name '*.swagger.json' \) | sort)
}

"$buf" generate -o "$tmp"

# A path such as /v1/{name_1} comes from `{name=sessions/*}` templates; the document of it is useless.
if grep -q '/{[a-z_]*_[0-9]}' "$tmp"/gateway/openapi/gen/*.json 2>/dev/null; then
	echo "generate: an HTTP rule uses a resource-name template; use plain ids, /v1/sessions/{session_id}" >&2
	exit 1
fi

changed=0
for root in $roots; do
	mkdir -p "$tmp/$root"
	for file in $( (generated "$root"; generated "$tmp/$root") | sort -u); do
		want="$tmp/$root/$file" have="$root/$file"
		if [ -f "$want" ] && cmp -s "$want" "$have"; then
			continue
		fi
		changed=$((changed + 1))
		if [ "${1:-}" = --check ]; then
			echo "generate: $root/${file#./} is not what proto/ gives" >&2
		elif [ -f "$want" ]; then
			mkdir -p "$(dirname "$have")"
			cp "$want" "$have"
		else
			rm "$have"
		fi
	done
done

if [ "${1:-}" = --check ] && [ "$changed" -gt 0 ]; then
	echo "generate: run 'make generate' and commit the result" >&2
	exit 1
fi
echo "generate: $changed file(s) changed"
