package store

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
	"github.com/windlass-dev/windlass/services/sessions/store/usagedb"
)

// Step is one step of a turn and the lease on it.
type Step struct {
	// Tenant, TurnID and Key name it.
	Tenant, TurnID, Key string
	// Tool is set for tool steps.
	Kind turnv1.StepKind
	Tool string
	// Owner holds or held the lease, "" after a release.
	Owner string
	// Fence and Attempt rise with each claim, from 1.
	Fence, Attempt uint32
	// Done steps have an outcome.
	Done bool
	// LeaseExpires is until when the lease holds; StartTime when the newest attempt began.
	LeaseExpires, StartTime time.Time
	// FirstSeq is the seq of step.started.
	FirstSeq uint32
	// MessageID is reserved for what an infer step will write.
	MessageID string
	// Outcome is the windlass.turn.v1.StepOutcome. That of a step that is not done has no more than the attempts of its model calls.
	Outcome []byte
	// Used is what it has used.
	Used usagedb.Step
	// Optimistic: it is assumed to be new. Saving it fails when it is not.
	Optimistic bool
}

// StepOutcome reads the outcome.
func (v Step) StepOutcome() (*turnv1.StepOutcome, error) {
	out := &turnv1.StepOutcome{}
	if err := proto.Unmarshal(v.Outcome, out); err != nil {
		return nil, fmt.Errorf("outcome of step %s: %w", v.Key, err)
	}
	return out, nil
}

const stepColumns = `tenant, turn_id, step_key, kind, tool, owner, fence, attempt, done, lease_expires_us, started_us, first_seq, ` +
	`message_id, outcome, ended_us, model, input_tokens, output_tokens, cost_micros, model_calls, tool_calls, failed`

func scanStep(s sqldb.Scanner) (v Step, err error) {
	var done, failed int64
	err = s.Scan(&v.Tenant, &v.TurnID, &v.Key, (*int32)(&v.Kind), &v.Tool, &v.Owner, &v.Fence, &v.Attempt, &done,
		sqldb.TimeColumn(&v.LeaseExpires),
		sqldb.TimeColumn(&v.StartTime),
		&v.FirstSeq, &v.MessageID, &v.Outcome, sqldb.TimeColumn(&v.Used.EndTime), &v.Used.Model, &v.Used.Input, &v.Used.Output,
		&v.Used.Cost, &v.Used.ModelCalls, &v.Used.ToolCalls, &failed)
	v.Done, v.Used.Failed = done != 0, failed != 0
	return v, err
}

const selectStep = "SELECT " + stepColumns + " FROM turn_steps WHERE tenant = $1 AND turn_id = $2 AND step_key = $3"

// Step reads a step of a turn whose session is locked. ErrNotFound when no worker has claimed it yet.
func (tx *turnTx) Step(ctx context.Context, tenant, turn, key string) (Step, error) {
	return sqldb.One(ctx, tx, scanStep, selectStep, tenant, turn, key)
}

// Step reads a step. ErrNotFound when no worker has claimed it yet.
func (s *turnReader) Step(ctx context.Context, tenant, turn, key string) (Step, error) {
	return rows.One(ctx, s.DB.Reader(), scanStep, selectStep, tenant, turn, key)
}

// Steps reads all steps of a turn in the order in which they were first claimed.
func (s *turnReader) Steps(ctx context.Context, tenant, turn string) ([]Step, error) {
	return rows.All(ctx, s.DB.Reader(), scanStep,
		"SELECT "+stepColumns+" FROM turn_steps WHERE tenant = $1 AND turn_id = $2 ORDER BY first_seq, step_key",
		tenant, turn)
}

// StepsOf reads the steps of one kind of a turn whose session is locked, in the order of Steps.
func (tx *turnTx) StepsOf(ctx context.Context, tenant, turn string, kind turnv1.StepKind) ([]Step, error) {
	return sqldb.All(ctx, tx, scanStep, "SELECT "+stepColumns+` FROM turn_steps WHERE tenant = $1 AND turn_id = $2 AND kind = $3
		ORDER BY first_seq, step_key`, tenant, turn, int64(kind))
}

