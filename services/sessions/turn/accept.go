package turn

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/telemetry"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Mode says what a new turn does about an active one. The empty mode, and any other, queues behind it.
type Mode string

// The modes that do not queue.
const (
	ModeReject    Mode = "reject"
	ModeInterrupt Mode = "interrupt"
	ModeFork      Mode = "fork"
	ModeSteer     Mode = "steer"
)

// Spec is a turn to accept.
type Spec struct {
	Session store.Session
	// Fresh: the session is made with the turn; Copy is what it begins with, nil for nothing.
	Fresh bool
	Copy  *conversation.Copy
	// Content is the input; FromAgent is the agent whose answer it is, "" for what people say.
	Content   []*turnv1.ContentPart
	FromAgent string
	// Tainted: the input may be influenced by content that is not trusted.
	Tainted bool
	Mode    Mode
	// Tools are those that the client runs.
	Tools []*store.ClientTool
	// Limits are those that the caller sets, nil for none.
	Limits *agentspec.Limits
	Once   store.Once
	// Child is the sub-agent's turn that it is, nil for a user's; Path are then all agents down to it.
	Child *store.Child
	Path  string
	// Rerun is what it takes over from the turn that it runs again, nil for others.
	Rerun *rerun.Plan
	// WebhookURL is notified of its end, "" for none.
	WebhookURL string
	// ScheduleID is the schedule that starts it, "" for others.
	ScheduleID string
	// ProviderData are the credentials of the request.
	ProviderData providerdata.Sealed
	// CallbackOf is the turn of the sub-agent in the background whose result it brings, "" for others.
	CallbackOf string

	granted bool                     // it has a grant
	quota   *policyv1.EffectiveQuota // of its user, nil for no limits
}

// Accept stores a turn, and has it dispatched if the session has no other active one. If the same request was accepted before, or
// steered the active turn, it returns that turn.
func (s *Service) Accept(ctx context.Context, spec Spec) (View, error) {
	in, err := inputOf(ctx, s, spec)
	if err != nil {
		return View{}, err
	}
	credentials, err := credentialsOf(s.deps.ProviderData, spec)
	if err != nil {
		return View{}, err
	}
	if spec.Child == nil {
		if spec.quota, err = s.deps.Quotas.Quota(ctx, authn.From(ctx)); err != nil {
			return View{}, err
		}
	}
	id := spec.newID()
	if spec.granted, err = s.deps.Grants.Create(ctx, id, spec.parent()); err != nil {
		return View{}, err
	}
	var t store.Turn
	var earlier string
	var cut interrupted
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		t, earlier, cut = s.newTurn(tx, id, spec), "", interrupted{}
		if steered, err := s.steerActive(tx, spec); err != nil || steered != "" {
			earlier = steered
			return err
		}
		once := spec.Once
		once.TurnID = t.ID
		first, added, err := s.deps.Keys.Remember(tx, once)
		if err != nil || !added {
			earlier = first.TurnID
			return err
		}
		in.TurnID = t.ID
		if t.ProviderData, err = credentials(t); err != nil {
			return err
		}
		cut, err = s.add(tx, &t, spec, in)
		return err
	})
	if spec.granted && spec.Child == nil && (err != nil || earlier != "") { // that of a sub-agent may be the one of another attempt
		s.deps.Grants.Drop(ctx, spec.Session.Tenant, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoSession(spec.Session.ID)
	}
	if err != nil {
		return View{}, err
	}
	if earlier != "" {
		return s.Read(ctx, t.Tenant, earlier)
	}
	if cut.notify {
		s.deps.Waker.Outbox.Cancel(cut.turn.ID)
	}
	s.deps.Waker.Outbox.Trigger()
	return View{Turn: t, Input: in}, nil
}

// inputOf checks a turn to accept against its agent, and returns what it is given.
func inputOf(ctx context.Context, s *Service, spec Spec) (store.TurnInput, error) {
	in := store.TurnInput{
		Input: conversation.Text(spec.Content), ClientTools: spec.Tools, ScheduleID: spec.ScheduleID, Principal: authn.From(ctx),
	}
	agent, err := s.deps.Agents.Get(ctx, spec.Session.AgentID, 0)
	if err != nil {
		return in, session.AgentDeleted(err, spec.Session.AgentID)
	}
	if err := s.deps.Blueprints.CheckTurn(ctx, agent, spec.Session, authn.From(ctx), s.deps.Store.Now()); err != nil {
		return in, err
	}
	if spec.Rerun != nil {
		in.Rerun = spec.Rerun.Event
	}
	in.Limits, err = s.deps.Limits.CheckTurn(spec.Limits, agent)
	return in, err
}

// credentialsOf opens the provider data of a request, and returns what seals it for a turn.
func credentialsOf(sealer *providerdata.Sealer, spec Spec) (func(store.Turn) ([]byte, error), error) {
	if len(spec.ProviderData.Bytes) == 0 {
		return func(store.Turn) ([]byte, error) { return nil, nil }, nil
	}
	d, err := sealer.Open(spec.ProviderData.Bytes, spec.ProviderData.Scope)
	if err != nil {
		return nil, err
	}
	return func(t store.Turn) ([]byte, error) {
		return sealer.Seal(d, providerdata.OfTurn(t.Tenant, t.ID))
	}, nil
}

// add stores a turn with what it follows from.
func (s *Service) add(tx *journal.Tx, t *store.Turn, spec Spec, in store.TurnInput) (interrupted, error) {
	if spec.granted {
		if err := s.deps.Grants.Keep(tx, *t); err != nil {
			return interrupted{}, err
		}
	}
	if spec.CallbackOf != "" {
		if err := tx.SetCallback(tx.Context(), t.Tenant, spec.CallbackOf, t.ID); err != nil {
			return interrupted{}, err
		}
	}
	if err := requester.Inherit(tx, *t, spec.follows()...); err != nil {
		return interrupted{}, err
	}
	return s.enqueue(tx, t, spec, in)
}

// follows lists the turns that a turn follows from.
func (spec Spec) follows() (turns []string) {
	if spec.Child != nil {
		turns = append(turns, spec.Child.ParentTurnID)
	}
	if spec.Rerun != nil {
		turns = append(turns, spec.Rerun.Event.GetOfTurn())
	}
	if spec.CallbackOf != "" {
		turns = append(turns, spec.CallbackOf)
	}
	return turns
}

// newID returns the ID of a turn to be.
func (spec Spec) newID() string {
	if spec.Child != nil {
		return spec.Child.TurnID
	}
	return ids.New(ids.Turn)
}

// parent is the turn whose grant the turn's is like, "" for none.
func (spec Spec) parent() string {
	if spec.Child != nil {
		return spec.Child.ParentTurnID
	}
	return spec.CallbackOf
}

func (s *Service) newTurn(tx *journal.Tx, id string, spec Spec) store.Turn {
	ctx := tx.Context()
	return store.Turn{
		Tenant: spec.Session.Tenant, ID: id, AgentPath: spec.Path, SessionID: spec.Session.ID, AgentID: spec.Session.AgentID,
		Subject: authn.From(ctx).GetSubject(), Status: turnv1.TurnStatus_TURN_STATUS_QUEUED, CreateTime: tx.Now(),
		CheckTime: tx.Now().Add(s.cfg.LostAfter), TraceParent: telemetry.TraceParent(ctx), Urgent: spec.Mode == ModeInterrupt,
	}
}
