package toolserver

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// NoArguments is the input of a tool that takes none.
type NoArguments struct{}

// Health is the answer of a health_check tool.
type Health struct {
	Status  string `json:"status" jsonschema:"always ok; a server that is not answers with an error"`
	Server  string `json:"server" jsonschema:"name of this tool server"`
	Version string `json:"version" jsonschema:"version of this tool server"`
	Detail  string `json:"detail,omitempty" jsonschema:"what was checked"`
}

func (h Health) String() string {
	text := fmt.Sprintf("%s %s is %s", h.Server, h.Version, h.Status)
	if h.Detail != "" {
		text += ": " + h.Detail
	}
	return text
}

// AddHealthCheck registers the health_check tool. check returns what it checked, or why the server cannot work; nil checks nothing.
func AddHealthCheck(s *server.MCPServer, name string, check func(context.Context) (string, error)) {
	Add(s, "health_check",
		"Report whether this tool server works. For operators and monitoring; not needed to answer a user.",
		ReadOnly("Health check"),
		func(ctx context.Context, _ mcp.CallToolRequest, _ NoArguments) (Health, error) {
			h := Health{Status: "ok", Server: name, Version: Version}
			if check == nil {
				return h, nil
			}
			var err error
			if h.Detail, err = check(ctx); err != nil {
				return Health{}, fmt.Errorf("%s is not healthy: %w", name, err)
			}
			return h, nil
		})
}
