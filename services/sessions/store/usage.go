package store

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// StepUsage is what a step has used, see windlass.turn.v1.Usage.
type StepUsage struct {
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

// UsageGroup is by what usage is grouped.
type UsageGroup int

// The groups.
const (
	UsageByAgent UsageGroup = iota + 1
	UsageByModel
	UsageByUser
	UsageByTool
	UsageByDay
	UsageByHour
)

// UsageFilter selects steps by the time of their end.
type UsageFilter struct {
	Tenant string
	// Owner is whose turns count; empty: everyone's. AgentID is that of the agent; empty: all.
	Owner, AgentID string
	// Since and Until are times in whole microseconds; Until is not part of the period.
	Since, Until time.Time
	Group        UsageGroup
	Limit        int
}

// Usage is what the steps of a group have used.
type Usage struct {
	// Key is the agent, model, user or tool; Time is the beginning of the day or hour.
	Key  string
	Time time.Time
	// Turns counts turns. Failed counts calls for tools, and turns for other groups.
	Turns, Input, Output, Cost, ModelCalls, ToolCalls, Failed int64
}

// usageKeys are what steps s of turns t are grouped by, and which of them count.
var usageKeys = map[UsageGroup]struct{ key, only string }{
	UsageByAgent: {key: "t.agent_id"},
	UsageByModel: {key: "s.model", only: " AND s.model <> ''"},
	UsageByUser:  {key: "t.owner"},
	UsageByTool:  {key: "s.tool", only: " AND s.tool <> ''"},
	UsageByDay:   {key: fmt.Sprintf("s.ended_us - s.ended_us %% %d", (24 * time.Hour).Microseconds())},
	UsageByHour:  {key: fmt.Sprintf("s.ended_us - s.ended_us %% %d", time.Hour.Microseconds())},
}

// Usage reads what steps have used: days and hours in their order, other groups by cost, tokens and calls, highest first.
func (s *turnReader) Usage(ctx context.Context, f UsageFilter) ([]Usage, error) {
	by := usageKeys[f.Group]
	timed := f.Group == UsageByDay || f.Group == UsageByHour
	order := "sum(s.cost_micros) DESC, sum(s.input_tokens + s.output_tokens) DESC, sum(s.tool_calls) DESC, " + by.key
	failed := fmt.Sprintf("count(DISTINCT CASE WHEN t.status = %d THEN t.id END)", turnv1.TurnStatus_TURN_STATUS_FAILED)
	if timed {
		order = by.key
	}
	if f.Group == UsageByTool {
		failed = "CAST(sum(s.failed) AS BIGINT)"
	}
	query := "SELECT " + by.key + `, CAST(sum(s.input_tokens) AS BIGINT), CAST(sum(s.output_tokens) AS BIGINT),
		CAST(sum(s.cost_micros) AS BIGINT), CAST(sum(s.model_calls) AS BIGINT), CAST(sum(s.tool_calls) AS BIGINT), count(DISTINCT t.id), ` +
		failed + ` FROM turn_steps s JOIN turns t ON t.tenant = s.tenant AND t.id = s.turn_id
		WHERE s.tenant = $1 AND s.ended_us > 0 AND s.ended_us >= $2 AND s.ended_us < $3 AND ($4 = '' OR t.owner = $4)
		AND ($5 = '' OR t.agent_id = $5)` + by.only + " GROUP BY " + by.key + " ORDER BY " + order + " LIMIT $6"
	scan := func(s sqldb.Scanner) (u Usage, err error) {
		var key any = &u.Key
		if timed {
			key = sqldb.TimeColumn(&u.Time)
		}
		err = s.Scan(key, &u.Input, &u.Output, &u.Cost, &u.ModelCalls, &u.ToolCalls, &u.Turns, &u.Failed)
		return u, err
	}
	return rows.All(ctx, s.DB.Reader(), scan, query, f.Tenant, sqldb.Micros(f.Since), sqldb.Micros(f.Until), f.Owner, f.AgentID, f.Limit)
}
