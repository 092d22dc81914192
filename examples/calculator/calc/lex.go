package calc

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// SyntaxError says what is wrong with an expression and where.
type SyntaxError struct {
	Pos int // 1 is the first character
	Msg string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("at position %d: %s", e.Pos, e.Msg)
}

func errorAt(pos int, format string, args ...any) error {
	return &SyntaxError{Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

type kind int

const (
	end kind = iota
	number
	name
	symbol
)

// token is one word of an expression.
type token struct {
	kind kind
	pos  int
	text string
	num  *big.Rat // of a number
}

func (t token) String() string {
	if t.kind == end {
		return "the end"
	}
	return strconv.Quote(t.text)
}

// lex splits an expression; the last token is of kind end.
func lex(expr string) ([]token, error) {
	var (
		tokens []token
		runes  = []rune(expr)
	)
	for i := 0; i < len(runes); {
		r, start := runes[i], i
		switch {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			i++
		case isDigit(r) || r == '.':
			i = scanNumber(runes, i)
			text := string(runes[start:i])
			num, err := parseNumber(text, start+1)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{kind: number, pos: start + 1, text: text, num: num})
		case isLetter(r):
			for i < len(runes) && (isLetter(runes[i]) || isDigit(runes[i])) {
				i++
			}
			tokens = append(tokens, token{kind: name, pos: start + 1, text: string(runes[start:i])})
		case strings.ContainsRune("+-*/%^(),", r):
			i++
			tokens = append(tokens, token{kind: symbol, pos: start + 1, text: string(r)})
		default:
			return nil, errorAt(start+1, "unexpected character %q", r)
		}
	}
	return append(tokens, token{kind: end, pos: len(runes) + 1}), nil
}

// scanNumber returns the index after the number that starts at i. It takes all that could belong to a number, so that
// "1.2.3" is one bad number and not two good ones.
func scanNumber(runes []rune, i int) int {
	for i < len(runes) && (isDigit(runes[i]) || runes[i] == '.') {
		i++
	}
	if i == len(runes) || (runes[i] != 'e' && runes[i] != 'E') {
		return i
	}
	i++
	if i < len(runes) && (runes[i] == '+' || runes[i] == '-') {
		i++
	}
	for i < len(runes) && isDigit(runes[i]) {
		i++
	}
	return i
}

// parseNumber reads "12", "1.5", ".5", "2." and "1e-3" exactly.
func parseNumber(text string, pos int) (*big.Rat, error) {
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		// Checked before the number is built: 1e999999999 would fill the memory.
		if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
			return nil, errorAt(pos, "bad exponent in number %q (from -%d to %d)", text, maxExponent, maxExponent)
		}
	}
	num, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errorAt(pos, "bad number %q", text)
	}
	return num, nil
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' }
