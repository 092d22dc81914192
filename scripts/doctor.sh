#!/bin/sh
# Says what this machine has for working on Windlass, and what each missing thing costs. Fails only without Go, git or make.
set -eu

bad=0
line() { printf '  %-4s %-14s %s\n' "$1" "$2" "$3"; }
first() { "$@" 2>/dev/null | head -n 1; }

need=$(awk '$1 == "go" {print $2}' go.mod)
echo "needed:"
if command -v go >/dev/null; then
	# GOTOOLCHAIN fetches a newer Go where it is allowed to, so ask from inside the module.
	if have=$(go env GOVERSION 2>/dev/null) && [ "$(printf '%s\n' "$need" "${have#go}" | sort -V | head -n 1)" = "$need" ]; then
		line ok go "$have"
	else
		line BAD go "go.mod needs $need or newer"
		bad=1
	fi
else
	line BAD go "not on PATH; install Go $need or newer"
	bad=1
fi
for tool in git make; do
	if command -v $tool >/dev/null; then line ok $tool "$(first $tool --version)"; else line BAD $tool "not on PATH"; bad=1; fi
done

echo "useful:"
if [ -n "${RACE:-}" ]; then
	line ok "C compiler" "$(first "$(go env CC)" --version)"
else
	line - "C compiler" "tests run without the race detector"
fi
postgres=$(command -v postgres || ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -n 1 || true)
if [ -n "$postgres" ]; then
	line ok PostgreSQL "$(first "$postgres" --version)"
else
	line - PostgreSQL "store tests run on SQLite only (WINDLASS_REQUIRE_POSTGRES=1 makes that a failure)"
fi
if command -v node >/dev/null && command -v npm >/dev/null; then
	line ok "node, npm" "$(first node --version), $(first npm --version)"
else
	line - "node, npm" "tests with real MCP servers, agent frameworks and pages are skipped; the built console is not checked"
fi
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -n "$chromium" ]; then line ok Chromium "$chromium"; else line - Chromium "tests of the console in a browser are skipped"; fi
if command -v pdftotext >/dev/null; then line ok pdftotext "$(command -v pdftotext)"; else line - pdftotext "tests of PDF exports are skipped (WINDLASS_REQUIRE_PDFTOTEXT=1 makes that a failure)"; fi
if command -v helm >/dev/null; then line ok helm "$(first helm version --short)"; else line - helm "charts are not linted by make check-deploy"; fi
if command -v promtool >/dev/null; then line ok promtool "$(first promtool --version)"; else line - promtool "Prometheus rules are checked by tools/promcheck alone"; fi
if command -v tilt >/dev/null; then line ok tilt "$(first tilt version)"; else line - tilt "no dev loop; make up does without"; fi

echo "built:"
for program in bin/windlass bin/windlassd bin/windlass-temporal; do
	if [ -x $program ]; then line ok "${program##*/}" "$program"; else line - "${program##*/}" "not built yet: make build"; fi
done
for module in tools/*/go.mod; do
	name=$(basename "${module%/go.mod}")
	case $name in pgo | promcheck | images) continue ;; esac # they run without being built
	stamp=bin/tools/.$name
	if [ ! -f "$stamp" ]; then
		line - "tools/$name" "not built yet: make check or make test builds it, the first time on a machine in a minute or some"
	elif [ "$module" -nt "$stamp" ]; then
		line - "tools/$name" "older than its go.mod: built again when it is used"
	else
		line ok "tools/$name" "built"
	fi
done
for folder in test faults race; do
	if [ -x bin/$folder/windlassd ]; then
		line ok "bin/$folder" "programs of the tests; make test keeps them up to date"
	else
		line - "bin/$folder" "no programs for tests that start some: make test-programs"
	fi
done
base=$(git rev-parse --quiet --verify "${BASE_REF:-origin/main}^{commit}" 2>/dev/null || git rev-parse --quiet --verify 'main^{commit}' 2>/dev/null || true)
if [ -n "$base" ]; then
	line ok BASE_REF "make test-changed and check-changed compare with ${BASE_REF:-origin/main or main}"
else
	line - BASE_REF "there is no ${BASE_REF:-origin/main or main}: set BASE_REF for make test-changed and check-changed"
fi
line . "build cache" "$(go env GOCACHE 2>/dev/null)"
line . "disk" "$(df -h . | awk 'NR==2 {print $4 " free"}')"

[ $bad -eq 0 ] || { echo "something needed is missing" >&2; exit 1; }
