package scripted

import (
	"regexp"
	"strings"
)

var (
	arithmeticRun = regexp.MustCompile(`(?:\b(?:sqrt|abs|min|max|round)\b|[\d\s.,+\-*/^%()])+`)
	operation     = regexp.MustCompile(`[\d)]\s*[+\-*/^%]\s*[\d(.+-]|[\d)]\s*[+\-*/^%]\s*(?:sqrt|abs|min|max|round)|\b(?:sqrt|abs|min|max|round)\s*\(`)
	date          = regexp.MustCompile(`^\d{4}-\d\d?-\d\d?$`)
	spelled       = regexp.MustCompile(`(\d)\s+(plus|minus|times|divided by|x)\s+(\d)`)
)

// findExpression returns the longest arithmetic expression in a text, "" when there is none. "6 times 7" is one too.
func findExpression(text string) string {
	text = strings.NewReplacer("×", "*", "÷", "/", "−", "-").Replace(text)
	for range 2 { // "1 plus 2 plus 3": matches cannot overlap
		text = spelled.ReplaceAllStringFunc(text, func(m string) string {
			parts := spelled.FindStringSubmatch(m)
			sign := map[string]string{"plus": "+", "minus": "-", "times": "*", "x": "*", "divided by": "/"}[parts[2]]
			return parts[1] + " " + sign + " " + parts[3]
		})
	}
	best := ""
	for _, run := range arithmeticRun.FindAllString(text, -1) {
		run = balance(strings.Trim(run, " \t\r\n,*/^%"))
		run = strings.TrimRight(run, " .,+-*/^%")
		if operation.MatchString(run) && !date.MatchString(run) && len(run) > len(best) {
			best = run
		}
	}
	return best
}

// balance removes unmatched parentheses around an expression.
func balance(run string) string {
	var open []int
	drop := map[int]bool{}
	for i, c := range run {
		switch {
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) > 0:
			open = open[:len(open)-1]
		case c == ')':
			drop[i] = true
		}
	}
	for _, i := range open {
		drop[i] = true
	}
	var b strings.Builder
	for i, c := range run {
		if !drop[i] {
			b.WriteRune(c)
		}
	}
	return strings.TrimSpace(b.String())
}
