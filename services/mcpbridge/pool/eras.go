package pool

import (
	"sync"

	"github.com/windlass-dev/windlass/services/mcpbridge/connection"
)

// eras remembers a server's era even after it left the pool. The zero value is ready for use.
type eras struct {
	mu    sync.Mutex
	known map[string]connection.Era
}

// erasKept limits the memory; beyond it all eras are forgotten.
const erasKept = 4096

func (e *eras) of(key string) connection.Era {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[key]
}

func (e *eras) remember(key string, value connection.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= erasKept {
		e.known = map[string]connection.Era{}
	}
	e.known[key] = value
}
