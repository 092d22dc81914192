// Package rerun plans turns that run other turns again, from their beginning or from a model step, with recorded results of tools or live ones; it serves the
// recordings, and compares turns.
package rerun

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Turns is what reruns need of turns and sessions, as the caller in ctx.
type Turns interface {
	// Turn reads a turn that the caller may see, and its session.
	Turn(ctx context.Context, id string) (store.Turn, store.Session, error)
	// NewSession returns a session that is not stored yet, with the agent and the params of another one where none are given.
	NewSession(ctx context.Context, from store.Session, agentID string, params *structpb.Struct) (store.Session, error)
	// CheckSession returns why the caller cannot see a session, for example because it was deleted.
	CheckSession(ctx context.Context, id string) error
	// CheckModel returns why a model cannot be used, a fault at the field "model". An empty name is no model.
	CheckModel(ctx context.Context, name string) error
}

// Agents reads agents.
type Agents interface {
	// Get reads an agent that is not deleted; the revision 0 is the newest.
	Get(ctx context.Context, id string, revision uint32) (store.Agent, error)
	// OfTurn reads the agent at the revision that a turn began with.
	OfTurn(ctx context.Context, t store.Turn) (store.Agent, error)
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store         *store.Store
	Turns         Turns
	Agents        Agents
	Conversations *conversation.Service
	// MaxBytes bounds the conversation that is copied.
	MaxBytes int
}

// Service plans reruns. It is safe for concurrent use.
type Service struct{ deps Deps }

// New makes the service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// pageSize is how many rows one read takes.
const pageSize = 200

func errNoTurn(id string) error { return fault.NotFound("turn %q does not exist", id) }

// InputOf reads what a turn was given.
func (s *Service) InputOf(ctx context.Context, t store.Turn) (store.TurnInput, error) {
	in, err := s.deps.Store.TurnInputs(ctx, t.Tenant, t.ID)
	if err == nil && len(in) != 1 {
		err = errNoTurn(t.ID) // it was deleted just now
	}
	if err != nil {
		return store.TurnInput{}, err
	}
	return in[0], nil
}

// Of reads how a turn runs another one again, nil when it does not.
func Of(in store.TurnInput) (*turnv1.TurnRerun, error) {
	if len(in.Rerun) == 0 {
		return nil, nil
	}
	out := &turnv1.TurnRerun{}
	if err := proto.Unmarshal(in.Rerun, out); err != nil {
		return nil, fmt.Errorf("rerun of turn %s: %w", in.TurnID, err)
	}
	return out, nil
}
