package access

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/condition"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// expressionCost limits the work of one evaluation, in CEL's own units.
const expressionCost = 20_000

// environment declares what expressions can use: the principal, with its type.
var environment = sync.OnceValues(func() (*condition.Env, error) {
	return condition.New(condition.Config{
		Messages:  []proto.Message{&policyv1.Principal{}},
		Variables: []cel.EnvOption{cel.Variable("principal", cel.ObjectType("windlass.policy.v1.Principal"))},
		Want:      "true or false, for example principal.claims.level >= 3", Cost: expressionCost,
	})
})

// compileExpression compiles and checks an expression within a budget.
func compileExpression(text string, left *budget) (*condition.Condition, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	return env.Compile(text, func(ast *celast.AST) error {
		if err := left.expression(ast); err != nil {
			return fmt.Errorf("one of its patterns %w", err)
		}
		return nil
	})
}

// evaluate runs an expression for a principal.
func evaluate(c *condition.Condition, who *policyv1.Principal) (bool, error) {
	return c.Eval(map[string]any{"principal": who})
}
