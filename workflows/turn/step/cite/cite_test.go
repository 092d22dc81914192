package cite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step/cite"
)

// Two passages of the turn's search, and one of another turn.
const (
	first, second, foreign, unknown = "k3f9a2c.1", "k3f9a2c.2", "k0d1e2f.1", "k999999.1"
)

func text(s string, citations ...*turnv1.Citation) []*turnv1.ContentPart {
	return []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: s}, Citations: citations}}
}

func found(turn string, passages ...passage.Passage) *turnv1.Message {
	shown := "found"
	for _, p := range passages {
		shown += " [" + p.Mark + "]"
	}
	return &turnv1.Message{
		TurnId: turn, Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			Tool: passage.SearchTool, Content: text(shown), StructuredContent: passage.Structured(passages, "lexical", nil),
		},
	}
}

func conversation() []*turnv1.Message {
	return []*turnv1.Message{
		{TurnId: "trn_0", Role: turnv1.Role_ROLE_USER, Content: text("before")},
		found("trn_0", passage.Passage{Mark: foreign, Bank: "b", Document: "doc_0", Version: "ver_0", End: 3, Quote: "old", Name: "old.md"}),
		{TurnId: "trn_1", Role: turnv1.Role_ROLE_USER, Content: text("now")},
		found("trn_1",
			passage.Passage{Mark: first, Bank: "b", Document: "doc_1", Version: "ver_1", Start: 5, End: 8, Quote: "one", Name: "a.md", Page: 2},
			passage.Passage{Mark: second, Bank: "b", Document: "doc_2", Version: "ver_2", Start: 0, End: 3, Quote: "two", Name: "b.md"}),
		found("trn_1",
			passage.Passage{Mark: "k777777.1", Bank: "b", Document: "doc_1", Version: "ver_1", Start: 5, End: 8, Quote: "one", Name: "a.md"}),
	}
}

func sources() *cite.Sources { return cite.Read(conversation(), "trn_1") }

func TestMarksBecomeNumbers(t *testing.T) {
	for _, row := range []struct{ name, in, want, cites string }{
		{"none", "It is so.", "It is so.", ""},
		{"one", "It is so [k3f9a2c.1].", "It is so [1].", "9:1:doc_1"},
		{"the same passage twice", "a [k3f9a2c.1] b [k3f9a2c.1]", "a [1] b [1]", "2:1:doc_1 8:1:doc_1"},
		{"by the order of the text", "a[k3f9a2c.2] b[k3f9a2c.1]", "a[1] b[2]", "1:1:doc_2 6:2:doc_1"},
		{"found by two searches", "a [k3f9a2c.1] b [k777777.1]", "a [1] b [1]", "2:1:doc_1 8:1:doc_1"},
		{"several in brackets", "a [k3f9a2c.1, k3f9a2c.2].", "a [1][2].", "2:1:doc_1 5:2:doc_2"},
		{"without brackets", "a (k3f9a2c.1)", "a ([1])", "3:1:doc_1"},
		{"behind letters of others", "根据k3f9a2c.1，", "根据[1]，", "6:1:doc_1"},
		{"of another turn", "a [k0d1e2f.1].", "a.", ""},
		{"of no search", "a [k999999.1] b", "a b", ""},
		{"of no search, without brackets", "a k999999.12 b", "a  b", ""},
		{"of no search, before one that is", "a [k999999.1][k3f9a2c.1] b", "a [1] b", "2:1:doc_1"},
		{"of no search, beside one that is", "a [k999999.1; k3f9a2c.1] b", "a [1] b", "2:1:doc_1"},
		{"at the beginning", "[k3f9a2c.1] a", "[1] a", "0:1:doc_1"},
		{"cut off", "a [k3f9a", "a", ""},
		{"cut off behind one", "a [k3f9a2c.1, k3", "a [1]", "2:1:doc_1"},
		{"not marks", "[1] [k] [kitchen](x) k8s rank", "[1] [k] [kitchen](x) k8s rank", ""},
		{"nearly marks", "k3f9a2c k3f9a2c.x [[ak3f9a2c.1]", "k3f9a2c k3f9a2c.x [[ak3f9a2c.1]", ""},
		{"an end that is none", "a [k", "a [k", ""},
		{"space", " a  b \n", " a  b \n", ""},
	} {
		got, citations := sources().Text(row.in)
		var cites []string
		for _, c := range citations {
			cites = append(cites, fmt.Sprintf("%d:%d:%s", c.GetPosition(), c.GetNumber(), c.GetDocumentId()))
			if mark := fmt.Sprintf("[%d]", c.GetNumber()); !strings.HasPrefix(got[c.GetPosition():], mark) {
				t.Errorf("%s: there is no %s at %d of %q", row.name, mark, c.GetPosition(), got)
			}
		}
		if got != row.want || strings.Join(cites, " ") != row.cites {
			t.Errorf("%s: %q, cites %q, want %q, %q", row.name, got, cites, row.want, row.cites)
		}
	}
}

