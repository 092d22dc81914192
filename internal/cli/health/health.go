// Package health checks a server, and the machine that is to run one.
package health

import (
	"context"

	"github.com/windlass-dev/windlass/internal/cli/client"
)

// Outcomes of a check.
const (
	OK      = "ok"
	Warning = "warning"
	Broken  = "broken"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`
	// Todo says how to fix it.
	Todo string `json:"todo,omitempty"`
}

// Check checks the server of a client. If it does not answer and its address is on this machine, Check also checks what 'windlass
// up' needs.
func Check(ctx context.Context, c *client.Client, dataDir string) []Finding {
	s := server{c}
	findings := s.checkServer(ctx)
	if findings[0].Outcome == OK {
		findings = append(findings, s.checkReady(ctx)...)
		findings = append(findings, s.checkMemory(ctx)...)
		findings = append(findings, s.checkModels(ctx), s.checkAgents(ctx))
		findings = append(findings, s.checkSources(ctx)...)
	} else if local(c.Server()) {
		findings = append(findings, checkMachine(ctx, dataDir)...)
	}
	return findings
}
