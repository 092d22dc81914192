package totalsdb

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Use is what the turns of an agent that have ended have used with a model. Combinations beyond the oldest ones have no names and are one.
type Use struct {
	Tenant, Agent, Model                                    string
	Turns, ModelCalls, ToolCalls, Input, Output, CostMicros int64
}

// Uses are what turns that have ended have used by tenant, agent and model: of the oldest combinations, as many as most, and the sum of all
// others without names. What is the sum of others stays in it, so that no number ever falls.
func (s *Reader) Uses(ctx context.Context, most int) ([]Use, error) {
	all, err := sqldb.All(ctx, s.DB.Reader(), func(s sqldb.Scanner) (u Use, err error) {
		err = s.Scan(&u.Tenant, &u.Agent, &u.Model, &u.Turns, &u.ModelCalls, &u.ToolCalls, &u.Input, &u.Output, &u.CostMicros)
		return u, err
	}, `WITH sums AS (SELECT tenant, agent_id, model, min(first_us) AS first_us, sum(turns) AS turns, sum(model_calls) AS model_calls,
			sum(tool_calls) AS tool_calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cost_micros) AS cost_micros
			FROM ended_totals GROUP BY tenant, agent_id, model),
		ranked AS (SELECT sums.*, CASE WHEN row_number() OVER (ORDER BY first_us, tenant, agent_id, model) <= $1 THEN 1 ELSE 0 END AS named
			FROM sums)
		SELECT CASE WHEN named = 1 THEN tenant ELSE '' END, CASE WHEN named = 1 THEN agent_id ELSE '' END,
			CASE WHEN named = 1 THEN model ELSE '' END, CAST(sum(turns) AS BIGINT), CAST(sum(model_calls) AS BIGINT),
			CAST(sum(tool_calls) AS BIGINT), CAST(sum(input_tokens) AS BIGINT), CAST(sum(output_tokens) AS BIGINT),
			CAST(sum(cost_micros) AS BIGINT) FROM ranked GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, int64(most))
	return all, rows.Meaning(err)
}

// Pending is how many things are to be done, and since when the oldest waits, which may be a time to come; zero = none does.
type Pending struct {
	Count  int64
	Oldest int64
}

// ToDeliver are the webhook deliveries that are neither delivered nor given up. The oldest is the one that is due first: deliveries that are
// repeated since their receivers do not answer wait for nothing until then.
func (s *Reader) ToDeliver(ctx context.Context) (Pending, error) {
	return s.pending(ctx, "SELECT count(*), coalesce(min(next_us), 0) FROM webhook_deliveries WHERE status = 0")
}

// ToFire are the times at which a schedule was due whose turn is being started. Those that are queued behind a turn, or since their schedule is
// paused, are not among them: they wait by the owner's choice.
func (s *Reader) ToFire(ctx context.Context) (Pending, error) {
	return s.pending(ctx, "SELECT count(*), coalesce(min(create_us), 0) FROM schedule_fires WHERE pending = 1 AND outcome = 'starting'")
}

func (s *Reader) pending(ctx context.Context, query string) (Pending, error) {
	p, err := sqldb.One(ctx, s.DB.Reader(), func(s sqldb.Scanner) (p Pending, err error) {
		err = s.Scan(&p.Count, &p.Oldest)
		return p, err
	}, query)
	return p, rows.Meaning(err)
}
