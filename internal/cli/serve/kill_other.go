//go:build !unix

package serve

import (
	"log/slog"

	"github.com/windlass-dev/windlass/internal/embedded"
)

// killed returns nil: a process cannot be replaced here.
func killed(*slog.Logger) func(embedded.Ready) { return nil }
