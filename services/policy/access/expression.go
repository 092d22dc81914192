package access

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/exact"
)

// expressionCost limits the work of one evaluation, in CEL's own units.
const expressionCost = 20_000

// environment declares what expressions can use: the principal, with its type.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	principal, err := exact.Types(&policyv1.Principal{})
	if err != nil {
		return nil, err
	}
	return cel.NewEnv(
		principal,
		cel.CrossTypeNumericComparisons(true),
		cel.Variable("principal", cel.ObjectType("windlass.policy.v1.Principal")),
	)
})

// compileExpression compiles and checks an expression within a budget.
func compileExpression(text string, left *budget) (cel.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("prepare expressions: %w", err)
	}
	ast, issues := env.Compile(text)
	if found := issues.Errors(); len(found) > 0 {
		at := found[0].Location
		return nil, fmt.Errorf("line %d, column %d: %s", at.Line(), at.Column()+1, found[0].Message)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives %s; want true or false, for example principal.claims.level >= 3", t)
	}
	if err := left.expression(ast.NativeRep()); err != nil {
		return nil, fmt.Errorf("one of its patterns %w", err)
	}
	program, err := env.Program(ast, cel.CostLimit(expressionCost))
	if err != nil {
		return nil, fmt.Errorf("not usable: %w", err)
	}
	return program, nil
}

var (
	errCost    = errors.New("it takes too long")
	errNotBool = errors.New("it gives neither true nor false")
)

// evaluate runs an expression for a principal.
func evaluate(program cel.Program, who *policyv1.Principal) (bool, error) {
	value, _, err := program.Eval(map[string]any{"principal": who})
	if err != nil {
		if strings.Contains(err.Error(), "cost limit exceeded") { // cel-go has no error value for it
			return false, errCost
		}
		return false, err
	}
	yes, ok := value.Value().(bool)
	if !ok {
		return false, errNotBool
	}
	return yes, nil
}
