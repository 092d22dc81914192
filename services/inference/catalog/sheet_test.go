package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/secret"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestCapabilities(t *testing.T) {
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{
		{Name: "openai", Kind: "openai", APIKey: secret.New("k")},
		{Name: "house", Kind: "openai", BaseURL: "http://127.0.0.1:9"},
		{Name: "anthropic", Kind: "anthropic", APIKey: secret.New("k")},
		{Name: "gemini", Kind: "gemini", APIKey: secret.New("k")},
		{Name: "ollama", Kind: "ollama", BaseURL: "http://127.0.0.1:9"},
		{Name: "responses", Kind: "openai-responses", APIKey: secret.New("k")},
	}
	cfg.Models = []catalog.ModelConfig{
		{Model: "house/eye*", SheetConfig: catalog.SheetConfig{
			Input: []string{"text", "image"}, MaxImages: 3, MaxImageEdge: 640, MaxImageBytes: 1000, Without: []string{"tools", "structured_output"},
		}},
		{Model: "house/blind", ContextWindow: 4000, SheetConfig: catalog.SheetConfig{Input: []string{"text"}}},
		{Model: "anthropic/claude-sonnet*", SheetConfig: catalog.SheetConfig{MaxImageBytes: 1 << 30, MaxFileBytes: 1 << 30}},
		{Model: "gemini/small", SheetConfig: catalog.SheetConfig{Input: []string{"audio"}, MaxFileBytes: 7}},
	}
	client := inferencetest.Serve(t, cfg, nil)
	for model, want := range map[string]string{
		"openai/gpt-5.4-mini": "text image pdf", "openai/gpt-3.5-turbo": "text", "openai/gpt-4o-audio-preview": "text audio",
		"responses/gpt-4.1": "text image pdf", "anthropic/claude-sonnet-5-5": "text image pdf", "anthropic/claude-3-haiku-1": "text image",
		"gemini/gemini-3-pro": "text image audio pdf", "ollama/qwen3": "text image", "ollama/deepseek-r1": "text", "house/other": "text image",
		"house/eye-1": "text image", "house/blind": "text", "builtin/scripted": "text image audio", "gemini/small": "text audio",
	} {
		m, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: model})
		if err != nil {
			t.Fatal(err)
		}
		c := m.GetCapabilities()
		if got := strings.Join(c.GetInput(), " "); got != want {
			t.Errorf("%s takes %s, want %s", model, got, want)
		}
		if slices.Contains(c.GetInput(), "image") != slices.Contains(c.GetMediaTypes(), "image/png") || m.GetSupportsTools() != c.GetTools() {
			t.Errorf("%s: %v", model, m)
		}
		switch model {
		case "house/eye-1":
			if c.GetMaxImages() != 3 || c.GetMaxImageEdge() != 640 || c.GetMaxImageBytes() != 1000 || c.GetTools() || c.GetStructuredOutput() {
				t.Errorf("%s: %v", model, c)
			}
		case "gemini/small":
			if c.GetMaxAudioBytes() != 7 {
				t.Errorf("%s: %v", model, c)
			}
		case "anthropic/claude-sonnet-5-5":
			if c.GetMaxImageEdge() != 1568 || !c.GetTools() || c.GetMaxImageBytes() >= 1<<30 || c.GetMaxDocumentBytes() >= 1<<30 {
				t.Errorf("%s: %v", model, c)
			}
		}
	}
}

func TestWrongCapabilities(t *testing.T) {
	for want, s := range map[string]catalog.SheetConfig{
		`input "video"`:        {Input: []string{"text", "video"}},
		`without "images"`:     {Without: []string{"images"}},
		"must not be negative": {MaxImages: -1},
	} {
		err := (catalog.Config{Models: []catalog.ModelConfig{{Model: "a/*", SheetConfig: s}}}).Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAProfileSaysWhatModelsTake, with or without an address.
func TestAProfileSaysWhatModelsTake(t *testing.T) {
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{
		{Name: "openai", Kind: "openai", APIKey: secret.New("k")},
		{Name: "mistral", Kind: "openai", Profile: "mistral", APIKey: secret.New("k")},
		{Name: "proxied", Kind: "openai", Profile: "groq", BaseURL: "http://127.0.0.1:9"},
		{Name: "named", Kind: "openai", BaseURL: "https://api.deepseek.com/v1", APIKey: secret.New("k")},
		{Name: "house", Kind: "openai", Profile: "vllm"},
	}
	client := inferencetest.Serve(t, cfg, nil)
	for model, want := range map[string]string{
		"openai/gpt-4o": "generation.reasoning_effort", "mistral/gpt-4o": "generation.seed", "named/x": "generation.seed", "house/gpt-4o": "",
		"proxied/x": "generation.presence_penalty generation.frequency_penalty",
	} {
		m, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: model})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(m.GetUnsupported(), " "); got != want {
			t.Errorf("%s does not take %q, want %q", model, got, want)
		}
	}
}
