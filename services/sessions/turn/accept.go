package turn

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/telemetry"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
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
	// Unresolved: the files that Content names are to be looked up, and its links fetched, if the turn can be accepted.
	Unresolved bool
	// Tainted: the input may be influenced by content that is not trusted.
	Tainted bool
	Mode    Mode
	// Tools are those that the client runs.
	Tools []*store.ClientTool
	// OutputSchema is the schema of its answer, nil for the agent's.
	OutputSchema *structpb.Struct
	// WithoutMemory has it neither read nor write the memory of its user.
	WithoutMemory bool
	// Model is the one to call, "" for the agent's.
	Model string
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

	// agent is that of the session, credentials are those of ProviderData, granted means that it has a grant, and quota is its user's, nil
	// for no limits.
	agent       store.Agent
	credentials providerdata.Data
	granted     bool
	quota       *policyv1.EffectiveQuota
}

// Accept stores a turn, and has it dispatched if the session has no other active one. If the same request was accepted before, or
// steered the active turn, it returns that turn.
func (s *Service) Accept(ctx context.Context, spec Spec) (View, error) {
	in, err := s.admit(ctx, &spec)
	if err != nil {
		return View{}, err
	}
	drop, err := s.resolve(ctx, &spec)
	if err != nil {
		return View{}, err
	}
	if err := s.deps.Agents.CheckModel(ctx, spec.agent, spec.Session, spec.Content, spec.Model); err != nil {
		drop()
		return View{}, err
	}
	id := spec.newID()
	if spec.granted, err = s.deps.Grants.Create(ctx, id, spec.parent()); err != nil {
		drop()
		return View{}, err
	}
	var t store.Turn
	var earlier string
	var cut interrupted
	var steers bool
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) (err error) {
		cut, steers = interrupted{}, false
		t = store.Turn{
			Tenant: spec.Session.Tenant, ID: id, AgentPath: spec.Path, SessionID: spec.Session.ID, AgentID: spec.Session.AgentID,
			Subject: authn.From(ctx).GetSubject(), Status: turnv1.TurnStatus_TURN_STATUS_QUEUED, CreateTime: tx.Now(),
			CheckTime: tx.Now().Add(s.cfg.LostAfter), TraceParent: telemetry.TraceParent(ctx), Urgent: spec.Mode == ModeInterrupt,
		}
		if earlier, steers, err = s.remember(tx, t, spec); err != nil || earlier != "" {
			return err
		}
		in.TurnID = t.ID
		if len(spec.ProviderData.Bytes) > 0 {
			if t.ProviderData, err = s.deps.ProviderData.Seal(spec.credentials, providerdata.OfTurn(t.Tenant, t.ID)); err != nil {
				return err
			}
		}
		cut, err = s.enqueue(tx, &t, spec, in)
		return err
	})
	if err != nil || earlier != "" && !steers {
		drop()
	}
	if spec.granted && spec.Child == nil && (err != nil || earlier != "") { // that of a sub-agent may be the one of another attempt
		s.deps.Grants.Drop(ctx, spec.Session.Tenant, id)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return View{}, access.NoSession(spec.Session.ID)
	case err != nil:
		return View{}, err
	case earlier != "":
		return s.Read(ctx, t.Tenant, earlier)
	case cut.notify:
		s.deps.Waker.Outbox.Cancel(cut.turn.ID)
	}
	s.deps.Waker.Outbox.Trigger()
	return View{Turn: t, Input: in}, nil
}

// resolve looks up the files of a turn's input, and fetches its links. drop deletes what was fetched; call it if the turn is not accepted.
func (s *Service) resolve(ctx context.Context, spec *Spec) (drop func(), err error) {
	switch {
	case !spec.Unresolved:
		return func() {}, nil
	case spec.Mode == ModeReject && !spec.Fresh && spec.Session.ActiveTurnID != "": // before what takes time
		return nil, errActive(spec.Session.ActiveTurnID)
	}
	spec.Content, drop, err = s.deps.Files.Resolve(ctx, spec.Content)
	return drop, err
}

// admit checks a turn against its agent, opens its credentials and reads its quota. It returns what the turn is given.
func (s *Service) admit(ctx context.Context, spec *Spec) (store.TurnInput, error) {
	in := store.TurnInput{
		Input: conversation.Text(spec.Content), ClientTools: spec.Tools, ScheduleID: spec.ScheduleID, Principal: authn.From(ctx),
		OutputSchema: spec.OutputSchema, WithoutMemory: spec.WithoutMemory, Model: spec.Model,
	}
	agent, err := s.deps.Agents.Get(ctx, spec.Session.AgentID, 0)
	if err != nil {
		return in, session.AgentDeleted(err, spec.Session.AgentID)
	}
	if err := s.deps.Blueprints.CheckTurn(ctx, agent, spec.Session, in.Principal, s.deps.Store.Now()); err != nil {
		return in, err
	}
	if err := checkOutputSchema(agent, spec.OutputSchema); err != nil {
		return in, err
	}
	if spec.Rerun != nil {
		in.Rerun = spec.Rerun.Event
	}
	spec.agent = agent
	if in.Limits, err = s.deps.Limits.CheckTurn(spec.Limits, agent); err != nil {
		return in, err
	}
	if len(spec.ProviderData.Bytes) > 0 {
		if spec.credentials, err = s.deps.ProviderData.Open(spec.ProviderData.Bytes, spec.ProviderData.Scope); err != nil {
			return in, err
		}
	}
	if spec.Child == nil {
		spec.quota, err = s.deps.Quotas.Quota(ctx, in.Principal)
	}
	return in, err
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

// checkOutputSchema checks the schema of the answer that a caller sets for a turn of an agent.
func checkOutputSchema(of store.Agent, schema *structpb.Struct) error {
	if schema == nil {
		return nil
	}
	own := of.Spec
	own.OutputSchema = schema
	if wrong := agent.CheckOutput("", own); len(wrong) > 0 {
		return fault.InvalidFields(wrong)
	}
	return nil
}
