// Command notes is an MCP tool server that keeps notes on disk.
// It speaks MCP over stdio, or over streamable HTTP with --http ADDRESS.
package main

import (
	"flag"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
	"github.com/windlass-dev/windlass/examples/notes/notebook"
)

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address (port 0 picks one) instead of stdio")
	dir := flag.String("dir", ".windlass/notes", "directory of the notes, one file each; created if missing")
	flag.Parse()
	book, err := notebook.Open(*dir)
	if err != nil {
		toolserver.Fail(err)
	}
	defer book.Close()
	toolserver.Main(notebook.NewServer(book), *addr)
}
