// Package condition compiles and evaluates the conditions that people write: CEL expressions that are true or false. Their integers are
// those of JSON as they are written.
package condition

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"google.golang.org/protobuf/proto"
)

// Config declares what conditions can use.
type Config struct {
	// Messages are the types of variables that are messages.
	Messages []proto.Message
	// Variables are options made by cel.Variable.
	Variables []cel.EnvOption
	// Want continues the error of an expression that is no condition: "true or false, for example size > 1000".
	Want string
	// Cost limits the work of one evaluation, in CEL's own units.
	Cost uint64
}

// Env compiles conditions. It is safe for concurrent use.
type Env struct {
	env *cel.Env
	cfg Config
}

// New returns an environment.
func New(cfg Config) (*Env, error) {
	types, err := Types(cfg.Messages...)
	if err != nil {
		return nil, fmt.Errorf("prepare conditions: %w", err)
	}
	env, err := cel.NewEnv(append([]cel.EnvOption{types, cel.CrossTypeNumericComparisons(true)}, cfg.Variables...)...)
	if err != nil {
		return nil, fmt.Errorf("prepare conditions: %w", err)
	}
	return &Env{env, cfg}, nil
}

// Condition is a compiled condition. It is safe for concurrent use.
type Condition struct{ program cel.Program }

// Compile compiles a condition. Each check sees its syntax tree; an error of one is returned.
func (e *Env) Compile(text string, checks ...func(*celast.AST) error) (*Condition, error) {
	ast, issues := e.env.Compile(text)
	if found := issues.Errors(); len(found) > 0 {
		at := found[0].Location
		return nil, fmt.Errorf("line %d, column %d: %s", at.Line(), at.Column()+1, found[0].Message)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives %s; want %s", t, e.cfg.Want)
	}
	for _, check := range checks {
		if err := check(ast.NativeRep()); err != nil {
			return nil, err
		}
	}
	program, err := e.env.Program(ast, cel.CostLimit(e.cfg.Cost))
	if err != nil {
		return nil, fmt.Errorf("not usable: %w", err)
	}
	return &Condition{program}, nil
}

var (
	// ErrCost is the error of an evaluation that exceeds the limit.
	ErrCost    = errors.New("it takes too long")
	errNotBool = errors.New("it gives neither true nor false")
)

// Eval evaluates a condition over the values of the variables.
func (c *Condition) Eval(variables map[string]any) (bool, error) {
	value, _, err := c.program.Eval(variables)
	if err != nil {
		if strings.Contains(err.Error(), "cost limit exceeded") { // cel-go has no error value for it
			return false, ErrCost
		}
		return false, err
	}
	yes, ok := value.Value().(bool)
	if !ok {
		return false, errNotBool
	}
	return yes, nil
}
