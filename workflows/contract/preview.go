package contract

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Preview is what a model is shown of a text that is too long for a conversation and kept as an artifact: the two ends, three eighths of
// limit bytes in all, what is missing and where it is. The registry makes it, and a step whose shields change the text makes it again.
func Preview(text string, limit int, artifact string) string {
	head := beginning(text, limit/4)
	if at := strings.LastIndexByte(head, '\n'); at > len(head)*3/4 {
		head = head[:at+1]
	}
	from := max(len(head), len(text)-limit/8)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	tail := text[from:]
	if at := strings.IndexByte(tail, '\n'); at >= 0 && at < len(tail)/4 {
		tail = tail[at+1:]
	}
	return fmt.Sprintf("%s\n[cut: of %d bytes the first %d and the last %d are shown. "+
		"The whole is artifact %s; read parts of it with %s.]\n%s",
		strings.TrimSuffix(head, "\n"), len(text), len(head), len(tail), artifact, ReadArtifact, tail)
}

// beginning returns the longest beginning of text with at most n bytes and whole characters.
func beginning(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)]
}
