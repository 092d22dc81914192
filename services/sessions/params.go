package sessions

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// paramsOf reads a session's params, nil when it has none.
func paramsOf(ses store.Session) (*structpb.Struct, error) {
	if ses.Params == "" {
		return nil, nil
	}
	out := &structpb.Struct{}
	if err := protojson.Unmarshal([]byte(ses.Params), out); err != nil {
		return nil, fmt.Errorf("params of session %s: %w", ses.ID, err)
	}
	return out, nil
}

// giveParams checks the params of a new session and stores them in it.
func giveParams(ctx context.Context, ses *store.Session, a *sessionsv1.Agent, params *structpb.Struct) error {
	params, err := blueprint.Params(ctx, a, params)
	if err != nil || params == nil {
		return err
	}
	text, err := protojson.Marshal(params)
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	ses.Params = string(text)
	return nil
}

// checkResolvable refuses, before anything is stored, what an agent cannot be resolved for: a turn of the caller's in this session. The params are
// checked again, as the agent may have changed since the session was made.
func (s *Service) checkResolvable(ctx context.Context, a *sessionsv1.Agent, ses store.Session) error {
	if ses.Params == "" && a.GetParamsSchema() == nil && !blueprint.Needed(a) {
		return nil
	}
	params, err := paramsOf(ses)
	if err != nil {
		return err
	}
	if a.GetParamsSchema() != nil {
		if params, err = blueprint.Params(ctx, a, params); err != nil {
			return paramsOutdated(err, a.GetId())
		}
	}
	problems := s.checker.Resolve(proto.CloneOf(a), s.facts(cmp.Or(ses.ID, "ses_new"), "trn_new", s.store.NowUs(), params, authn.From(ctx)))
	if len(problems) > 0 {
		return unresolvable(a.GetId(), problems)
	}
	return nil
}

// paramsOutdated says that a session's params do not fit its agent any more.
func paramsOutdated(err error, agent string) error {
	if !fault.Is(err, faultv1.Reason_REASON_INVALID_ARGUMENT) {
		return err
	}
	return fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "the session's params do not fit agent %q any more: %s", agent, fault.From(err).Message).
		Hint("Open a session with other params, or fork this one with them.")
}

func unresolvable(agent string, problems []string) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "agent %q cannot be resolved: %s", agent, strings.Join(problems, "; ")).
		Hint("Give the session the param, the caller the claim or the configuration the variable that is named, or change the agent.")
}

func (s *Service) facts(session, turn string, us int64, params *structpb.Struct, p *policyv1.Principal) blueprint.Facts {
	return blueprint.Facts{SessionID: session, TurnID: turn, Time: time.UnixMicro(us), Params: params, Principal: p, Getenv: s.getenv}
}

// resolveBlueprint makes the agent of a loaded turn the one that the turn runs with. What cannot be resolved is told in the answer: a turn must be able to
// end with it.
func (s *Service) resolveBlueprint(ctx context.Context, out *sessionsv1.LoadTurnResponse, t store.Turn, ses store.Session) error {
	a := out.GetAgent()
	if ses.Params == "" && a.GetParamsSchema() == nil && !blueprint.Needed(a) {
		return nil
	}
	var err error
	if out.Params, err = paramsOf(ses); err != nil {
		return err
	}
	if a.GetParamsSchema() != nil {
		var params *structpb.Struct
		if params, err = blueprint.Params(ctx, a, out.GetParams()); err != nil {
			out.Unresolved = turnErrorOf(paramsOutdated(err, a.GetId()))
			return nil
		}
		out.Params = params
	}
	out.ExecutorSealed = blueprint.ExecutorNeeded(a)
	if problems := s.checker.Resolve(a, s.facts(ses.ID, t.ID, t.CreateUs, out.GetParams(), out.GetPrincipal())); len(problems) > 0 {
		out.Unresolved = turnErrorOf(unresolvable(a.GetId(), problems))
	}
	return nil
}

func turnErrorOf(err error) *turnv1.TurnError {
	f := fault.From(err)
	return &turnv1.TurnError{Code: fault.CodeName(f.Reason), Message: f.Text()}
}
