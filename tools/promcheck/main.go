// Command promcheck checks Prometheus rules and Grafana dashboards with Prometheus' own code, where promtool is not at hand: rules parse, their
// tests (in promtool's format) hold, and the queries of dashboards and rules parse and have data in samples of a mesh.
//
//	go run . -deploy ../../deploy
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	deploy := flag.String("deploy", "deploy", "folder with prometheus and grafana")
	flag.Parse()
	report, err := check(*deploy)
	fmt.Print(report)
	if err != nil {
		fmt.Fprintln(os.Stderr, "promcheck:", err)
		os.Exit(1)
	}
}

// check checks all files below a folder.
func check(deploy string) (string, error) {
	prometheus := filepath.Join(deploy, "prometheus")
	tests, testErr := ruleTests(filepath.Join(prometheus, "windlass.test.yaml"))
	panels, queries, panelErr := dashboards(filepath.Join(deploy, "grafana"), filepath.Join(prometheus, "testdata", "samples.prom"))
	return fmt.Sprintf("promcheck: %d tests of alerts, %d panels with %d queries\n", tests, panels, queries), errors.Join(testErr, panelErr)
}
