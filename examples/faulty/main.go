// Command faulty is an MCP tool server for crash tests: it keeps a ledger of the calls that arrived, and can be slow,
// fail, crash, answer too much and change its tools while it runs.
// It speaks MCP over stdio, or over streamable HTTP with --http ADDRESS.
package main

import (
	"flag"

	"github.com/windlass-dev/windlass/examples/faulty/fault"
	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address (port 0 picks one) instead of stdio")
	path := flag.String("ledger", "", "file that gets one JSON line per call with an effect, when the call arrives")
	flag.Parse()
	ledger, err := fault.OpenLedger(*path)
	if err != nil {
		toolserver.Fail(err)
	}
	defer ledger.Close()
	toolserver.Main(fault.NewServer(ledger), *addr)
}
