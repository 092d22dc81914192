// Package kinds is the table of the kinds of sources of banks.
package kinds

import (
	"io/fs"

	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/source/docs"
	"github.com/windlass-dev/windlass/services/knowledge/source/fetch"
	"github.com/windlass-dev/windlass/services/knowledge/source/folder"
	"github.com/windlass-dev/windlass/services/knowledge/source/mcp"
	"github.com/windlass-dev/windlass/services/knowledge/source/page"
	"github.com/windlass-dev/windlass/services/knowledge/source/sitemap"
)

// Deps are what kinds need; all are required.
type Deps struct {
	// Client reads pages.
	Client fetch.Client
	// Folders are those that sources may name.
	Folders []string
	// Docs is the documentation of Windlass.
	Docs fs.FS
	// Servers has resources of MCP servers.
	Servers mcp.Servers
}

// Table returns the kinds by their names.
func Table(d Deps) map[string]source.Kind {
	return map[string]source.Kind{
		"docs":    docs.Kind{Files: d.Docs},
		"folder":  folder.Kind{Allowed: d.Folders, MaxBytes: d.Client.MaxBytes},
		mcp.Name:  mcp.Kind{Servers: d.Servers, MaxBytes: d.Client.MaxBytes},
		"sitemap": sitemap.Kind{Client: d.Client},
		"url":     page.Kind{Client: d.Client},
	}
}
