package redact

import (
	"sync"

	"github.com/windlass-dev/windlass/libs/envref"
)

// recentKept is how many values are hidden in the logs of a connection.
const recentKept = 256

// Recent are the secrets that a connection's server was given last: it may repeat them outside the calls that had them. The zero value has
// none. It is safe for concurrent use.
type Recent struct {
	mu     sync.Mutex
	values []string // newest last
}

// Add adds secrets.
func (r *Recent) Add(values []string) {
	if len(values) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, values...)
	r.values = append([]string(nil), r.values[max(0, len(r.values)-recentKept):]...)
}

// Hide replaces them in a text.
func (r *Recent) Hide(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.values) == 0 {
		return text
	}
	return envref.Redactor(r.values)(text)
}
