// Command conformance is an MCP tool server with what the public conformance suite of MCP expects to find: tools with every kind of
// content, tools that ask, resources and prompts. The suite runs against Windlass in front of it.
// It speaks MCP over stdio, or over streamable HTTP with --http ADDRESS.
package main

import (
	"flag"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/conformance/fixture"
	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address (port 0 picks one) instead of stdio")
	legacy := flag.Bool("legacy", false, "over HTTP, speak only protocols before 2026-07-28")
	flag.Parse()
	var options []server.StreamableHTTPOption
	if *legacy {
		options = append(options, server.WithStreamableHTTPProtocolVersions(mcp.LegacyProtocolVersions()...))
	}
	toolserver.Main(fixture.New(), *addr, options...)
}
