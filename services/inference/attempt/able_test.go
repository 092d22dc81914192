package attempt_test

import (
	"slices"
	"strings"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// TestATargetThatTakesTheInputIsAskedFirst has a model that takes text only, one that takes images, and one that takes images and sounds.
func TestATargetThatTakesTheInputIsAskedFirst(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, func(cfg *inference.Config) {
		cfg.Providers[2].Profile = "vllm" // its API takes sounds
		for model, input := range map[string][]string{"a/m": {"text"}, "b/m": {"text", "image"}, "c/m": {"text", "image", "audio"}} {
			cfg.Models = append(cfg.Models, catalog.ModelConfig{Model: model, SheetConfig: catalog.SheetConfig{Input: input}})
		}
	}, says("stop", "a"), says("stop", "b"), says("stop", "c"))
	blob := func(mediaType string) *turnv1.ContentPart {
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: mediaType, Data: []byte("x")}}}
	}
	for _, row := range []struct {
		name    string
		turn    string
		content *turnv1.ContentPart
		targets string
		want    string
		warns   bool
	}{
		{"text", "trn_1", inferencetest.Text("hello"), "a b c", "a", false},
		{"an image", "trn_1", blob("image/png"), "a b c", "b", true},
		{"an image by another name", "trn_1", blob("image/jpg"), "a c b", "c", true},
		{"a sound", "trn_1", blob("audio/wav"), "a b c", "c", true},
		{"a document has a text", "trn_1", blob("application/pdf"), "a b c", "a", false},
		{"text in a file", "trn_1", blob("text/csv"), "a b c", "a", false},
		{"a sound that none takes", "trn_1", blob("audio/wav"), "a b", "a", false},
		{"what no model takes", "trn_1", blob("application/zip"), "a b c", "a", false},
		{"the first one takes it", "trn_1", blob("image/png"), "b a c", "b", false},
		{"an image of an earlier turn", "trn_0", blob("image/png"), "a b c", "a", false},
	} {
		req := call(strings.Fields(row.targets)...)
		req.TurnId = "trn_1"
		req.Messages = []*turnv1.Message{{
			Role: turnv1.Role_ROLE_USER, TurnId: row.turn, Content: []*turnv1.ContentPart{inferencetest.Text("what is it?"), row.content},
		}}
		got, err := inferencetest.Ask(t.Context(), t, client, req)
		if err != nil {
			t.Fatal(row.name, err)
		}
		warned := slices.ContainsFunc(got.Finished.GetWarnings(), func(w string) bool { return strings.Contains(w, "a/m is not asked first") })
		if text := strings.Join(got.Texts, ""); text != row.want || warned != row.warns {
			t.Errorf("%s: %s answers, warnings %q; want %s", row.name, text, got.Finished.GetWarnings(), row.want)
		}
	}
}
