// Package toolserver is the common part of the example tool servers: typed tools with schemas, served over stdio or streamable HTTP.
package toolserver

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Version is the version all example servers announce.
const Version = "0.1.0"

// Handler runs one call. A returned error reaches the model as a result with isError, so its text should say what to do instead; it never
// ends the connection.
type Handler[In any, Out fmt.Stringer] func(ctx context.Context, req mcp.CallToolRequest, in In) (Out, error)

// New returns a server that validates arguments and results against the tools' schemas and announces changes of its tool list.
func New(name, instructions string) *server.MCPServer {
	return server.NewMCPServer(name, Version,
		server.WithInstructions(instructions),
		server.WithToolCapabilities(true),
		server.WithInputSchemaValidation(),
		server.WithOutputSchemaValidation(),
		server.WithRecovery(),
	)
}

// Add registers a tool. Its schemas come from the fields of In and Out (tag jsonschema), its structured
// result is Out and its text is Out's String. A type that has no JSON schema is a programming error and panics.
func Add[In any, Out fmt.Stringer](s *server.MCPServer, name, description string, hints mcp.ToolAnnotation, run Handler[In, Out]) {
	s.AddTools(Tool(name, description, hints, run))
}

// Tool builds the tool that Add registers.
func Tool[In any, Out fmt.Stringer](name, description string, hints mcp.ToolAnnotation, run Handler[In, Out]) server.ServerTool {
	tool := mcp.NewTool(name,
		mcp.WithDescription(description),
		mcp.WithToolAnnotation(hints),
		mcp.WithInputSchema[In](),
		mcp.WithOutputSchema[Out](),
	)
	if tool.RawInputSchema == nil || tool.OutputSchema.Type == "" {
		panic(fmt.Sprintf("tool %q: no JSON schema for its types", name))
	}
	// A Go slice may be nil, but for a model one type is easier to follow than two.
	tool.RawInputSchema = bytes.ReplaceAll(tool.RawInputSchema, []byte(`["null","array"]`), []byte(`"array"`))
	return server.ServerTool{Tool: tool, Handler: mcp.NewTypedToolHandler(
		func(ctx context.Context, req mcp.CallToolRequest, in In) (*mcp.CallToolResult, error) {
			out, err := run(ctx, req, in)
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultStructured(out, out.String()), nil
		})}
}

// ReadOnly marks a tool that changes nothing and may be repeated freely.
func ReadOnly(title string) mcp.ToolAnnotation {
	return hints(title, true, false, true)
}

// Idempotent marks a tool that changes something, but no more when it is repeated.
func Idempotent(title string, destructive bool) mcp.ToolAnnotation {
	return hints(title, false, destructive, true)
}

// Once marks a tool that changes something again each time it is called.
func Once(title string) mcp.ToolAnnotation {
	return hints(title, false, false, false)
}

func hints(title string, readOnly, destructive, idempotent bool) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{
		Title:           title,
		ReadOnlyHint:    new(readOnly),
		DestructiveHint: new(destructive),
		IdempotentHint:  new(idempotent),
		OpenWorldHint:   new(false),
	}
}
