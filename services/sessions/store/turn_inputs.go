package store

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	storev1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/store/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// The tools of a turn. The messages that are stored are the types that the service works with.
type (
	// PinnedTool is a tool of the turn's surface.
	PinnedTool = storev1.StoredPinnedTool
	// ClientTool is a tool that the client runs.
	ClientTool = storev1.StoredClientTool
	// AgentTool is a sub-agent that the turn can call.
	AgentTool = storev1.StoredAgentTool
)

// TurnInput is what a turn was given.
type TurnInput struct {
	// TurnID names the turn.
	TurnID string
	// Input is the input's text; Principal is who sent it.
	Input     string
	Principal *policyv1.Principal
	// ClientTools are the tools that the client runs.
	ClientTools []*ClientTool
	// OutputSchema is the schema of the answer that its caller set, nil for the agent's.
	OutputSchema *structpb.Struct
	// WithoutMemory means that it neither reads nor writes the memory of its user.
	WithoutMemory bool
	// Model is the one that its caller chose, "" for the agent's.
	Model string
	// Limits are those that its caller set, nil for none.
	Limits *agentspec.Limits
	// Rerun says which turn it runs again, and how, nil for others.
	Rerun *turnv1.TurnRerun
	// ScheduleID is the schedule that began it, "" for others.
	ScheduleID string
}

const turnInputColumns = "turn_id, input, principal, client_tools, limits, rerun, schedule_id"

func scanTurnInput(s sqldb.Scanner) (in TurnInput, err error) {
	var input []byte // a blob, as PostgreSQL's text holds no NUL
	var principal, tools, limits, rerun []byte
	if err := s.Scan(&in.TurnID, &input, &principal, &tools, &limits, &rerun, &in.ScheduleID); err != nil {
		return in, err
	}
	in.Input = string(input)
	stored, errTools := rows.Decode[storev1.StoredTools](tools)
	bounds, errLimits := rows.Decode[storev1.StoredLimits](limits)
	var errPrincipal, errRerun error
	in.Principal, errPrincipal = rows.Decode[policyv1.Principal](principal)
	in.Rerun, errRerun = rows.Decode[turnv1.TurnRerun](rerun)
	if err := errors.Join(errTools, errLimits, errPrincipal, errRerun); err != nil {
		return in, fmt.Errorf("input of turn %s: %w", in.TurnID, err)
	}
	in.ClientTools, in.OutputSchema, in.Limits = stored.GetClientTools(), stored.GetOutputSchema(), agentspec.LimitsOf(bounds)
	in.WithoutMemory, in.Model = stored.GetWithoutMemory(), stored.GetModel()
	return in, nil
}

var insertTurnInputs = sqldb.Insert("turn_inputs", "tenant, "+turnInputColumns)

// AddTurnInput stores what a new turn was given.
func (tx *turnTx) AddTurnInput(ctx context.Context, tenant string, in TurnInput) error {
	var stored *storev1.StoredTools
	if len(in.ClientTools) > 0 || in.OutputSchema != nil || in.WithoutMemory || in.Model != "" {
		stored = &storev1.StoredTools{
			ClientTools: in.ClientTools, OutputSchema: in.OutputSchema, WithoutMemory: in.WithoutMemory, Model: in.Model,
		}
	}
	principal, errPrincipal := rows.Encode(in.Principal)
	tools, errTools := rows.Encode(stored)
	limits, errLimits := rows.Encode(in.Limits.Stored())
	rerun, errRerun := rows.Encode(in.Rerun)
	if err := errors.Join(errPrincipal, errTools, errLimits, errRerun); err != nil {
		return fmt.Errorf("input of turn %s: %w", in.TurnID, err)
	}
	_, err := sqldb.Exec(ctx, tx, insertTurnInputs, tenant, in.TurnID, []byte(in.Input), principal, tools, limits, rerun, in.ScheduleID)
	return err
}

// TurnInputs reads what turns were given, in no order. Unknown turns are left out.
func (s *turnReader) TurnInputs(ctx context.Context, tenant string, turns ...string) ([]TurnInput, error) {
	if len(turns) == 0 {
		return nil, nil
	}
	args := []any{tenant}
	for _, id := range turns {
		args = append(args, id)
	}
	return rows.All(ctx, s.DB.Reader(), scanTurnInput, "SELECT "+turnInputColumns+" FROM turn_inputs WHERE tenant = $1 AND turn_id IN ("+
		sqldb.Placeholders(2, len(turns))+")", args...)
}

// TurnInput reads what a turn was given. ErrNotFound when there is no such turn.
func (tx *turnTx) TurnInput(ctx context.Context, tenant, turn string) (TurnInput, error) {
	return sqldb.One(ctx, tx, scanTurnInput, "SELECT "+turnInputColumns+" FROM turn_inputs WHERE tenant = $1 AND turn_id = $2", tenant, turn)
}

// Surface is what a turn pinned at its start.
type Surface struct {
	Surface *turnv1.Surface
	Tools   []*PinnedTool
	Agents  []*AgentTool
}

var insertTurnSurfaces = sqldb.Insert("turn_surfaces", "tenant, turn_id, surface, tools")

// AddSurface stores what a turn pinned.
func (tx *turnTx) AddSurface(ctx context.Context, tenant, turn string, v Surface) error {
	surface, errSurface := rows.Encode(v.Surface)
	tools, errTools := rows.Encode(&storev1.StoredTools{Tools: v.Tools, AgentTools: v.Agents})
	if err := errors.Join(errSurface, errTools); err != nil {
		return fmt.Errorf("surface of turn %s: %w", turn, err)
	}
	_, err := sqldb.Exec(ctx, tx, insertTurnSurfaces, tenant, turn, surface, tools)
	return err
}

// Surface reads what a turn pinned. ErrNotFound before its start.
func (s *turnReader) Surface(ctx context.Context, tenant, turn string) (Surface, error) {
	return rows.One(ctx, s.DB.Reader(), scanSurface, "SELECT surface, tools FROM turn_surfaces WHERE tenant = $1 AND turn_id = $2", tenant,
		turn)
}

func scanSurface(s sqldb.Scanner) (v Surface, err error) {
	var surface, tools []byte
	if err := s.Scan(&surface, &tools); err != nil {
		return v, err
	}
	pinned, errSurface := rows.Decode[turnv1.Surface](surface)
	stored, errTools := rows.Decode[storev1.StoredTools](tools)
	if err := errors.Join(errSurface, errTools); err != nil {
		return v, fmt.Errorf("surface of a turn: %w", err)
	}
	if v.Surface = pinned; pinned == nil {
		v.Surface = &turnv1.Surface{}
	}
	v.Tools, v.Agents = stored.GetTools(), stored.GetAgentTools()
	return v, nil
}
