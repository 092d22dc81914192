package lineedit

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxEntries is how many lines a history keeps.
const maxEntries = 500

// History is the lines that were typed, the newest last, in a file that only its user can read. Writing it is best effort.
type History struct {
	path    string
	entries []string
}

// ReadHistory reads a history. An empty path, or one that cannot be read, gives an empty one.
func ReadHistory(path string) *History {
	h := &History{path: path}
	raw, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	lines := bufio.NewScanner(strings.NewReader(string(raw)))
	for lines.Scan() {
		h.keep(lines.Text())
	}
	return h
}

func (h *History) keep(entry string) {
	if entry == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return
	}
	h.entries = append(h.entries, entry)
	h.entries = h.entries[max(0, len(h.entries)-maxEntries):]
}

// Add implements term.History.
func (h *History) Add(entry string) {
	h.keep(entry)
	if h.path == "" || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintln(f, strings.Join(h.entries, "\n")) // best effort
	_ = f.Close()
}

// Len implements term.History.
func (h *History) Len() int { return len(h.entries) }

// At implements term.History.
func (h *History) At(i int) string { return h.entries[len(h.entries)-1-i] }
