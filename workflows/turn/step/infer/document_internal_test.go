package infer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/media"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// redacting is a shield that redacts "secret" and blocks "forbidden" in what users say.
type redacting struct{}

func (redacting) CheckText(_ context.Context, req *policyv1.CheckTextRequest, _ ...grpc.CallOption) (*policyv1.CheckTextResponse, error) {
	out := &policyv1.CheckTextResponse{Stages: []string{shield.StageInput}}
	for _, text := range req.GetTexts() {
		c := &policyv1.CheckedText{Blocked: strings.Contains(text, "forbidden"), Redacted: strings.Contains(text, "secret")}
		if c.GetRedacted() {
			c.Text = strings.ReplaceAll(text, "secret", "***")
		}
		if c.GetBlocked() || c.GetRedacted() {
			c.Hits = []*policyv1.ShieldHit{{Shield: "s"}}
		}
		out.Texts = append(out.Texts, c)
	}
	return out, nil
}

// pdf is a PDF document of one page with a text.
func pdf(text string) *turnv1.ContentPart {
	content := "BT /F1 12 Tf 72 720 Td (" + text + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
	}
	b, table := "%PDF-1.4\n", ""
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(b))
		b += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b += fmt.Sprintf("xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", table, len(b))
	document := &turnv1.Blob{MediaType: "application/pdf", Name: "a.pdf", Data: []byte(b)}
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: document}}
}

func newInfer(t *testing.T, shields ...string) *infer {
	t.Helper()
	checker, err := shield.New(redacting{})
	if err != nil {
		t.Fatal(err)
	}
	converter, err := media.New()
	if err != nil {
		t.Fatal(err)
	}
	loaded := &step.Loaded{Agent: &sessionsv1.Agent{Shields: shields}}
	return &infer{
		Deps: Deps{Shields: checker, Media: converter}, Work: &step.Work{Turn: contract.TurnInput{TurnID: "trn_1"}, Loaded: loaded},
	}
}

// TestTextOfDocumentsIsChecked: what a model may read of a user's PDF document passes the shields, and a document without findings stays.
func TestTextOfDocumentsIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"the secret word": "the *** word", "a forbidden word": "withheld", "a fine word": "",
	} {
		i := newInfer(t, "s")
		original := []*turnv1.Message{{Role: turnv1.Role_ROLE_USER, TurnId: "trn_1", Content: []*turnv1.ContentPart{pdf(text)}}}
		messages, documents, err := i.checkable(t.Context(), original)
		if err != nil {
			t.Fatal(err)
		}
		messages, _, err = i.Shields.Conversation(t.Context(), i.Work, messages)
		if err != nil {
			t.Fatal(err)
		}
		restore(messages, documents)
		got := messages[0].GetContent()[0]
		if want == "" && !bytes.Equal(got.GetBlob().GetData(), pdf(text).GetBlob().GetData()) || !strings.Contains(got.GetText(), want) {
			t.Errorf("%s: the model reads %v", text, got)
		}
		if original[0].GetContent()[0].GetBlob() == nil {
			t.Errorf("%s: the history is changed", text)
		}
	}
}
