// Package sealedresult keeps results of tool calls that are not to be read where they are stored: those that shields check, and may redact
// or withhold, before they are shown.
package sealedresult

import (
	"context"
	"fmt"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
)

// Metadata is the gRPC metadata key by which a worker asks for the result of its call to be sealed.
const Metadata = "windlass-seal-result"

// Ask returns a context whose calls ask for their results to be sealed.
func Ask(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, Metadata, "true")
}

// Asked reports whether the call of this handler asks for its result to be sealed.
func Asked(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, Metadata)) > 0
}

// mark begins sealed results. No message begins with it: there is no field 0.
const mark = 0

// Is reports whether a stored result is sealed.
func Is(stored []byte) bool { return len(stored) > 0 && stored[0] == mark }

// Sealer seals and opens results with a key that all processes of the mesh share. The nil Sealer has no key: it stores none.
type Sealer struct{ box *seal.Box }

// New returns a Sealer. The key must have at least 32 bytes.
func New(key secret.Value) (*Sealer, error) {
	box, err := seal.New(key)
	if err != nil {
		return nil, fmt.Errorf("build the sealer of results: %w", err)
	}
	return &Sealer{box}, nil
}

// Seal seals the result of an execution.
func (s *Sealer) Seal(result []byte, execution string) []byte {
	if s == nil {
		return []byte{mark}
	}
	return append([]byte{mark}, s.box.Seal(secret.New(string(result)), owner(execution))...)
}

// Open opens a stored result; one that is not sealed is returned as it is.
func (s *Sealer) Open(stored []byte, execution string) ([]byte, error) {
	if !Is(stored) {
		return stored, nil
	}
	if s == nil {
		return nil, fmt.Errorf("the result of %s is sealed, and there is no key", execution)
	}
	result, err := s.box.Open(stored[1:], owner(execution))
	if err != nil {
		return nil, fmt.Errorf("the result of %s cannot be opened: %w", execution, err)
	}
	return []byte(result.Reveal()), nil
}

func owner(execution string) string { return "result of " + execution }
