package fault

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

type addInput struct {
	Name        string `json:"name" jsonschema:"name of the tool to add; an existing one is replaced"`
	Description string `json:"description,omitempty" jsonschema:"its description"`
}

type removeInput struct {
	Name string `json:"name" jsonschema:"name of the tool to remove"`
}

type changeOutput struct {
	Name    string `json:"name" jsonschema:"name of the tool"`
	Existed bool   `json:"existed" jsonschema:"whether the tool was there before"`
}

func (o changeOutput) String() string { return fmt.Sprintf("%s (existed: %t)", o.Name, o.Existed) }

// addChanging registers the tools that change the list of tools, which clients notice by list_changed.
func addChanging(s *server.MCPServer) {
	toolserver.Add(s, "add_tool", "Add a tool that returns its arguments.", toolserver.Idempotent("Add a tool", false),
		func(ctx context.Context, _ mcp.CallToolRequest, in addInput) (changeOutput, error) {
			if !toolName.MatchString(in.Name) {
				return changeOutput{}, fmt.Errorf("%q is not a tool name: letters, digits, _ and -, at most 64", in.Name)
			}
			if in.Description == "" {
				in.Description = "Return the arguments."
			}
			existed := s.GetTool(in.Name) != nil
			err := announced(ctx, func() { s.AddTools(echoTool(in.Name, in.Description)) })
			return changeOutput{Name: in.Name, Existed: existed}, err
		})
	toolserver.Add(s, "remove_tool", "Remove a tool, also one that was there from the start.", toolserver.Idempotent("Remove a tool", true),
		func(ctx context.Context, _ mcp.CallToolRequest, in removeInput) (changeOutput, error) {
			existed := s.GetTool(in.Name) != nil
			err := announced(ctx, func() { s.DeleteTools(in.Name) })
			return changeOutput{Name: in.Name, Existed: existed}, err
		})
}

const announceTime = 10 * time.Millisecond

// announced makes a change between two short waits, so that its notification is neither lost in a request of the same session that is just
// ending (mcp-go drops it there) nor overtaken by the result.
func announced(ctx context.Context, change func()) error {
	if err := toolserver.Pause(ctx, announceTime); err != nil {
		return err
	}
	change()
	return toolserver.Pause(ctx, announceTime)
}
