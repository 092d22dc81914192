package catalog

import (
	"cmp"
	"errors"
	"fmt"
)

// ModelConfig holds the limits of some models.
type ModelConfig struct {
	Model           string `yaml:"model" doc:"Models that this applies to, as provider/model, with * for any run of characters: vllm/qwen*."`
	ContextWindow   int32  `yaml:"context_window" doc:"Tokens that one call can read and write together. 0: as known for the model's family."`
	MaxOutputTokens int32  `yaml:"max_output_tokens" doc:"Tokens that one answer can have. 0: as known for the model's family."`
	SheetConfig     `yaml:",inline"`
}

// minWindow is the smallest window that fits a conversation.
const minWindow = 2000

func (m ModelConfig) check() error {
	switch {
	case m.Model == "":
		return errors.New("model is required: a name or a pattern such as vllm/*")
	case m.ContextWindow != 0 && m.ContextWindow < minWindow:
		return fmt.Errorf("context_window is %d: at least %d tokens are needed, or 0", m.ContextWindow, minWindow)
	case m.MaxOutputTokens < 0:
		return errors.New("max_output_tokens must not be negative")
	case m.ContextWindow != 0 && m.MaxOutputTokens >= m.ContextWindow:
		return errors.New("max_output_tokens must be less than context_window")
	}
	return m.SheetConfig.check()
}

// families lists the windows of well-known models, as documented by their makers. The first match applies, after the configuration. Models
// that run with a window of the operator's choice, as with Ollama and vLLM, are not listed.
func families() []ModelConfig {
	known := func(model string, window, output int32) ModelConfig {
		return ModelConfig{Model: model, ContextWindow: window, MaxOutputTokens: output}
	}
	return []ModelConfig{
		known(builtin+"/scripted", 1_000_000, 0),
		known("*/gpt-5-chat*", 128_000, 16_384),
		known("*/gpt-5*", 400_000, 128_000),
		known("*/gpt-4.1*", 1_047_576, 32_768),
		known("*/gpt-4o*", 128_000, 16_384),
		known("*/gpt-4-turbo*", 128_000, 4_096),
		known("*/gpt-4-32k*", 32_768, 0),
		known("openai/gpt-4", 8_192, 0),
		known("openai/gpt-4-0613", 8_192, 0),
		known("*/gpt-3.5-turbo*", 16_385, 4_096),
		known("*/o1-mini*", 128_000, 65_536),
		known("openai/o1*", 200_000, 100_000),
		known("openai/o3*", 200_000, 100_000),
		known("openai/o4*", 200_000, 100_000),
		known("*/claude-3-5-*", 200_000, 8_192),
		known("*/claude-3-7-*", 200_000, 64_000),
		known("*/claude-3-*", 200_000, 4_096),
		known("*/claude-opus-4-1*", 200_000, 32_000),
		known("*/claude-*", 200_000, 0),
		known("*/gemini-1.5-pro*", 2_097_152, 8_192),
		known("*/gemini-1.5-*", 1_048_576, 8_192),
		known("*/gemini-2.0-*", 1_048_576, 8_192),
		known("*/gemini-2.5-*", 1_048_576, 65_536),
		known("*/gemini-3*", 1_048_576, 65_536),
		known("*/gemini-flash*", 1_048_576, 65_536),
		known("mistral/mistral-large*", 128_000, 0),
		known("deepseek/deepseek-*", 128_000, 8_192),
	}
}

// Window returns a model's limits, each 0 if unknown: those of the first matching entry of the configuration, and for unset ones those of
// its family.
func (c *Catalog) Window(m Model) (window, output int32) {
	for _, known := range [][]ModelConfig{c.cfg.Models, families()} {
		if entry := matching(known, m); entry != nil {
			window, output = cmp.Or(window, entry.ContextWindow), cmp.Or(output, entry.MaxOutputTokens)
		}
	}
	if output >= window {
		output = 0
	}
	return window, output
}
