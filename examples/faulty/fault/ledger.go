// Package fault serves the tools of the crash tests.
package fault

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// IdempotencyKey is the field of a call's _meta that identifies the call across attempts.
const IdempotencyKey = "windlass/idempotency_key"

// Entry is one line of the ledger: a call that arrived, whatever its result.
type Entry struct {
	CallID         string         `json:"call_id"`
	Argument       string         `json:"argument"`
	Tool           string         `json:"tool"`
	IdempotencyKey string         `json:"idempotency_key"`     // empty when _meta had none
	Header         string         `json:"idempotency_header"`  // the header Idempotency-Key; empty over stdio
	Meta           map[string]any `json:"meta"`                // all of _meta but the progress token
	Cancelled      bool           `json:"cancelled,omitempty"` // no arrival: the caller took back what arrived before
	PID            int            `json:"pid"`
	Time           time.Time      `json:"time"`
}

// Ledger is an append-only file of entries. It survives the process, and several processes may share one.
type Ledger struct {
	file *os.File // nil: nothing is stored
}

// OpenLedger creates the file if it is missing. An empty path gives a ledger that stores nothing.
func OpenLedger(path string) (*Ledger, error) {
	if path == "" {
		return &Ledger{}, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return &Ledger{file: file}, nil
}

// Close closes the file.
func (l *Ledger) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Record appends a line for the call and makes it durable before it returns.
// A call without an id of its own goes by its idempotency key.
func (l *Ledger) Record(req mcp.CallToolRequest, callID, argument string) error {
	return l.record(req, Entry{CallID: callID, Argument: argument})
}

// Cancel appends a line for a call that its caller cancelled.
func (l *Ledger) Cancel(req mcp.CallToolRequest, callID string) error {
	return l.record(req, Entry{CallID: callID, Cancelled: true})
}

func (l *Ledger) record(req mcp.CallToolRequest, entry Entry) error {
	if l.file == nil {
		return nil
	}
	entry.Tool, entry.PID, entry.Time = req.Params.Name, os.Getpid(), time.Now().UTC()
	entry.Header = req.Header.Get("Idempotency-Key")
	if req.Params.Meta != nil {
		entry.Meta = req.Params.Meta.AdditionalFields
		entry.IdempotencyKey, _ = entry.Meta[IdempotencyKey].(string)
	}
	if entry.CallID == "" {
		entry.CallID = entry.IdempotencyKey
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	// One write per line: appends of several processes do not mix.
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// ReadLedger returns the entries of a file in order; a missing file has none.
func ReadLedger(path string) ([]Entry, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	defer file.Close()
	var entries []Entry
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry Entry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("read ledger: line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, entry)
	}
	return entries, lines.Err()
}
