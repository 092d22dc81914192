package glob

import (
	"fmt"
	"strings"
	"unicode"
)

// CheckName finds what looks like a pattern of another kind in a pattern for names of tools: "[ab]", "{a,b}", a list, a negation or a placeholder.
// Here these characters stand for themselves, no tool has them in its name, and so a rule with them would silently hold for nothing.
func CheckName(pattern string) error {
	strange := strings.IndexFunc(pattern, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`[]{}()|\^!,$`, r) })
	if strange < 0 {
		return nil
	}
	return fmt.Errorf(`%q is no valid pattern: only * and ? stand for something, and no tool has a %q in its name; write several patterns where one is not enough`,
		pattern, []rune(pattern[strange:])[0])
}
