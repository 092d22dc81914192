#!/bin/sh
# Checks what only the real programs can: charts with helm, rules and configuration with promtool.
# What `go test` can check (manifests decode strictly, dashboards name real metrics) is in the tests of deploy/.
set -eu

# Without it, helm takes the cluster for a very old one and refuses charts that say which versions they need.
kube_version=${KUBE_VERSION:-1.36.3}

for chart in deploy/helm/*/Chart.yaml deploy/helm/Chart.yaml; do
	[ -f "$chart" ] || continue
	if ! command -v helm >/dev/null; then
		echo "deploy: skipped charts, helm is not on PATH"
		break
	fi
	dir=$(dirname "$chart")
	helm lint --strict --quiet "$dir"
	for values in "$dir"/values.yaml "$dir"/ci/*.yaml; do
		[ -f "$values" ] || continue
		objects=$(helm template windlass "$dir" --kube-version "$kube_version" --values "$values" | grep -c '^kind:')
		echo "deploy: $dir with $(basename "$values") gives $objects objects"
	done
done

for rules in deploy/prometheus/*.rules.yaml deploy/prometheus/*.rules.yml; do
	[ -f "$rules" ] || continue
	if ! command -v promtool >/dev/null; then
		echo "deploy: skipped Prometheus rules, promtool is not on PATH"
		break
	fi
	promtool check rules "$rules"
done
for tests in deploy/prometheus/*.test.yaml; do
	[ -f "$tests" ] || continue
	command -v promtool >/dev/null || break
	promtool test rules "$tests"
done

# Without promtool: alerts that fire and do not, and the queries of all panels, with Prometheus' own packages, which take a minute to build once.
./scripts/unchanged.sh promcheck deploy/prometheus deploy/grafana tools/promcheck -- \
	env GOWORK=off CGO_ENABLED=0 "${GO:-go}" -C tools/promcheck run . -deploy ../../deploy
