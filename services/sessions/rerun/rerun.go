// Package rerun plans turns that run other turns again, from their beginning or from a model step, with recorded results of tools
// or live ones; it serves the recordings, and compares turns.
package rerun

import (
	"context"
	"log/slog"

	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Agents reads agents.
type Agents interface {
	// Get reads an agent that is not deleted; the revision 0 is the newest.
	Get(ctx context.Context, id string, revision uint32) (store.Agent, error)
	// OfTurn reads the agent at the revision that a turn began with.
	OfTurn(ctx context.Context, t store.Turn) (store.Agent, error)
}

// Deps are what the service needs; all but Models are required.
type Deps struct {
	Store         *store.Store
	Access        access.Reader
	Sessions      *session.Service
	Agents        Agents
	Conversations *conversation.Service
	// Models resolves the models that callers name; without it none is refused.
	Models ModelResolver
	// MaxBytes bounds the conversation that is copied.
	MaxBytes int
	Log      *slog.Logger
}

// Service plans reruns. It is safe for concurrent use.
type Service struct{ deps Deps }

// New makes the service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// pageSize is how many rows one read takes.
const pageSize = 200
