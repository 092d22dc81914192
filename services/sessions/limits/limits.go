// Package limits bounds turns: by the limits of the mesh, of the agent, and of the one turn.
package limits

import (
	"cmp"
	"strconv"

	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
)

// Limits are limits of a turn. Zero fields stand for no limit, or for one that is not set.
type Limits struct {
	MaxSteps          uint32       `yaml:"max_steps" doc:"Maximum number of model steps."`
	MaxTokens         int32        `yaml:"max_tokens" doc:"Maximum number of input and output tokens of a turn; 0 = no limit."`
	MaxParallelTools  uint32       `yaml:"max_parallel_tools" doc:"Maximum number of tool calls that run at the same time."`
	MaxIdenticalCalls uint32       `yaml:"max_identical_calls" doc:"Maximum number of identical tool calls in a row."`
	TurnSeconds       uint32       `yaml:"turn_seconds" doc:"Time limit of a turn in seconds."`
	MaxToolCalls      uint32       `yaml:"max_tool_calls" doc:"Maximum number of tool calls of a turn; 0 = no limit."`
	MaxCost           money.Micros `yaml:"max_cost" doc:"Maximum cost of the model calls of a turn, for example 0.25; 0 = no limit."`
}

// Of reads limits as they were written, nil for none. Only the cost can be wrong; then it is left out.
func Of(s *agentspec.Limits) (Limits, error) {
	if s == nil {
		return Limits{}, nil
	}
	cost, err := money.Parse(s.MaxCost)
	return Limits{
		MaxSteps: s.MaxSteps, MaxTokens: s.MaxTokens, MaxParallelTools: s.MaxParallelTools, MaxIdenticalCalls: s.MaxIdenticalCalls,
		TurnSeconds: s.TurnSeconds, MaxToolCalls: s.MaxToolCalls, MaxCost: cost,
	}, err
}

// Spec writes the limits as Of reads them.
func (l Limits) Spec() *agentspec.Limits {
	out := &agentspec.Limits{
		MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxParallelTools: l.MaxParallelTools, MaxIdenticalCalls: l.MaxIdenticalCalls,
		TurnSeconds: l.TurnSeconds, MaxToolCalls: l.MaxToolCalls,
	}
	if l.MaxCost > 0 {
		out.MaxCost = l.MaxCost.String()
	}
	return out
}

// Or returns the limits with those of d where they are not set.
func (l Limits) Or(d Limits) Limits {
	return Limits{
		MaxSteps: cmp.Or(l.MaxSteps, d.MaxSteps), MaxTokens: cmp.Or(l.MaxTokens, d.MaxTokens),
		MaxParallelTools: cmp.Or(l.MaxParallelTools, d.MaxParallelTools), MaxIdenticalCalls: cmp.Or(l.MaxIdenticalCalls, d.MaxIdenticalCalls),
		TurnSeconds: cmp.Or(l.TurnSeconds, d.TurnSeconds), MaxToolCalls: cmp.Or(l.MaxToolCalls, d.MaxToolCalls),
		MaxCost: cmp.Or(l.MaxCost, d.MaxCost),
	}
}

// Lowered returns the lower one of each limit.
func (l Limits) Lowered(by Limits) Limits {
	return Limits{
		MaxSteps: lower(l.MaxSteps, by.MaxSteps), MaxTokens: lower(l.MaxTokens, by.MaxTokens),
		MaxParallelTools: lower(l.MaxParallelTools, by.MaxParallelTools), MaxIdenticalCalls: lower(l.MaxIdenticalCalls, by.MaxIdenticalCalls),
		TurnSeconds: lower(l.TurnSeconds, by.TurnSeconds), MaxToolCalls: lower(l.MaxToolCalls, by.MaxToolCalls),
		MaxCost: lower(l.MaxCost, by.MaxCost),
	}
}

func lower[T int32 | uint32 | money.Micros](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Excess is a limit that is higher than it may be.
type Excess struct {
	// Name is the limit's field; Max is the most that it may be.
	Name, Max string
}

// Within returns the first limit that is higher than that of most.
func (l Limits) Within(most Limits) (Excess, bool) {
	for _, v := range []struct {
		name      string
		got, most int64
	}{
		{"max_steps", int64(l.MaxSteps), int64(most.MaxSteps)},
		{"max_tokens", int64(l.MaxTokens), int64(most.MaxTokens)},
		{"max_parallel_tools", int64(l.MaxParallelTools), int64(most.MaxParallelTools)},
		{"max_identical_calls", int64(l.MaxIdenticalCalls), int64(most.MaxIdenticalCalls)},
		{"turn_seconds", int64(l.TurnSeconds), int64(most.TurnSeconds)},
		{"max_tool_calls", int64(l.MaxToolCalls), int64(most.MaxToolCalls)},
		{"max_cost", int64(l.MaxCost), int64(most.MaxCost)},
	} {
		if v.most > 0 && v.got > v.most {
			most := strconv.FormatInt(v.most, 10)
			if v.name == "max_cost" {
				most = money.Micros(v.most).String()
			}
			return Excess{v.name, most}, false
		}
	}
	return Excess{}, true
}
