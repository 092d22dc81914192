package shield

import (
	"slices"
	"testing"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestFilesOfUsersAreCheckedAsTheirTexts: what models read as text of a user's files is checked and redacted; images are left alone.
func TestFilesOfUsersAreCheckedAsTheirTexts(t *testing.T) {
	blob := func(mediaType, data string) *turnv1.ContentPart {
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: mediaType, Data: []byte(data)}}}
	}
	m := &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{
		{Part: &turnv1.ContentPart_Text{Text: "read it"}},
		blob("image/png", "picture"), blob("text/markdown", "card 4111"),
		blob("application/json", `{"card":"4111"}`), blob("text/plain", "\xff"),
	}}
	if got, want := userTexts(m), []string{"read it", "card 4111", `{"card":"4111"}`}; !slices.Equal(got, want) {
		t.Fatalf("checked are %q, want %q", got, want)
	}
	hit := []*policyv1.ShieldHit{{}}
	got := redactedMessage(m, []*policyv1.CheckedText{{}, {Redacted: true, Text: "card [redacted]", Hits: hit}, {Blocked: true, Hits: hit}})
	if text := got.GetContent()[2].GetText(); text != "card [redacted]" {
		t.Errorf("the redacted file is %q", text)
	}
	if last := got.GetContent()[3]; last.GetText() == "" || last.GetBlob() != nil {
		t.Errorf("the blocked file is %v", last)
	}
	if m.GetContent()[2].GetBlob() == nil || got.GetContent()[1].GetBlob() == nil || got.GetContent()[0].GetText() != "read it" {
		t.Errorf("other parts have changed: %v, %v", m, got)
	}
}
