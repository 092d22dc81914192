package main

import "github.com/windlass-dev/windlass/internal/monitoring"

// monitoringFiles are the dashboards and rules in deploy.
func monitoringFiles() []page {
	write := func(f func() ([]byte, error)) func(*writer, string) error {
		return func(w *writer, _ string) error {
			text, err := f()
			w.Write(text)
			return err
		}
	}
	files := []page{
		{"deploy/prometheus/" + monitoring.RulesFile, write(monitoring.Rules)},
		{"deploy/prometheus/windlass.test.yaml", write(monitoring.RuleTests)},
		{"deploy/prometheus/testdata/samples.prom", write(monitoring.Samples)},
	}
	for _, d := range monitoring.Dashboards() {
		files = append(files, page{"deploy/grafana/" + d.ID + ".json", write(d.JSON)})
	}
	return files
}
