#!/bin/sh
# Checks what Windlass is made of: modules are what go.sum says, nothing with a secret was ever committed, licences are ones that we may
# link, and no known vulnerability is called where the database of vulnerabilities can be reached.
set -eu

tools=${TOOLS:-bin/tools}
sbom=$(mktemp)
trap 'rm -f "$sbom"' EXIT

for module in . examples deploy/temporal; do
	echo "supply: $module: $(GOWORK=off go -C "$module" mod verify)"
done

if git rev-parse --git-dir >/dev/null 2>&1; then
	"$tools/gitleaks" git --no-banner --log-level error --redact --verbose .
	echo "supply: no secrets in $(git rev-list --count HEAD) commits"
else
	"$tools/gitleaks" dir --no-banner --log-level error --redact --verbose .
	echo "supply: no secrets in the files; their history is not here"
fi

"$tools/cyclonedx-gomod" mod -json -licenses -noserial -notimestamp -output "$sbom" . 2>/dev/null
other=$(sed -n 's/.*"id": "\([A-Za-z0-9.-]*\)".*/\1/p' "$sbom" | sort -u |
	grep -vxE 'Apache-2\.0|MIT|ISC|BSD-[234]-Clause|BSD-Source-Code|0BSD|MPL-2\.0|Unlicense' || true)
if [ -n "$other" ]; then
	echo "supply: licences that nobody has allowed yet; read them, then add them to scripts/check-supply.sh:" $other >&2
	exit 1
fi
echo "supply: licences of $(grep -c '"purl"' "$sbom") modules are allowed ones"

if curl --silent --head --max-time 10 --output /dev/null https://vuln.go.dev/index/db.json; then
	"$tools/govulncheck" ./...
else
	echo "supply: skipped govulncheck, https://vuln.go.dev cannot be reached"
fi
