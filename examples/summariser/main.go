// Command summariser is an MCP tool server that summarises documents. The summaries are made by the model of a Windlass mesh; if the mesh
// has none but its scripted one, which is no AI, the server picks sentences of the document instead. Each result says which it was.
// It speaks MCP over stdio, or over streamable HTTP with --http ADDRESS.
package main

import (
	"flag"
	"os"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
	"github.com/windlass-dev/windlass/examples/summariser/summary"
)

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address (port 0 picks one) instead of stdio")
	mesh := flag.String("mesh", "http://127.0.0.1:8080", "base URL of the Windlass gateway whose model makes the summaries; "+
		"the environment variable WINDLASS_TOKEN may hold a bearer token for it")
	agent := flag.String("agent", "summariser", "agent of the mesh that makes the summaries; created if missing")
	dir := flag.String("dir", ".", "folder whose text files summarise_file may read, and nothing outside of it")
	flag.Parse()
	client, err := summary.NewMesh(*mesh, *agent, os.Getenv("WINDLASS_TOKEN"))
	if err != nil {
		toolserver.Fail(err)
	}
	files, err := os.OpenRoot(*dir)
	if err != nil {
		toolserver.Fail(err)
	}
	defer files.Close()
	toolserver.Main(summary.NewServer(client, files), *addr)
}
