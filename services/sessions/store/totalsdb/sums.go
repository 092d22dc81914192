package totalsdb

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Sum is what the turns of an agent that have ended in one way have used with a model.
type Sum struct {
	Use
	Status     turnv1.TurnStatus
	StopReason string
	// first is the Unix time of the first of them in microseconds.
	first int64
}

// Sums are what the turns of all tenants that have ended come to. The three views of them are of one moment.
type Sums []Sum

// Sums adds up the turns of all tenants that have ended.
func (s *Reader) Sums(ctx context.Context) (Sums, error) {
	all, err := sqldb.All(ctx, s.DB.Reader(), func(s sqldb.Scanner) (u Sum, err error) {
		err = s.Scan(&u.Tenant, &u.Agent, &u.Model, &u.Status, &u.StopReason, &u.first, &u.Turns, &u.ModelCalls, &u.ToolCalls,
			&u.Input, &u.Output, &u.CostMicros)
		return u, err
	}, `SELECT tenant, agent_id, model, status, stop_reason, min(first_us), CAST(sum(turns) AS BIGINT), CAST(sum(model_calls) AS BIGINT),
			CAST(sum(tool_calls) AS BIGINT), CAST(sum(input_tokens) AS BIGINT), CAST(sum(output_tokens) AS BIGINT),
			CAST(sum(cost_micros) AS BIGINT)
		FROM ended_totals GROUP BY tenant, agent_id, model, status, stop_reason`)
	return all, rows.Meaning(err)
}

// Total is how many turns have ended in one way.
type Total struct {
	Status     turnv1.TurnStatus
	StopReason string
	Turns      int64
}

// Totals are how many turns have ended, by outcome.
func (s Sums) Totals() []Total {
	totals := map[Total]int64{}
	for _, u := range s {
		if u.Turns > 0 {
			totals[Total{Status: u.Status, StopReason: u.StopReason}] += u.Turns
		}
	}
	all := make([]Total, 0, len(totals))
	for t, n := range totals {
		t.Turns = n
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.StopReason, b.StopReason))
	})
	return all
}

// Cost is what turns with a model have cost, in millionths of the currency of the prices.
type Cost struct {
	Model  string
	Micros int64
}

// Costs are what turns have cost by model, without models that cost nothing.
func (s Sums) Costs() []Cost {
	costs := map[string]int64{}
	for _, u := range s {
		if u.CostMicros > 0 {
			costs[u.Model] += u.CostMicros
		}
	}
	all := make([]Cost, 0, len(costs))
	for _, model := range slices.Sorted(maps.Keys(costs)) {
		all = append(all, Cost{Model: model, Micros: costs[model]})
	}
	return all
}

// Use is what the turns of an agent that have ended have used with a model. Combinations beyond the oldest ones have no names and are one.
type Use struct {
	Tenant, Agent, Model                                    string
	Turns, ModelCalls, ToolCalls, Input, Output, CostMicros int64
}

// add adds what other turns have used.
func (u *Use) add(o Use) {
	u.Turns += o.Turns
	u.ModelCalls += o.ModelCalls
	u.ToolCalls += o.ToolCalls
	u.Input += o.Input
	u.Output += o.Output
	u.CostMicros += o.CostMicros
}

// names returns the combination without what was used.
func (u Use) names() Use { return Use{Tenant: u.Tenant, Agent: u.Agent, Model: u.Model} }

// compareNames orders by tenant, agent and model.
func compareNames(a, b Use) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
}

// Uses are what turns have used by tenant, agent and model: of the oldest combinations, as many as most, and the sum of all others without
// names. What is the sum of others stays in it, so that no number ever falls.
func (s Sums) Uses(most int) []Use {
	first := map[Use]int64{}
	for _, u := range s {
		if at, ok := first[u.names()]; !ok || u.first < at {
			first[u.names()] = u.first
		}
	}
	oldest := slices.SortedFunc(maps.Keys(first), func(a, b Use) int { return cmp.Or(cmp.Compare(first[a], first[b]), compareNames(a, b)) })
	for _, u := range oldest[min(most, len(oldest)):] {
		delete(first, u)
	}
	uses := map[Use]*Use{}
	for _, u := range s {
		names := u.names()
		if _, named := first[names]; !named {
			names = Use{}
		}
		if uses[names] == nil {
			uses[names] = &names
		}
		uses[names].add(u.Use)
	}
	all := make([]Use, 0, len(uses))
	for _, u := range uses {
		all = append(all, *u)
	}
	slices.SortFunc(all, compareNames)
	return all
}
