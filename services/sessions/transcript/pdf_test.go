package transcript_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/sessions/transcript"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/pdf/pdftest"
)

// TestPDFHasEveryMessageInOrder reads the file with another program.
func TestPDFHasEveryMessageInOrder(t *testing.T) {
	t.Parallel()
	program := pdftest.Program(t)
	text := func(s string) *turnv1.ContentPart {
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: s}}
	}
	cited := text("It costs 5 [1].")
	cited.Citations = []*turnv1.Citation{{
		Number: 1, Position: 11, BankId: "handbook", DocumentId: "doc_1", DocumentName: "Prices: `tea`", Quote: "5 euros",
	}}
	data, err := transcript.PDF(&sessionsv1.ExportSessionResponse{
		Session: &sessionsv1.Session{Id: "ses_1", Title: "How much?", AgentId: "shop", Subject: "local"},
		Turns: []*sessionsv1.Turn{
			{Id: "trn_1", Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED},
			{Id: "trn_2", Status: turnv1.TurnStatus_TURN_STATUS_FAILED, Error: &turnv1.TurnError{Message: "expected a > b"}},
		},
		Messages: []*turnv1.Message{
			{TurnId: "trn_1", Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{
				text("What does it cost?"),
				{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{Name: "bill.png", MediaType: "image/png", Size: 9}}},
			}},
			{TurnId: "trn_1", Role: turnv1.Role_ROLE_ASSISTANT, Model: "a/b", ToolCalls: []*turnv1.ToolCall{{
				CallId: "c", Tool: "shop__price", ArgumentsJson: `{"of":"tea"}`,
			}}},
			{TurnId: "trn_1", Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
				CallId: "c", Tool: "shop__price", Content: []*turnv1.ContentPart{text("five")}, IsError: true,
			}},
			{TurnId: "trn_1", Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{cited}},
			{TurnId: "trn_2", Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{text("Thanks")}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.pdf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, path, "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rest := strings.Join(strings.Fields(string(out)), " ")
	for _, part := range []string{
		"How much?", "ses_1 with agent shop", "User", "What does it cost?", "[bill.png, image/png, 9 bytes]", "Assistant a/b",
		"Calls shop__price",
		`{"of":"tea"}`, "Result of shop__price, an error", "five", "Assistant", "It costs 5 [1].", "[1] Prices: `tea` (handbook, doc_1", "5 euros",
		"The turn was cancelled.", "User", "Thanks", "The turn failed: expected a > b",
	} {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q is not in %q", part, rest)
		}
		rest = after
	}
}

// TestPDFIsBoundedByLines: a page costs as much when its lines are empty.
func TestPDFIsBoundedByLines(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text    string
		refused bool
	}{
		"a few lines":      {strings.Repeat("\n", 1000), false},
		"2 MiB of lines":   {strings.Repeat("\n", (2 << 20)), true},
		"many empty lines": {strings.Repeat("\n", (2<<20)/80+1), true},
		"many tabs":        {strings.Repeat("\t", (2<<20)/4), true},
	} {
		_, err := transcript.PDF(&sessionsv1.ExportSessionResponse{Messages: []*turnv1.Message{{
			Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: row.text}}},
		}}})
		if refused := fault.Is(err, faultv1.Reason_REASON_TOO_LARGE); refused != row.refused || err != nil && !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
