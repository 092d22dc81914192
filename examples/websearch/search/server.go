// Package search is the tool server of the websearch example: one pair of tools over any engine.
package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

// Engine finds pages.
type Engine interface {
	// Name says where results come from, for people and models.
	Name() string
	// Search returns at most limit pages for words, best first.
	Search(ctx context.Context, query string, limit int) ([]Hit, error)
	// Read returns the text of a page that a search has found.
	Read(ctx context.Context, url string) (Page, error)
	// Check returns what was checked, or why the engine cannot work.
	Check(ctx context.Context) (string, error)
	// Close ends it.
	Close()
}

// Hit is a page that was found.
type Hit struct {
	Title   string `json:"title" jsonschema:"title of the page"`
	URL     string `json:"url" jsonschema:"address of the page, for read"`
	Snippet string `json:"snippet" jsonschema:"the place that fits"`
}

// Page is a page with its text.
type Page struct {
	Title string `json:"title" jsonschema:"title of the page"`
	URL   string `json:"url" jsonschema:"address of the page"`
	Text  string `json:"text" jsonschema:"text of the page"`
}

func (p Page) String() string { return p.Title + "\n\n" + p.Text }

// Limits of a search.
const (
	usualHits = 5
	maxHits   = 20
	maxQuery  = 500
)

type searchInput struct {
	Query string `json:"query" jsonschema:"what to look for, in words"`
	Limit int    `json:"limit,omitempty" jsonschema:"at most this many pages, 5 by default, 20 at most"`
}

type readInput struct {
	URL string `json:"url" jsonschema:"address of a page, as search returns it"`
}

type hits struct {
	Hits   []Hit  `json:"hits" jsonschema:"the pages, the best first"`
	Source string `json:"source" jsonschema:"where they come from"`
}

func (h hits) String() string {
	lines := []string{fmt.Sprintf("%d pages from %s", len(h.Hits), h.Source)}
	for i, hit := range h.Hits {
		lines = append(lines, fmt.Sprintf("%d. %s <%s>\n   %s", i+1, hit.Title, hit.URL, hit.Snippet))
	}
	return strings.Join(lines, "\n")
}

// NewServer returns the server.
func NewServer(e Engine) *server.MCPServer {
	s := toolserver.New("websearch", "Searches "+e.Name()+". Say where an answer comes from.")
	toolserver.Add(s, "search", "Search "+e.Name()+" for pages.", toolserver.ReadOnly("Search"),
		func(ctx context.Context, _ mcp.CallToolRequest, in searchInput) (hits, error) {
			if len(strings.Fields(in.Query)) == 0 || len(in.Query) > maxQuery {
				return hits{}, fmt.Errorf("give a query of one or more words, at most %d characters", maxQuery)
			}
			if in.Limit <= 0 {
				in.Limit = usualHits
			}
			found, err := e.Search(ctx, in.Query, min(in.Limit, maxHits))
			if found == nil {
				found = []Hit{}
			}
			return hits{found, e.Name()}, err
		})
	toolserver.Add(s, "read", "Read a page that search has found.", toolserver.ReadOnly("Read a page"),
		func(ctx context.Context, _ mcp.CallToolRequest, in readInput) (Page, error) {
			return e.Read(ctx, in.URL)
		})
	toolserver.AddHealthCheck(s, "websearch", e.Check)
	return s
}
