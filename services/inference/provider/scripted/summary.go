package scripted

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/workflows/contract"
)

const (
	// maxQuoted limits the user messages that a summary quotes, and maxStart the characters of each.
	maxQuoted = 5
	maxStart  = 40
)

// summaryOf returns a summary with the number of messages, and how the newest user messages begin.
func summaryOf(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	var said []string
	for entry := range strings.SplitSeq("\n"+rest, "\n"+contract.EntryPrefix) {
		if words, ok := strings.CutPrefix(entry, "user\n"); ok {
			begins := []rune(strings.Join(strings.Fields(words), " "))
			said = append(said, string(begins[:min(len(begins), maxStart)]))
		}
	}
	summary := fmt.Sprintf("Summary of %s messages.", strings.TrimPrefix(first, contract.CompactPrefix))
	if said = said[max(0, len(said)-maxQuoted):]; len(said) > 0 {
		summary += fmt.Sprintf(" The user said: %q.", said)
	}
	return summary
}
