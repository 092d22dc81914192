package blueprint

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// SessionParams reads the params of a session, nil for none.
func SessionParams(ses store.Session) (*structpb.Struct, error) {
	if ses.Params == "" {
		return nil, nil
	}
	out, err := canon.ParseStruct([]byte(ses.Params))
	if err != nil {
		return nil, fmt.Errorf("params of session %s: %w", ses.ID, err)
	}
	return out, nil
}

// SetSessionParams checks the params of a new session with the agent and sets them.
func SetSessionParams(ctx context.Context, ses *store.Session, a store.Agent, params *structpb.Struct) error {
	params, err := Params(ctx, a, params)
	if err != nil || params == nil {
		return err
	}
	ses.Params = string(canon.StructJSON(params))
	return nil
}

// Resolver resolves agents for the turns of sessions.
type Resolver struct {
	Checker
	// Getenv reads the environment for ${env.*}.
	Getenv func(string) string
}

// CheckTurn returns why an agent cannot be resolved for a turn in a session, a turn of the principal that begins now. The params
// are checked again, as the agent may have changed since the session was made.
func (r Resolver) CheckTurn(ctx context.Context, a store.Agent, ses store.Session, p *policyv1.Principal, now time.Time) error {
	if constant(a, ses) {
		return nil
	}
	params, err := SessionParams(ses)
	if err != nil {
		return err
	}
	if a.Spec.ParamsSchema != nil {
		if params, err = Params(ctx, a, params); err != nil {
			return paramsOutdated(err, a.ID)
		}
	}
	_, problems := r.Resolve(a, Facts{
		SessionID: cmp.Or(ses.ID, "ses_new"), TurnID: "trn_new", Time: now, Params: params, Principal: p, Getenv: r.Getenv,
	})
	if len(problems) > 0 {
		return unresolvable(a.ID, problems)
	}
	return nil
}

// Resolved is an agent as a turn runs with it.
type Resolved struct {
	Spec agentspec.Spec
	// Params are the session's, with the defaults of the agent's schema.
	Params *structpb.Struct
	// ExecutorSealed: the executor's texts are sealed for the worker.
	ExecutorSealed bool
	// Unresolved is why the agent cannot be resolved, nil if it is. It is no error of ResolveTurn: a turn must be able to end with it.
	Unresolved *fault.Error
}

// ResolveTurn resolves the agent of a turn of the principal.
func (r Resolver) ResolveTurn(ctx context.Context, a store.Agent, t store.Turn, ses store.Session, p *policyv1.Principal) (Resolved,
	error,
) {
	out := Resolved{Spec: a.Spec}
	if constant(a, ses) {
		return out, nil
	}
	var err error
	if out.Params, err = SessionParams(ses); err != nil {
		return out, err
	}
	if a.Spec.ParamsSchema != nil {
		params, err := Params(ctx, a, out.Params)
		if err != nil {
			out.Unresolved = fault.From(paramsOutdated(err, a.ID))
			return out, nil
		}
		out.Params = params
	}
	out.ExecutorSealed = ExecutorNeeded(a.Spec)
	var problems []string
	out.Spec, problems = r.Resolve(a, Facts{
		SessionID: ses.ID, TurnID: t.ID, Time: t.CreateTime, Params: out.Params, Principal: p, Getenv: r.Getenv,
	})
	if len(problems) > 0 {
		out.Unresolved = unresolvable(a.ID, problems)
	}
	return out, nil
}

// constant reports whether an agent is the same for all turns of a session.
func constant(a store.Agent, ses store.Session) bool {
	return ses.Params == "" && a.Spec.ParamsSchema == nil && !Needed(a.Spec)
}

// paramsOutdated says that a session's params do not fit its agent any more.
func paramsOutdated(err error, agent string) error {
	if !fault.Is(err, faultv1.Reason_REASON_INVALID_ARGUMENT) {
		return err
	}
	return fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "the session's params do not fit agent %q any more: %s", agent,
		fault.From(err).Message).
		Hint("Open a session with other params, or fork this one with them.")
}

func unresolvable(agent string, problems []string) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "agent %q cannot be resolved: %s", agent,
		strings.Join(problems, "; ")).
		Hint("Give the session the param, the caller the claim or the configuration the variable that is named, or change the agent.")
}
