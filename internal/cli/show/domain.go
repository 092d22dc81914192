package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/canon"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
)

// DomainEvent returns the cells of a domain event: time, type, subject, and the fields of its data that are set.
func DomainEvent(m *eventv1.CloudEvent) []string {
	var out []string
	fields := m.GetData().GetFields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[name].AsInterface().(type) {
		case string:
			if v != "" && v != m.GetSubject() {
				out = append(out, name+"="+v)
			}
		case float64:
			if v != 0 {
				out = append(out, name+"="+canon.Number(fields[name]))
			}
		case bool:
			if v {
				out = append(out, name)
			}
		}
	}
	return []string{m.GetTime().AsTime().Local().Format(time.DateTime), m.GetType(), m.GetSubject(), strings.Join(out, " ")}
}

// DomainEvents returns a function that writes events one per line, as text or as JSON.
func DomainEvents(w io.Writer, asJSON bool) func(raw json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if asJSON {
			_, err := fmt.Fprintf(w, "%s\n", raw)
			return err
		}
		m := &eventv1.CloudEvent{}
		if err := codec.UnmarshalKnown(raw, m); err != nil {
			return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
		}
		_, err := fmt.Fprintln(w, output.Line(strings.Join(DomainEvent(m), "  ")))
		return err
	}
}

// When reads a time, or how long ago it was, and returns it as the API has it; false if it is neither.
func When(text string, now time.Time) (string, bool) {
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago.Abs()).UTC().Format(time.RFC3339Nano), true
	}
	_, err := time.Parse(time.RFC3339, text)
	return text, err == nil
}
