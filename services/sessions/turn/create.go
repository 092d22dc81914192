package turn

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/rerun"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Create is a turn that a caller asks for.
type Create struct {
	SessionID string
	// Text or Content is the input.
	Text    string
	Content []*turnv1.ContentPart
	Mode    Mode
	// Tools are those that the caller runs.
	Tools []*store.ClientTool
	// Limits lower those of the agent, nil for none.
	Limits *agentspec.Limits
	// WebhookURL is notified too, "" for none.
	WebhookURL string
	// OutputSchema is the schema of the answer, nil for the agent's.
	OutputSchema *structpb.Struct
	// WithoutMemory has the turn neither read nor write the memory of its user.
	WithoutMemory bool
	// Model is the one to call, "" for the agent's.
	Model string
	Once  store.Once
}

// Create accepts a turn of a session of the caller.
func (s *Service) Create(ctx context.Context, c Create) (View, error) {
	content, err := s.deps.Input.Content(c.Text, c.Content)
	if err != nil {
		return View{}, err
	}
	if err := s.deps.Input.Tools(ctx, c.Tools); err != nil {
		return View{}, err
	}
	if v, ok, err := s.earlier(ctx, c.Once); err != nil || ok {
		return v, err
	}
	ses, err := s.deps.Access.Session(ctx, c.SessionID)
	if err != nil {
		return View{}, err
	}
	if c.Mode != ModeSteer || ses.ActiveTurnID == "" { // what steers is part of a turn that was accepted
		if err := s.load.admit(ctx); err != nil {
			return View{}, err
		}
	}
	if err := s.deps.Webhooks.CheckTurnAddress(ctx, authn.Tenant(ctx), c.WebhookURL); err != nil {
		return View{}, err
	}
	spec := Spec{
		Session: ses, Content: content, Unresolved: true, Mode: c.Mode, Tools: c.Tools, Once: c.Once, Limits: c.Limits, WebhookURL: c.WebhookURL,
		ProviderData: ofRequest(ctx), OutputSchema: c.OutputSchema, WithoutMemory: c.WithoutMemory,
		Model: c.Model,
	}
	if c.Mode == ModeFork {
		if spec.Copy, err = s.deps.Sessions.Copy(ctx, ses, 0, session.Spec{}); err != nil {
			return View{}, err
		}
		spec.Session, spec.Fresh = spec.Copy.Session, true
	}
	return s.Accept(ctx, spec)
}

// Chat is one message to a session.
type Chat struct {
	Message string
	// SessionID is "" for a new session, with AgentID, Params and Banks.
	SessionID, AgentID string
	Params             *structpb.Struct
	Banks              []string
	// WithoutMemory has the turn neither read nor write the memory of its user.
	WithoutMemory bool
	Once          store.Once
}

// Chat accepts a message as a turn of the session, or of a new one that is made with it.
func (s *Service) Chat(ctx context.Context, c Chat) (View, error) {
	content, err := s.deps.Input.Message("message", c.Message)
	if err != nil {
		return View{}, err
	}
	if v, ok, err := s.newWork(ctx, c.Once); err != nil || ok {
		return v, err
	}
	spec := Spec{Content: content, Once: c.Once, Fresh: c.SessionID == "", ProviderData: ofRequest(ctx), WithoutMemory: c.WithoutMemory}
	switch {
	case spec.Fresh:
		spec.Session, err = s.deps.Sessions.New(ctx, session.Spec{AgentID: c.AgentID, Params: c.Params, Banks: c.Banks})
	case c.Params != nil:
		err = fault.Invalid("params", "the session has its params already: leave them out, or open a new session")
	case len(c.Banks) > 0:
		err = fault.Invalid("banks", "the session has its banks already: leave them out, or open a new session")
	default:
		spec.Session, err = s.deps.Access.Session(ctx, c.SessionID)
		if err == nil && c.AgentID != "" && c.AgentID != spec.Session.AgentID {
			err = fault.Invalid("agent_id", "the session is one with agent %q", spec.Session.AgentID)
		}
	}
	if err != nil {
		return View{}, err
	}
	return s.Accept(ctx, spec)
}

// Continue accepts a message as the first turn of a session that begins with messages of another one. branch makes that session.
func (s *Service) Continue(ctx context.Context, message string, once store.Once,
	branch func(context.Context) (*conversation.Copy, error),
) (View, error) {
	content, err := s.deps.Input.Message("message", message)
	if err != nil {
		return View{}, err
	}
	if v, ok, err := s.newWork(ctx, once); err != nil || ok {
		return v, err
	}
	c, err := branch(ctx)
	if err != nil {
		return View{}, err
	}
	return s.Accept(ctx, Spec{
		Session: c.Session, Fresh: true, Copy: c, Content: content, Once: once, ProviderData: ofRequest(ctx),
	})
}

// Rerun accepts a turn that runs another one again, in a session of its own.
func (s *Service) Rerun(ctx context.Context, req rerun.Request, limits *agentspec.Limits, once store.Once) (View, error) {
	if v, ok, err := s.newWork(ctx, once); err != nil || ok {
		return v, err
	}
	p, err := s.deps.Reruns.Plan(ctx, req)
	if err != nil {
		return View{}, err
	}
	return s.Accept(ctx, Spec{
		Session: p.Copy.Session, Fresh: true, Copy: p.Copy, Content: p.Input.GetContent(), FromAgent: p.Input.GetFromAgent(),
		Tainted: p.Input.GetTainted(),
		Tools:   p.ClientTools, OutputSchema: p.OutputSchema, WithoutMemory: p.WithoutMemory, Model: p.Model,
		Rerun: p, Once: once, Limits: limits, ProviderData: ofRequest(ctx),
	})
}

// ofRequest returns the provider data of a caller's request.
func ofRequest(ctx context.Context) providerdata.Sealed {
	return providerdata.Sealed{Bytes: providerdata.Incoming(ctx), Scope: providerdata.OfCaller(authn.From(ctx))}
}
