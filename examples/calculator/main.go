// Command calculator is an MCP tool server for exact arithmetic and unit conversion.
// It speaks MCP over stdio, or over streamable HTTP with --http ADDRESS.
package main

import (
	"flag"

	"github.com/windlass-dev/windlass/examples/calculator/calc"
	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address (port 0 picks one) instead of stdio")
	flag.Parse()
	toolserver.Main(calc.NewServer(), *addr)
}
