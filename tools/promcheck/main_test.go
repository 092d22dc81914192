package main

import (
	"strings"
	"testing"
)

// TestDeploy checks the repository's own rules and dashboards.
func TestDeploy(t *testing.T) {
	report, err := check("../../deploy")
	if err != nil {
		t.Error(err)
	}
	t.Log(strings.TrimSpace(report))
}
