package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// featurePath is the page that the matrix of features is printed on.
const featurePath = "../../../docs/reference/model-features.md"

const featureIntro = `# Model features

<!-- Printed by TestGenerationIsHonouredOrRefused in services/inference/provider. Do not edit: run it with UPDATE_GOLDEN=1. -->

What each API of models does with what an agent sets, by a model of its vendor:
%s. Nothing is dropped: what a model does not take is refused
by the name of the field before the call, and goes to the next [target](../how-to/routes.md) of the chain. Models of one API differ; the ones
that are known to are in [the capabilities](../how-to/files.md#see-what-a-model-takes) and ` + "`unsupported`" + ` of ` + "`GET /v1/models`" + `.
[Try a model](../how-to/providers.md#try-a-model) to see what yours does.

- **honoured**: the request to the provider has it.
- **refused**: the call fails with ` + "`model_rejected`" + `, and names the field.

| Feature | Field | %s |
|---|---|%s
`

// featurePage is what the dialects did with the features.
type featurePage struct {
	rows []string                     // of features, in order
	seen map[string]map[string]string // by feature and dialect
}

// featureKinds are the columns.
var featureKinds = []string{"openai", "openai-responses", "anthropic", "gemini", "bedrock", "ollama"}

func newFeaturePage() *featurePage { return &featurePage{seen: map[string]map[string]string{}} }

// note records the outcome of a feature.
func (p *featurePage) note(name, field, kind string, err error) {
	row := fmt.Sprintf("| %s | `%s` |", name, field)
	if p.seen[row] == nil {
		p.rows, p.seen[row] = append(p.rows, row), map[string]string{}
	}
	p.seen[row][kind] = "honoured"
	if err != nil {
		p.seen[row][kind] = "refused"
	}
}

// compare compares the page with the one in docs; UPDATE_GOLDEN=1 writes it.
func (p *featurePage) compare(t *testing.T) {
	t.Helper()
	var models []string
	all := dialects(t)
	for _, kind := range featureKinds {
		models = append(models, fmt.Sprintf("`%s` of `%s`", all[kind].model, kind))
		p.note("embeddings", "POST /v1/models:embed", kind, callOf(t, kind, func(c inferencev1.InferenceServiceClient, model string) error {
			_, err := c.Embed(t.Context(), &inferencev1.EmbedRequest{Model: model, Texts: []string{"a"}})
			return err
		}))
	}
	var out strings.Builder
	fmt.Fprintf(&out, featureIntro, strings.Join(models, ",\n"), strings.Join(featureKinds, " | "), strings.Repeat("---|", len(featureKinds)))
	for _, row := range p.rows {
		out.WriteString(row)
		for _, kind := range featureKinds {
			fmt.Fprintf(&out, " %s |", p.seen[row][kind])
		}
		out.WriteString("\n")
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(filepath.FromSlash(featurePath), []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.FromSlash(featurePath))
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != out.String() {
		t.Errorf("docs/reference/model-features.md is not what the providers do; run this test with UPDATE_GOLDEN=1. Now:\n%s", out.String())
	}
}

// callOf calls a model that embeds of a kind, whose server has one vector for each text.
func callOf(t *testing.T, kind string, call func(inferencev1.InferenceServiceClient, string) error) error {
	t.Helper()
	answer, model := "{}", "model-1"
	for _, k := range embedKinds {
		if k.kind == kind && !k.single {
			answer, model = k.answer("[1]"), k.model
		}
	}
	f := newFake(t, sends(answer))
	return call(provide(t, kind, f.URL, regional), "test/"+model)
}
