package decide

import (
	"fmt"

	"cel.dev/cel-go/cel"
	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/condition"
)

const (
	// conditionsKept limits the compiled conditions in memory.
	conditionsKept = 4096
	// conditionCost limits the work of one evaluation, in CEL's own units: far more than a sensible condition takes.
	conditionCost = 1_000_000
)

// conditions compiles conditions once and evaluates them. It is safe for concurrent use.
type conditions struct {
	env      *condition.Env
	compiled *lru.Cache[string, compiled]
}

// compiled is a condition, or why it is invalid.
type compiled struct {
	condition *condition.Condition
	err       error
}

func newConditions() (*conditions, error) {
	env, err := condition.New(condition.Config{
		Variables: []cel.EnvOption{
			cel.Variable("arguments", cel.MapType(cel.StringType, cel.DynType)),
			cel.Variable("tool", cel.StringType),
			cel.Variable("effect", cel.StringType),
			cel.Variable("principal", cel.MapType(cel.StringType, cel.DynType)),
		},
		Want: "yes or no, for example arguments.amount > 100", Cost: conditionCost,
	})
	if err != nil {
		return nil, err
	}
	kept, err := lru.New[string, compiled](conditionsKept)
	if err != nil {
		return nil, fmt.Errorf("prepare conditions: %w", err)
	}
	return &conditions{env: env, compiled: kept}, nil
}

// check returns what is wrong with a condition; nil if it is valid or empty.
func (c *conditions) check(text string) error {
	if text == "" {
		return nil
	}
	return c.get(text).err
}

func (c *conditions) get(text string) compiled {
	if known, ok := c.compiled.Get(text); ok {
		return known
	}
	ready, err := c.env.Compile(text)
	made := compiled{ready, err}
	c.compiled.Add(text, made)
	return made
}

// holds evaluates a condition. One that cannot be evaluated holds, so that a person is asked when in doubt.
func (c *conditions) holds(text string, call ToolCall) bool {
	if text == "" {
		return true
	}
	yes, err := c.eval(text, call)
	return yes || err != nil
}

func (c *conditions) eval(text string, call ToolCall) (bool, error) {
	known := c.get(text)
	if known.err != nil {
		return false, known.err
	}
	return known.condition.Eval(map[string]any{
		"arguments": orEmpty(call.Arguments), "tool": call.Tool, "effect": call.Effect,
		"principal": map[string]any{
			"subject": call.Principal.GetSubject(), "roles": call.Principal.GetRoles(), "claims": orEmpty(call.Principal.GetClaims()),
		},
	})
}

func orEmpty(s *structpb.Struct) *structpb.Struct {
	if s == nil {
		return &structpb.Struct{}
	}
	return s
}
