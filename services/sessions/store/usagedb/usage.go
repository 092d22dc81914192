// Package usagedb sums up what steps have used.
package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Step is what a step has used, see windlass.turn.v1.Usage.
type Step struct {
	// EndTime is when the step ended; zero: it has used nothing that is counted.
	EndTime time.Time
	// Model answered.
	Model string
	// Input and Output are tokens, Cost is in millionths.
	Input, Output, Cost   int64
	ModelCalls, ToolCalls int64
	// Failed: the result of the call is an error.
	Failed bool
}

// Group is by what usage is grouped.
type Group int

// The groups.
const (
	ByAgent Group = iota + 1
	ByModel
	ByUser
	ByTool
	ByDay
	ByHour
)

// Reader reads usage.
type Reader struct{ rows.Reader }

// Filter selects steps by the time of their end.
type Filter struct {
	Tenant string
	// Owner is whose turns count; empty: everyone's. AgentID is that of the agent; empty: all.
	Owner, AgentID string
	// Since and Until are times in whole microseconds; Until is not part of the period.
	Since, Until time.Time
	Group        Group
	Limit        int
}

// Row is what the steps of a group have used.
type Row struct {
	// Key is the agent, model, user or tool; Time is the beginning of the day or hour.
	Key  string
	Time time.Time
	// Turns counts turns. Failed counts calls for tools, and turns for other groups.
	Turns, Input, Output, Cost, ModelCalls, ToolCalls, Failed int64
}

// keys are what steps s of turns t are grouped by, and which of them count.
var keys = map[Group]struct{ key, only string }{
	ByAgent: {key: "t.agent_id"},
	ByModel: {key: "s.model", only: " AND s.model <> ''"},
	ByUser:  {key: "t.owner"},
	ByTool:  {key: "s.tool", only: " AND s.tool <> ''"},
	ByDay:   {key: fmt.Sprintf("s.ended_us - s.ended_us %% %d", (24 * time.Hour).Microseconds())},
	ByHour:  {key: fmt.Sprintf("s.ended_us - s.ended_us %% %d", time.Hour.Microseconds())},
}

// Usage reads what steps have used: days and hours in their order, other groups by cost, tokens and calls, highest first.
func (s *Reader) Usage(ctx context.Context, f Filter) ([]Row, error) {
	by := keys[f.Group]
	timed := f.Group == ByDay || f.Group == ByHour
	order := "sum(s.cost_micros) DESC, sum(s.input_tokens + s.output_tokens) DESC, sum(s.tool_calls) DESC, " + by.key
	failed := fmt.Sprintf("count(DISTINCT CASE WHEN t.status = %d THEN t.id END)", turnv1.TurnStatus_TURN_STATUS_FAILED)
	if timed {
		order = by.key
	}
	if f.Group == ByTool {
		failed = "CAST(sum(s.failed) AS BIGINT)"
	}
	query := "SELECT " + by.key + `, CAST(sum(s.input_tokens) AS BIGINT), CAST(sum(s.output_tokens) AS BIGINT),
		CAST(sum(s.cost_micros) AS BIGINT), CAST(sum(s.model_calls) AS BIGINT), CAST(sum(s.tool_calls) AS BIGINT), count(DISTINCT t.id), ` +
		failed + ` FROM turn_steps s JOIN turns t ON t.tenant = s.tenant AND t.id = s.turn_id
		WHERE s.tenant = $1 AND s.ended_us > 0 AND s.ended_us >= $2 AND s.ended_us < $3 AND ($4 = '' OR t.owner = $4)
		AND ($5 = '' OR t.agent_id = $5)` + by.only + " GROUP BY " + by.key + " ORDER BY " + order + " LIMIT $6"
	scan := func(s sqldb.Scanner) (u Row, err error) {
		var key any = &u.Key
		if timed {
			key = sqldb.TimeColumn(&u.Time)
		}
		err = s.Scan(key, &u.Input, &u.Output, &u.Cost, &u.ModelCalls, &u.ToolCalls, &u.Turns, &u.Failed)
		return u, err
	}
	return rows.All(ctx, s.DB.Reader(), scan, query, f.Tenant, sqldb.Micros(f.Since), sqldb.Micros(f.Until), f.Owner, f.AgentID, f.Limit)
}
