// Package source says what a kind of sources of a bank is: something that documents are read from, again and again. A kind is a package of
// its own below this one and a line in package kinds.
package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Kind reads sources of one kind. Implementations are safe for concurrent use.
type Kind interface {
	// Check returns a fault unless a source of the kind can be as spec says. It reads nothing.
	Check(spec store.SourceSpec) error
	// Read reports each item that a source has to v, one after the other, and returns v's first error. It returns an *UnreadableError when the
	// source cannot be read, and nil only when it has reported all: what was not reported has vanished.
	Read(ctx context.Context, spec store.SourceSpec, v Visitor) error
}

// Personal is a Kind whose sources are read as the user who created them, with the claims of then: Read gets a context with that principal.
type Personal interface {
	Kind
	// Personal marks the kind.
	Personal()
}

// Visitor takes what a source has. It is used by one goroutine.
type Visitor interface {
	// Total says how many items the source has, once that is known.
	Total(n int)
	// Validator returns the validator of an item as it was found the last time; "" means that it must be read.
	Validator(key string) string
	// Same reports an item that is as it was when it got its validator.
	Same(ctx context.Context, key string) error
	// Found reports an item with its content.
	Found(ctx context.Context, item Item) error
	// Failed reports an item that is there and cannot be read. Its document stays as it is.
	Failed(ctx context.Context, key, problem string) error
}

// Item is something that becomes a document.
type Item struct {
	// Key names it in its source, and Name in the bank.
	Key, Name string
	// MediaType is what the source says it is; "" = by name and content.
	MediaType string
	// Validator is what Visitor.Validator returns the next time.
	Validator string
	// Labels are those that it brings itself, besides the ones in its front matter.
	Labels []string
	// Data is the content.
	Data []byte
}

// UnreadableError means that a source could not be read, which may pass.
type UnreadableError struct {
	// Reason says why, for people.
	Reason string
}

// Error implements error.
func (e *UnreadableError) Error() string { return e.Reason }

// Unreadable returns an *UnreadableError.
func Unreadable(format string, args ...any) error {
	return &UnreadableError{fmt.Sprintf(format, args...)}
}

// Only returns a fault when a field is set that sources of the spec's kind do not have. fields are those that they have and need; a "?"
// behind one means that they do not need it.
func Only(spec store.SourceSpec, fields ...string) error {
	values := map[string]string{"url": spec.URL, "folder": spec.Folder, "mcp_source": spec.MCPSource, "uri": spec.URI}
	for _, field := range fields {
		name, optional := strings.CutSuffix(field, "?")
		if values[name] == "" && !optional {
			return fault.Invalid("source."+name, "is empty, and a source of kind %q needs it", spec.Kind)
		}
		delete(values, name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] != "" {
			return fault.Invalid("source."+name, "is not a field of kind %q", spec.Kind)
		}
	}
	return nil
}
