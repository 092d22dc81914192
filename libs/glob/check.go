package glob

import (
	"fmt"
	"strings"
	"unicode"
)

// CheckName rejects tool name patterns that use another pattern syntax: "[ab]", "{a,b}", a list, a negation or a placeholder. These
// characters have no special meaning here and no tool name contains them, so such a rule would silently match nothing.
func CheckName(pattern string) error {
	strange := strings.IndexFunc(pattern, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`[]{}()|\^!,$`, r) })
	if strange < 0 {
		return nil
	}
	return fmt.Errorf(`%q is no valid pattern: only * and ? stand for something, and no tool has a %q in its name; write several patterns `+
		`where one is not enough`,
		pattern, []rune(pattern[strange:])[0])
}
