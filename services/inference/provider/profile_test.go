package provider_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// TestProfiles compares a request to each server of a profile. It has an image, a sound, reasoning beside a call, an image in a result, and
// a message of the user right behind results.
func TestProfiles(t *testing.T) {
	for _, name := range []string{"vllm", "deepseek", "mistral", "groq", "openrouter", "lmstudio", "llamacpp"} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, stream(data(says("Hi"), stops("stop"), done)))
			req := conversation()
			req.Messages[1].Verbatim = &turnv1.Verbatim{
				Issuer: provider.Issuer("openai", f.URL+"/v1"), ReasoningFields: []string{"reasoning_content"},
			}
			req.Messages = slices.Insert(req.Messages, 6, inferencetest.User("Faster."))
			client := provide(t, "openai", f.URL+"/v1", allInputs, func(cfg *inference.Config) { cfg.Providers[0].Profile = name })
			if _, err := inferencetest.Ask(t.Context(), t, client, req); err != nil {
				t.Fatal(err)
			}
			golden(t, "profile_"+name+".json", f.seen()[0].body)
		})
	}
}

// allInputs are models that take all that their API takes.
func allInputs(cfg *inference.Config) {
	cfg.Models = []catalog.ModelConfig{{Model: "*", SheetConfig: catalog.SheetConfig{Input: []string{"text", "image", "audio", "pdf"}}}}
}

func TestProfilesAreOfAKind(t *testing.T) {
	for name, kind := range map[string]string{"vllm": "anthropic", "nothing": "openai"} {
		cfg := inferencetest.Config()
		cfg.Providers = []catalog.ProviderConfig{{Name: "a", Kind: kind, Profile: name, Models: []string{"m"}}}
		if err := cfg.Config.Check(); err == nil || !strings.Contains(err.Error(), "profile") {
			t.Errorf("%s for %s: %v", name, kind, err)
		}
	}
}

// TestProfilesHaveCapabilities checks that a profile says what its models take.
func TestProfilesHaveCapabilities(t *testing.T) {
	for name, want := range map[string][]string{
		"deepseek": {"text"}, "mistral": {"text", "image"}, "openrouter": {"text", "image", "audio", "pdf"}, "": {"text", "image"},
	} {
		client := provide(t, "openai", "http://127.0.0.1:9/v1", allInputs, func(cfg *inference.Config) { cfg.Providers[0].Profile = name })
		m, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{})
		if err != nil || !slices.Equal(m.GetCapabilities().GetInput(), want) {
			t.Errorf("%s: %v, %v", name, m.GetCapabilities(), err)
		}
	}
}

func TestDeepSeekCountsCachedTokens(t *testing.T) {
	f := newFake(t, stream(data(says("Hi"), stops("stop"),
		`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":2,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`, done)))
	got, err := inferencetest.Ask(t.Context(), t, provide(t, "openai", f.URL), conversation())
	if err != nil || got.Finished.GetUsage().GetCachedInputTokens() != 64 {
		t.Errorf("%v, %v", got.Finished.GetUsage(), err)
	}
}

// TestFilesOfEachAPI compares how a sound and a document are sent to the APIs that take them; the others get a note and a text.
func TestFilesOfEachAPI(t *testing.T) {
	file := func(media, name, data string) *turnv1.ContentPart {
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: media, Data: []byte(data), Name: name}}}
	}
	req := &inferencev1.GenerateRequest{Messages: []*turnv1.Message{{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{
		inferencetest.Text("Read:"), file("application/pdf", "plan.pdf", "%PDF-1.4 x"), file("audio/wav", "a.wav", "RIFF"),
	}}}}
	sent := map[string]json.RawMessage{}
	for kind, answer := range map[string]http.HandlerFunc{
		"openai":           stream(data(says("Hi"), stops("stop"), done)),
		"anthropic":        stream(events(begin, textBlock, writes("Hi"), stop0, ends("end_turn"), over)),
		"openai-responses": stream(events(created, textAt(0, "Hi"), completes())), "gemini": stream(data(parts(`{"text":"Hi"}`), finishes("STOP"))),
		"bedrock": frames(startFrame + saysFrame("Hi") + stopFrame(0) + stopsWith("end_turn")),
	} {
		f := newFake(t, answer)
		if _, err := inferencetest.Ask(t.Context(), t, provide(t, kind, f.URL, allInputs, func(cfg *inference.Config) {
			switch kind {
			case "openai":
				cfg.Providers[0].Profile = "openrouter"
			case "bedrock":
				cfg.Providers[0].Region = "eu-central-1"
			}
		}), req); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal([]byte(f.seen()[0].body), &body); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"messages", "input", "contents"} {
			if body[name] != nil {
				sent[kind] = body[name]
			}
		}
	}
	all, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "files.json", string(all))
}
