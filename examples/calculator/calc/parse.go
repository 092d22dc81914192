// Package calc evaluates arithmetic expressions and converts units, exactly: numbers are fractions of whole numbers.
package calc

import (
	"math/big"
	"unicode/utf8"
)

const (
	maxLength = 2000 // characters of an expression
	maxDepth  = 100  // parentheses, signs and powers within each other
)

// Evaluate computes an expression. The grammar, loosest first; all but power group to the left:
//
//	sum     = product { ("+" | "-") product }
//	product = sign { ("*" | "/" | "%") sign }
//	sign    = ("+" | "-") sign | power
//	power   = atom [ "^" sign ]
//	atom    = number | "(" sum ")" | name "(" sum { "," sum } ")"
//
// So -2^2 is -4 and 2^3^2 is 512. Every error is a *SyntaxError that points at the word to change.
func Evaluate(expr string) (*big.Rat, error) {
	if n := utf8.RuneCountInString(expr); n > maxLength {
		return nil, errorAt(maxLength+1, "expression has %d characters, at most %d are allowed", n, maxLength)
	}
	tokens, err := lex(expr)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	value, err := p.sum()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != end {
		return nil, errorAt(t.pos, "expected an operator or the end, found %v", t)
	}
	return value, nil
}

// parser computes while it reads.
type parser struct {
	tokens []token
	next   int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.next] }

// take consumes the next token if it is one of the given symbols.
func (p *parser) take(symbols ...string) (token, bool) {
	t := p.peek()
	for _, s := range symbols {
		if t.kind == symbol && t.text == s {
			p.next++
			return t, true
		}
	}
	return t, false
}

func (p *parser) expect(s string) error {
	if t, ok := p.take(s); !ok {
		return errorAt(t.pos, "expected %q, found %v", s, t)
	}
	return nil
}

func (p *parser) sum() (*big.Rat, error) {
	return p.leftToRight(p.product, "+", "-")
}

func (p *parser) product() (*big.Rat, error) {
	return p.leftToRight(p.sign, "*", "/", "%")
}

// leftToRight reads operands joined by the given operators.
func (p *parser) leftToRight(operand func() (*big.Rat, error), operators ...string) (*big.Rat, error) {
	value, err := operand()
	if err != nil {
		return nil, err
	}
	for {
		op, ok := p.take(operators...)
		if !ok {
			return value, nil
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		if value, err = binary(op, value, right); err != nil {
			return nil, err
		}
	}
}

func (p *parser) sign() (*big.Rat, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, errorAt(p.peek().pos, "nested more than %d deep", maxDepth)
	}
	op, ok := p.take("+", "-")
	if !ok {
		return p.power()
	}
	value, err := p.sign()
	if err != nil || op.text == "+" {
		return value, err
	}
	return new(big.Rat).Neg(value), nil
}

func (p *parser) power() (*big.Rat, error) {
	base, err := p.atom()
	if err != nil {
		return nil, err
	}
	op, ok := p.take("^")
	if !ok {
		return base, nil
	}
	exponent, err := p.sign()
	if err != nil {
		return nil, err
	}
	return binary(op, base, exponent)
}

func (p *parser) atom() (*big.Rat, error) {
	t := p.peek()
	switch t.kind {
	case number:
		p.next++
		return t.num, nil
	case name:
		p.next++
		return p.call(t)
	}
	if _, ok := p.take("("); !ok {
		return nil, errorAt(t.pos, "expected a number, found %v", t)
	}
	value, err := p.sum()
	if err != nil {
		return nil, err
	}
	return value, p.expect(")")
}

// call reads the arguments of the function named by t and applies it.
func (p *parser) call(t token) (*big.Rat, error) {
	f, ok := functions[t.text]
	if !ok {
		return nil, errorAt(t.pos, "unknown name %v; the functions are %s", t, functionNames)
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []*big.Rat
	for more := true; more; _, more = p.take(",") {
		arg, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if len(args) < f.min || len(args) > f.max {
		return nil, errorAt(t.pos, "%s takes %s, got %d", t.text, f.takes, len(args))
	}
	return checked(t, f.apply, args)
}
