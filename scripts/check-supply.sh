#!/bin/sh
# Checks what Windlass is made of: modules are what go.sum says, nothing with a secret was ever committed, licences are ones that we may
# link, and no known vulnerability is called where the database of vulnerabilities can be reached. With the name of a part it runs that part alone.
set -eu

tools=${TOOLS:-bin/tools}
go=${GO:-go}
modules=". examples deploy/temporal"

# checksums compares every file of every module with go.sum.
checksums() {
	for module in $modules; do
		echo "supply: $module: $(GOWORK=off "$go" -C "$module" mod verify)"
	done
}

# written lists the files of all modules with what changes when one of them is written to: its inode and the time of the change, which no program can
# set. So checksums need not read them again.
written() {
	cache=$("$go" env GOMODCACHE)
	for module in $modules; do
		GOWORK=off "$go" -C "$module" list -m -f '{{.Dir}}' all
	done | sort -u | sed -n "s|^$cache/\(.*\)@\(.*\)|&\n$cache/cache/download/\1/@v/\2.zip|p" |
		while read -r path; do [ ! -e "$path" ] || echo "$path"; done |
		xargs -d '\n' -r sh -c 'find "$@" -printf "%p %i %s %T@ %C@\n"' sh | sort
}

# secrets searches every commit. Those that were searched with the same rules before, in any clone of this user, are left out with all before them.
secrets() {
	if ! git rev-parse --git-dir >/dev/null 2>&1; then
		"$tools/gitleaks" dir --no-banner --log-level error --redact --verbose .
		echo "supply: no secrets in the files; their history is not here"
		return
	fi
	folder=${XDG_CACHE_HOME:-${HOME:-}/.cache}/windlass-checks
	searched=$folder/secrets-$(cat "$tools/gitleaks" .gitleaks.toml | sha256sum | cut -d ' ' -f 1)
	known=
	if [ -f "$searched" ]; then
		known=$(while read -r commit; do if git cat-file -e "$commit^{commit}" 2>/dev/null; then echo "$commit"; fi; done <"$searched" | tr '\n' ' ')
	fi
	tips=$(git rev-list --no-walk --all HEAD) # before the search: what comes later is not searched
	# The first options are those of gitleaks without options.
	"$tools/gitleaks" git --no-banner --log-level error --redact --verbose --log-opts="--full-history --all --diff-filter=tuxdb${known:+ --not ${known% }}" .
	# Without its history a commit is not known to be clean.
	if [ -n "${HOME:-}" ] && [ "$(git rev-parse --is-shallow-repository)" = false ] && mkdir -p "$folder" 2>/dev/null; then
		{ printf '%s\n' "$tips"; cat "$searched" 2>/dev/null || true; } | awk '!seen[$0]++' | head -n 100 >"$searched.$$"
		mv "$searched.$$" "$searched"
	fi
	echo "supply: no secrets in $(git rev-list --count --all HEAD) commits"
}

licences() {
	sbom=$(mktemp)
	trap 'rm -f "$sbom"' EXIT
	"$tools/cyclonedx-gomod" mod -json -licenses -noserial -notimestamp -output "$sbom" . 2>/dev/null
	other=$(sed -n 's/.*"id": "\([A-Za-z0-9.-]*\)".*/\1/p' "$sbom" | sort -u |
		grep -vxE 'Apache-2\.0|MIT|ISC|BSD-[234]-Clause|BSD-Source-Code|0BSD|MPL-2\.0|Unlicense' || true)
	if [ -n "$other" ]; then
		echo "supply: licences that nobody has allowed yet; read them, then add them to scripts/check-supply.sh:" $other >&2
		exit 1
	fi
	echo "supply: licences of $(grep -c '"purl"' "$sbom") modules are allowed ones"
}

vulnerabilities() {
	if curl --silent --head --max-time 10 --output /dev/null https://vuln.go.dev/index/db.json; then
		"$tools/govulncheck" ./...
	else
		echo "supply: skipped govulncheck, https://vuln.go.dev cannot be reached"
	fi
}

case ${1:-} in
checksums | licences) "$1"; exit ;;
esac

sums="go.sum examples/go.sum deploy/temporal/go.sum"
files=$(written)
# shellcheck disable=SC2086 # a list of files
if [ -n "$files" ]; then
	printf '%s\n' "$files" | ./scripts/unchanged.sh checksums - $sums scripts/check-supply.sh -- "$0" checksums
else
	checksums # find cannot print
fi
secrets
# shellcheck disable=SC2086
./scripts/unchanged.sh licences go.mod $sums scripts/check-supply.sh "$tools/cyclonedx-gomod" -- "$0" licences
vulnerabilities
