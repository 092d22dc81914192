// Command websearch is an MCP tool server that searches. With --searxng it asks a SearXNG instance, and so the web. Without, it searches a
// small corpus on this machine and says so: nothing then comes from the web.
// It speaks MCP over stdio, or over streamable HTTP with --http ADDRESS.
package main

import (
	"context"
	"flag"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
	"github.com/windlass-dev/windlass/examples/websearch/search"
)

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address (port 0 picks one) instead of stdio")
	dir := flag.String("corpus", "", "folder of .md and .txt files to search; empty = the few pages that come with this program")
	searxng := flag.String("searxng", "", "base URL of a SearXNG instance to search the web with, which must allow format=json")
	flag.Parse()
	engine, err := open(*dir, *searxng)
	if err != nil {
		toolserver.Fail(err)
	}
	defer engine.Close()
	toolserver.Main(search.NewServer(engine), *addr)
}

func open(dir, searxng string) (search.Engine, error) {
	if searxng != "" {
		return search.NewSearXNG(searxng)
	}
	return search.OpenCorpus(context.Background(), dir)
}