func TestACitationSaysWhereItIsFrom(t *testing.T) {
	_, citations := sources().Text("[" + first + "]")
	c := citations[0]
	if c.GetBankId() != "b" || c.GetVersion() != "ver_1" || c.GetStart() != 5 || c.GetEnd() != 8 || c.GetQuote() != "one" ||
		c.GetDocumentName() != "a.md" || c.GetPage() != 2 {
		t.Errorf("got %v", c)
	}
}

// TestPiecesDoNotMatter: however a text is cut into pieces, what is passed on is the same, has no marks, and at most the beginning of
// marks is held back.
func TestPiecesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"[", "]", "k", "3f9a2c", ".1", ".", "1", " ", ", ", "k3f9a2c.1", "[k3f9a2c.2]", "[k3f9a2c.1, k3f9a2c.2]", "[k999999.1]",
			"word", "é", "k8", "\n", "[k3", "[1]", "k3f9a2c.2",
		}), 0, 16).Draw(r, "parts")
		said := strings.Join(parts, "")
		want, cited := sources().Text(said)
		w := sources().Writer()
		var got strings.Builder
		for rest := said; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "bytes")
			out := w.Add(rest[:n])
			got.WriteString(out)
			rest = rest[n:]
		}
		got.WriteString(w.Close())
		if got.String() != want {
			r.Fatalf("%q in pieces is %q, at once %q", said, got.String(), want)
		}
		for _, mark := range []string{first, second, unknown} {
			if strings.Contains(want, "["+mark+"]") {
				r.Fatalf("%q becomes %q", said, want)
			}
		}
		if !slices.EqualFunc(w.Citations(), cited, func(a, b *turnv1.Citation) bool {
			return a.GetPosition() == b.GetPosition() && a.GetNumber() == b.GetNumber() && a.GetDocumentId() == b.GetDocumentId()
		}) {
			r.Fatalf("%q in pieces cites %v, at once %v", said, w.Citations(), cited)
		}
		for _, c := range cited {
			if !strings.HasPrefix(want[c.GetPosition():], fmt.Sprintf("[%d]", c.GetNumber())) {
				r.Fatalf("%q becomes %q, where %v is not", said, want, c)
			}
		}
	})
}

func TestLittleIsHeldBack(t *testing.T) {
	w := sources().Writer()
	for _, row := range []struct{ piece, out string }{
		{"It is ", "It is"},
		{"so [", " so"},
		{"k3f9", ""},
		{"a2c.1", ""},
		{"] and [", " [1] and"},
		{"link](x)", " [link](x)"},
	} {
		if got := w.Add(row.piece); got != row.out {
			t.Errorf("after %q: %q, want %q", row.piece, got, row.out)
		}
	}
	if got := w.Close(); got != "" {
		t.Errorf("at the end: %q", got)
	}
}

func TestWithoutSourcesMarksAreRemoved(t *testing.T) {
	if got := cite.Strip("I read [k3f9a2c.1] and k3f9a2c.2 here"); strings.Contains(got, "k3f9") {
		t.Errorf("got %q", got)
	}
	if cite.Read([]*turnv1.Message{{TurnId: "trn_1", Role: turnv1.Role_ROLE_USER, Content: text("x")}}, "trn_1") != nil {
		t.Error("a conversation without results has sources")
	}
}

