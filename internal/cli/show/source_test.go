package show

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/testwant"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestSourcesFollowAnAnswer(t *testing.T) {
	answer := &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{{
		Part: &turnv1.ContentPart_Text{Text: "Yes [1], and no [2][1]."}, Citations: []*turnv1.Citation{
			{Number: 1, Position: 4, BankId: "b", DocumentId: "doc_1", DocumentName: "a.pdf", Page: 3, Start: 5, End: 9},
			{Number: 2, Position: 16, BankId: "b", DocumentId: "doc_2", DocumentName: "b.md", Heading: []string{"A", "B"}, End: 2},
			{Number: 1, Position: 19, BankId: "b", DocumentId: "doc_1", DocumentName: "a.pdf", Page: 3, Start: 5, End: 9},
		},
	}}}
	var out strings.Builder
	v := NewView(&app.App{Out: &out})
	for _, e := range []*turnv1.Event{{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: answer}}}} {
		if err := v.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	testwant.Equal(t, "the answer", out.String(), "Yes [1], and no [2][1].\n"+
		"Sources:\n  [1] a.pdf, page 3 (b/doc_1, bytes 5 to 9)\n  [2] b.md, A > B (b/doc_2, bytes 0 to 2)\n")
}
