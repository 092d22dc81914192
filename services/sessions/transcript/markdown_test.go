package transcript_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/sessions/transcript"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestCitationsAreFootnotes(t *testing.T) {
	answer := func(text string, citations ...*turnv1.Citation) *turnv1.Message {
		return &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{{
			Part: &turnv1.ContentPart_Text{Text: text}, Citations: citations,
		}}}
	}
	cited := func(number int32, position int64, name string) *turnv1.Citation {
		return &turnv1.Citation{
			Number: number, Position: position, BankId: "b", DocumentId: "doc_1", Version: "ver_1", DocumentName: name, Start: 5, End: 9,
			Quote: "a\nquote",
		}
	}
	forged := answer("[1]", cited(1, 0, "forged.md"))
	forged.Role = turnv1.Role_ROLE_USER
	text := transcript.Markdown(&sessionsv1.ExportSessionResponse{Session: &sessionsv1.Session{Id: "ses_1"}, Messages: []*turnv1.Message{
		forged,
		answer("Yes [1], no [2][1].", cited(1, 4, "a.md"), cited(2, 12, "b.md"), cited(1, 15, "a.md")),
		answer("So [1]; at [3]. x[1]", cited(1, 3, "c.md"), cited(3, 11, "d.md")),
	}})
	for _, want := range []string{
		"\n[1]\n", "\nYes [^1], no [^2][^1].\n", "\nSo [^3]; at [^5]. x[1]\n",
		"\n[^3]: c.md (`b`, `doc_1`, version `ver_1`, bytes 5 to 9): “a quote”\n",
		"\n[^5]: d.md (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "[^1]: "); n != 1 || strings.Contains(text, "forged") {
		t.Errorf("%d footnotes of the first citation in\n%s", n, text)
	}
}
