package infer

import (
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestFilesOfResultsAreAwaited: a model is not asked early where its prompt has files that the step before it stores.
func TestFilesOfResultsAreAwaited(t *testing.T) {
	file := &turnv1.ContentPart{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{FileId: "art_1"}}}
	text := &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: "a"}}
	result := func(p *turnv1.ContentPart) *turnv1.Message {
		return &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{Content: []*turnv1.ContentPart{p}}}
	}
	user := &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{file}}
	for _, row := range []struct {
		name     string
		messages []*turnv1.Message
		want     bool
	}{
		{name: "nothing"},
		{name: "a file of the user", messages: []*turnv1.Message{user}},
		{name: "results with text", messages: []*turnv1.Message{user, result(text), result(text)}},
		{name: "a result with a file", messages: []*turnv1.Message{user, result(file), result(text)}, want: true},
		{name: "an earlier one", messages: []*turnv1.Message{result(file), user}},
	} {
		if got := awaitsFiles(row.messages); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}
