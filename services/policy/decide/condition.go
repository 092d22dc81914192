package decide

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/services/policy/exact"
)

const (
	// conditionsKept limits the compiled conditions in memory.
	conditionsKept = 4096
	// conditionCost limits the work of one evaluation, in CEL's own units: far more than a sensible condition takes.
	conditionCost = 1_000_000
)

// conditions compiles conditions once and evaluates them. It is safe for concurrent use.
type conditions struct {
	env      *cel.Env
	compiled *lru.Cache[string, compiled]
}

// compiled is a condition, or why it is invalid.
type compiled struct {
	program cel.Program
	err     error
}

func newConditions() (*conditions, error) {
	integers, err := exact.Types()
	if err != nil {
		return nil, fmt.Errorf("prepare conditions: %w", err)
	}
	env, err := cel.NewEnv(
		integers,
		cel.CrossTypeNumericComparisons(true),
		cel.Variable("arguments", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("tool", cel.StringType),
		cel.Variable("effect", cel.StringType),
		cel.Variable("principal", cel.MapType(cel.StringType, cel.DynType)),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare conditions: %w", err)
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
	program, err := c.compile(text)
	made := compiled{program, err}
	c.compiled.Add(text, made)
	return made
}

func (c *conditions) compile(text string) (cel.Program, error) {
	ast, issues := c.env.Compile(text)
	if found := issues.Errors(); len(found) > 0 {
		at := found[0].Location
		return nil, fmt.Errorf("line %d, column %d: %s", at.Line(), at.Column()+1, found[0].Message)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives %s; want yes or no, for example arguments.amount > 100", t)
	}
	program, err := c.env.Program(ast, cel.CostLimit(conditionCost))
	if err != nil {
		return nil, fmt.Errorf("not usable: %w", err)
	}
	return program, nil
}

var errNotBool = errors.New("it gave neither yes nor no")

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
	value, _, err := known.program.Eval(map[string]any{
		"arguments": orEmpty(call.Arguments), "tool": call.Tool, "effect": call.Effect,
		"principal": map[string]any{
			"subject": call.Principal.GetSubject(), "roles": call.Principal.GetRoles(), "claims": orEmpty(call.Principal.GetClaims()),
		},
	})
	if err != nil {
		return false, err
	}
	yes, ok := value.Value().(bool)
	if !ok {
		return false, errNotBool
	}
	return yes, nil
}

func orEmpty(s *structpb.Struct) *structpb.Struct {
	if s == nil {
		return &structpb.Struct{}
	}
	return s
}
