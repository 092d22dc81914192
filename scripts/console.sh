#!/bin/sh
# Tests the pages of gateway/console/app, and builds them into gateway/console/dist, which is committed so that only those who change the
# pages need npm.
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

npm ci --prefix "$app" --ignore-scripts --no-audit --no-fund --loglevel=error
"$app/node_modules/.bin/tsc" -p "$app"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$esbuild" "$app/src/fold.test.mjs" --bundle --platform=node --format=esm --outfile="$tmp/fold.test.mjs" --log-level=warning
node --test "$tmp/fold.test.mjs" >"$tmp/log" || { cat "$tmp/log" >&2; exit 1; }
"$esbuild" "$app/src/app.tsx" "$app/src/app.css" --bundle --minify --charset=utf8 --legal-comments=eof --target=es2022 --format=esm \
	--tsconfig="$app/tsconfig.json" --outdir="$tmp" --log-level=warning

for file in app.js app.css; do
	cmp -s "$tmp/$file" "$dist/$file" && continue
	[ "${1:-}" = --check ] && { echo "console: $dist/$file is not what $app gives, run 'make console'" >&2; exit 1; }
	cp "$tmp/$file" "$dist/$file"
	echo "console: wrote $dist/$file"
done
