package catalog_test

import (
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

func TestWindowsOfModels(t *testing.T) {
	cfg := inferencetest.Config()
	cfg.Providers = []catalog.ProviderConfig{
		{Name: "openai", Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"gpt-4o"}},
		{Name: "claude", Kind: "anthropic", BaseURL: "http://127.0.0.1:1", Models: []string{"claude-sonnet-4-5"}},
		{Name: "vllm", Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"qwen"}},
	}
	cfg.Models = []catalog.ModelConfig{
		{Model: "vllm/small*", ContextWindow: 4096, MaxOutputTokens: 512},
		{Model: "openai/gpt-4o-tuned", ContextWindow: 64_000},
		{Model: "*/gpt-5*", MaxOutputTokens: 1000},
	}
	client := inferencetest.Serve(t, cfg, nil)
	for model, want := range map[string][2]int32{
		"openai/gpt-4o-mini": {128_000, 16_384}, "openai/gpt-4o-tuned": {64_000, 16_384}, "openai/gpt-5": {400_000, 1000},
		"claude/claude-sonnet-4-5": {200_000, 0}, "builtin/scripted": {1_000_000, 0}, "vllm/qwen": {0, 0}, "vllm/small-1": {4096, 512},
		"openai/gpt-4": {8192, 0}, "openai/o3-mini": {200_000, 100_000},
	} {
		m, err := client.ResolveModel(t.Context(), &inferencev1.ResolveModelRequest{Model: model})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]int32{m.GetContextWindow(), m.GetMaxOutputTokens()}; got != want {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
	listed, err := client.ListModels(t.Context(), &inferencev1.ListModelsRequest{})
	if err != nil || len(listed.GetModels()) == 0 || listed.GetModels()[0].GetContextWindow() != 128_000 {
		t.Errorf("listed %v, %v", listed.GetModels(), err)
	}
}

func TestWindowsThatAreRefused(t *testing.T) {
	for want, m := range map[string]catalog.ModelConfig{
		"models[0]: model is required":                       {ContextWindow: 8000},
		"context_window is 1999: at least 2000":              {Model: "a/*", ContextWindow: 1999},
		"max_output_tokens must not be negative":             {Model: "a/*", MaxOutputTokens: -1},
		"max_output_tokens must be less than context_window": {Model: "a/*", ContextWindow: 2000, MaxOutputTokens: 2000},
	} {
		if err := (catalog.Config{Models: []catalog.ModelConfig{m}}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
