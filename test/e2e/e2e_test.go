// Package e2e tests the real programs from outside: REST and event streams, signals and exit codes.
package e2e

import (
	"strings"

	"github.com/windlass-dev/windlass/test/harness"
)

// invoke calls a tool without an agent.
func invoke(c *harness.Client, tool string, args harness.JSON) harness.JSON {
	return c.Must("POST", "/v1/tools/"+tool+":invoke", harness.JSON{"arguments": args})
}

// text joins the text parts of a content.
func text(content []any) string {
	var b strings.Builder
	for _, c := range content {
		part, _ := c.(map[string]any)
		s, _ := part["text"].(string)
		b.WriteString(s)
	}
	return b.String()
}
