// Package child starts the turns of sub-agents, brings their results to the turns that started them, and stops them when those end first.
package child

import (
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/input"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// Deps are what the service needs; all are required.
type Deps struct {
	Store    *store.Store
	Journal  *journal.Journal
	Access   access.Reader
	Agents   *agent.Service
	Sessions *session.Service
	Turns    *turn.Service
	Waits    *wait.Service
	Input    input.Checker
	// OfferResults is how long delivery of a result in the background is retried, counted from the sub-agent's end.
	OfferResults time.Duration
	Log          *slog.Logger
}

// Service manages the turns of sub-agents. It is safe for concurrent use.
type Service struct{ deps Deps }

// New returns a Service.
func New(deps Deps) *Service { return &Service{deps: deps} }