func TestModelsReadMarksInTheirTurn(t *testing.T) {
	answer, citations := sources().Text("It is so [" + first + "].")
	messages := append(conversation(),
		&turnv1.Message{TurnId: "trn_1", Role: turnv1.Role_ROLE_ASSISTANT, Content: text(answer, citations...)})
	before := fmt.Sprint(messages)
	read := func(turn string) (answer, result string) {
		all := cite.Read(messages, turn).Prompt(messages, turn)
		for _, m := range all {
			if m.GetToolResult().GetStructuredContent() != nil || len(m.GetContent()) > 0 && len(m.GetContent()[0].GetCitations()) > 0 {
				t.Errorf("a model reads %v", m)
			}
		}
		return all[len(all)-1].GetContent()[0].GetText(), all[3].GetToolResult().GetContent()[0].GetText()
	}
	if said, result := read("trn_1"); said != "It is so [k3f9a2c.1]." || result != "found [k3f9a2c.1] [k3f9a2c.2]" {
		t.Errorf("in its turn it reads %q, %q", said, result)
	}
	if said, result := read("trn_2"); said != "It is so (source: a.md)." || result != "found  " {
		t.Errorf("in another turn it reads %q, %q", said, result)
	}
	if fmt.Sprint(messages) != before {
		t.Error("the conversation itself is changed")
	}
}

func TestCitationsFollowAChangedText(t *testing.T) {
	_, citations := sources().Text("secret a [" + first + "], b [" + second + "]")
	got := cite.Reposition("*** a [1], b", citations)
	if len(got) != 1 || got[0].GetPosition() != 6 || citations[0].GetPosition() != 9 {
		t.Errorf("got %v", got)
	}
}

// TestAnswersOfSubAgentsAreCited: the model of the caller reads what a sub-agent has cited with marks, and what it takes over becomes
// citations of its own answer; other turns read the names of the documents. No number of another answer is left.
func TestAnswersOfSubAgentsAreCited(t *testing.T) {
	leave := &turnv1.Citation{
		Number: 1, Position: 12, BankId: "b", DocumentId: "doc_3", Version: "ver_3", Start: 4, End: 9, Quote: "leave", DocumentName: "leave.md",
	}
	hours := &turnv1.Citation{Number: 2, Position: 25, BankId: "b", DocumentId: "doc_4", Version: "ver_4", End: 5, DocumentName: "hours.md"}
	again := proto.CloneOf(leave)
	again.Position = 34
	const said = "Thirty days [1]. At eight [2]. So [1], and not [3]."
	for name, shown := range map[string]string{"as it was said": said, "redacted by a shield": strings.Replace(said, "Thirty", "***", 1)} {
		messages := []*turnv1.Message{
			{TurnId: "trn_1", Role: turnv1.Role_ROLE_USER, Content: text("now")},
			{TurnId: "trn_1", Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
				CallId: "c1", Tool: "agent__clerk", Content: text(shown, leave, hours, again),
			}},
		}
		s := cite.Read(messages, "trn_1")
		read := s.Prompt(messages, "trn_1")[1].GetToolResult().GetContent()
		prompt := read[0].GetText()
		if strings.Contains(prompt, "[1]") || strings.Contains(prompt, "[2]") || len(read[0].GetCitations()) > 0 {
			t.Errorf("%s: the model reads %q", name, prompt)
		}
		answer, citations := s.Text("They say: " + prompt)
		if want := "They say: " + shown; answer != want || len(citations) != 3 || citations[1].GetDocumentId() != "doc_4" ||
			citations[2].GetDocumentId() != "doc_3" || citations[0].GetQuote() != "leave" {
			t.Errorf("%s: the answer is %q with %v", name, answer, citations)
		}
		want := strings.NewReplacer("[1]", "(source: leave.md)", "[2]", "(source: hours.md)").Replace(shown)
		if later := cite.Read(messages, "trn_2").Prompt(messages, "trn_2")[1].GetToolResult().GetContent()[0].GetText(); later != want {
			t.Errorf("%s: a later turn reads %q", name, later)
		}
		if messages[1].GetToolResult().GetContent()[0].GetText() != shown {
			t.Error("the message itself was changed")
		}
	}
}