// ExpiredLeases returns turns with a step whose lease, or backoff, has expired: no worker may have them. Those that expired last come
// first. Only what names the turn and its trace is read.
func (s *turnReader) ExpiredLeases(ctx context.Context, now time.Time, limit int) ([]Turn, error) {
	scan := func(s sqldb.Scanner) (t Turn, err error) {
		err = s.Scan(&t.Tenant, &t.ID, &t.SessionID, &t.AgentID, &t.TraceParent)
		return t, err
	}
	return rows.All(ctx, s.DB.Reader(), scan, `SELECT DISTINCT t.tenant, t.id, t.session_id, t.agent_id, t.trace_parent
		FROM (SELECT tenant, turn_id FROM turn_steps WHERE done = 0 AND lease_expires_us > 0 AND lease_expires_us <= $1
			ORDER BY lease_expires_us DESC LIMIT $2) AS s
		JOIN turns t ON t.tenant = s.tenant AND t.id = s.turn_id WHERE t.end_us = 0`, sqldb.Micros(now), limit)
}

var insertStep = sqldb.Insert("turn_steps", stepColumns) + " ON CONFLICT (tenant, turn_id, step_key) DO "

// SaveStep writes a step, new or not. The turn's session must be locked. ErrNotNew when it was assumed to be new and is not.
func (tx *turnTx) SaveStep(ctx context.Context, v Step) error {
	statement := insertStep + `UPDATE SET owner = excluded.owner, fence = excluded.fence, attempt = excluded.attempt,
		done = excluded.done, lease_expires_us = excluded.lease_expires_us, started_us = excluded.started_us, outcome = excluded.outcome,
		ended_us = excluded.ended_us, model = excluded.model, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
		cost_micros = excluded.cost_micros, model_calls = excluded.model_calls, tool_calls = excluded.tool_calls, failed = excluded.failed`
	if v.Optimistic {
		statement = insertStep + "NOTHING"
	}
	n, err := sqldb.Exec(ctx, tx, statement, v.Tenant, v.TurnID, v.Key, int64(v.Kind), v.Tool, v.Owner, int64(v.Fence), int64(v.Attempt),
		rows.Flag(v.Done), sqldb.Micros(v.LeaseExpires), sqldb.Micros(v.StartTime),
		int64(v.FirstSeq), v.MessageID, v.Outcome, sqldb.Micros(v.Used.EndTime), v.Used.Model, v.Used.Input, v.Used.Output, v.Used.Cost,
		v.Used.ModelCalls, v.Used.ToolCalls, rows.Flag(v.Used.Failed))
	if err == nil && v.Optimistic && n == 0 {
		return ErrNotNew
	}
	return err
}

// RenewStep prolongs a lease without the session's lock: it changes nothing if the fence is stale or the step done, and then
// reports false.
func (tx *turnTx) RenewStep(ctx context.Context, tenant, turn, key string, fence uint32, expires time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, `UPDATE turn_steps SET lease_expires_us = $5
		WHERE tenant = $1 AND turn_id = $2 AND step_key = $3 AND fence = $4 AND done = 0 AND owner <> ''`,
		tenant, turn, key, int64(fence), sqldb.Micros(expires))
	return n == 1, err
}

// ToolsStarted lists the tools of a turn's tool steps in the order in which they were first claimed, with repetitions.
func (tx *turnTx) ToolsStarted(ctx context.Context, tenant, turn string) ([]string, error) {
	return sqldb.All(ctx, tx, sqldb.Column[string], `SELECT tool FROM turn_steps WHERE tenant = $1 AND turn_id = $2 AND tool <> ''
		ORDER BY first_seq`, tenant, turn)
}

// FenceOff ends the leases of all steps of a turn that are not done, so that their holders are refused.
func (tx *turnTx) FenceOff(ctx context.Context, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE turn_steps SET fence = fence + 1, owner = '', lease_expires_us = 0
		WHERE tenant = $1 AND turn_id = $2 AND done = 0`, tenant, turn)
	return err
}
