package access

import (
	"fmt"
	"regexp"

	celast "cel.dev/cel-go/common/ast"

	"github.com/windlass-dev/windlass/libs/regexsize"
)

const (
	// maxCompiled bounds what the regular expressions of a policy are compiled to: instructions, and ranges of characters in their classes.
	maxCompiled = 32_768
	// MaxCompiled is the same for all policies of a tenant.
	MaxCompiled = 8 * maxCompiled
)

// budget is what the regular expressions of a policy have been compiled to.
type budget struct{ used int }

var errCompiled = fmt.Errorf("makes the regular expressions of the policy too large when they are compiled (more than %d instructions): "+
	"repeat less, or use smaller classes of characters", maxCompiled)

// take counts an expression before it is compiled.
func (b *budget) take(text string) error {
	size, err := regexsize.Of(text)
	if err != nil {
		return fmt.Errorf("is no regular expression (RE2): %w", err)
	}
	if b.used += size.Instructions + size.Ranges; b.used > maxCompiled {
		return errCompiled
	}
	return nil
}

// compile compiles a pattern that must match the whole text. The pattern is parsed alone first: "a)|(b" is not one.
func (b *budget) compile(text string) (*regexp.Regexp, error) {
	if err := b.take(text); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(`\A(?s:` + text + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("is no regular expression (RE2): %w", err)
	}
	return re, nil
}

// expression counts the patterns of a CEL expression, which compiles them at each evaluation.
func (b *budget) expression(a *celast.AST) error {
	var failed error
	celast.PostOrderVisit(a.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.CallKind || e.AsCall().FunctionName() != "matches" || failed != nil {
			return
		}
		for _, arg := range e.AsCall().Args() {
			if arg.Kind() != celast.LiteralKind {
				continue
			}
			if text, ok := arg.AsLiteral().Value().(string); ok {
				failed = b.take(text)
			}
		}
	}))
	return failed
}
