#!/bin/sh
# Tests the pages of gateway/console/app, and builds them into gateway/console/dist, which is committed so that only those who change the
# pages need npm. app.js is the first view; each further page is a file that is loaded when it is opened, named after its content.
# docs.js is for the pages of the documentation, which gateway/site renders.
# With --check it changes nothing and fails when the committed files differ; without npm it says so and leaves that out.
# Run it from the top folder, through `make console` or `make check`: those build esbuild first.
set -eu

esbuild=$PWD/${ESBUILD:-bin/tools/esbuild}
app=gateway/console/app
dist=gateway/console/dist

if ! command -v npm >/dev/null; then
	[ "${1:-}" = --check ] || { echo "console: npm is needed to build the pages" >&2; exit 1; }
	echo "console: not checked, npm is not on PATH"
	exit 0
fi

lock=$app/node_modules/.installed
if ! cmp -s "$app/package-lock.json" "$lock"; then
	npm ci --prefix "$app" --ignore-scripts --no-audit --no-fund --loglevel=error
	cp "$app/package-lock.json" "$lock"
fi
"$app/node_modules/.bin/tsc" -p "$app"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
find "$app/src" -name '*.test.mjs' | sort | while read -r test; do
	name=$(basename "$test")
	"$esbuild" "$test" --bundle --platform=node --format=esm --outfile="$tmp/$name" --log-level=warning --loader:.jsonl=text \
		--tsconfig="$app/tsconfig.json"
	node --test "$tmp/$name" >"$tmp/log" || { cat "$tmp/log" >&2; exit 1; }
done

mkdir "$tmp/dist"
(cd "$app" && "$esbuild" src/app.tsx src/docs.ts --bundle --splitting --minify --charset=utf8 --legal-comments=eof --target=es2022 --format=esm \
	--tsconfig=tsconfig.json --outdir="$tmp/dist" --chunk-names='[name]-[hash]' --log-level=warning)
cp "$app"/icons/*.svg "$tmp/dist/"

diff -qr "$tmp/dist" "$dist" >/dev/null && exit 0
if [ "${1:-}" = --check ]; then
	diff -qr "$tmp/dist" "$dist" >&2 || true
	echo "console: $dist is not what $app gives, run 'make console'" >&2
	exit 1
fi
rm -rf "$dist"
cp -r "$tmp/dist" "$dist"
echo "console: wrote $dist"
