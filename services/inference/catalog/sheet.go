package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// SheetConfig says what some models take besides text, and which abilities they lack.
type SheetConfig struct {
	Input         []string    `yaml:"input" doc:"What the models take: text, image, audio, pdf. Other files are given to them as text, or not at all. Empty: as known for the family."`
	MaxImages     int         `yaml:"max_images" doc:"Images of one call; older ones are left out. 0: as the provider's API has it."`
	MaxImageEdge  int         `yaml:"max_image_edge" doc:"Width and height of an image in pixels; larger ones are scaled. 0: as the provider's API has it."`
	MaxImageBytes config.Size `yaml:"max_image_bytes" doc:"Size of an image; larger ones are scaled. 0, or more than the provider's API has: as the API has it."`
	MaxFileBytes  config.Size `yaml:"max_file_bytes" doc:"Size of a sound or document that is passed on as it is. 0, or more than the provider's API has: as the API has it."`
	Without       []string    `yaml:"without" doc:"Abilities that the models lack: tools, structured_output."`
}

// Words of SheetConfig.
const (
	inputText, inputImage, inputAudio, inputPDF = "text", "image", "audio", "pdf"
	withTools, withStructuredOutput             = "tools", "structured_output"
)

func (s SheetConfig) check() error {
	for _, in := range s.Input {
		if !slices.Contains([]string{inputText, inputImage, inputAudio, inputPDF}, in) {
			return fmt.Errorf("input %q: it must be text, image, audio or pdf", in)
		}
	}
	for _, ability := range s.Without {
		if !slices.Contains([]string{withTools, withStructuredOutput}, ability) {
			return fmt.Errorf("without %q: it must be tools or structured_output", ability)
		}
	}
	if s.MaxImages < 0 || s.MaxImageEdge < 0 || s.MaxImageBytes < 0 || s.MaxFileBytes < 0 {
		return errors.New("max_images, max_image_edge, max_image_bytes and max_file_bytes must not be negative")
	}
	return nil
}

// knownSheets lists what families of models take of what their API does, as documented by their makers. The first match applies.
func knownSheets() []ModelConfig {
	takes := func(model string, input ...string) ModelConfig {
		return ModelConfig{Model: model, SheetConfig: SheetConfig{Input: input}}
	}
	return []ModelConfig{
		takes(builtin+"/*", inputText, inputImage, inputAudio),
		takes("*/gpt-3.5*", inputText),
		takes("openai/gpt-4", inputText),
		takes("openai/gpt-4-0613", inputText),
		takes("*/gpt-4-32k*", inputText),
		takes("*/gpt-4o*audio*", inputText, inputAudio),
		takes("*/gpt-audio*", inputText, inputAudio),
		takes("*/gpt-4*", inputText, inputImage, inputPDF),
		takes("*/gpt-5*", inputText, inputImage, inputPDF),
		takes("*/o1-mini*", inputText),
		takes("*/o3-mini*", inputText),
		takes("openai/o*", inputText, inputImage, inputPDF),
		takes("*claude-2*", inputText),
		takes("*claude-instant*", inputText),
		takes("*claude-3-haiku*", inputText, inputImage),
		takes("*claude-3-sonnet*", inputText, inputImage),
		takes("*claude-3-opus*", inputText, inputImage),
		takes("*claude-*", inputText, inputImage, inputPDF),
		takes("*gemini-*", inputText, inputImage, inputAudio, inputPDF),
		takes("*amazon.nova-micro*", inputText),
		takes("*amazon.nova-*", inputText, inputImage, inputPDF),
		takes("*amazon.titan-*", inputText),
		takes("*/deepseek-*", inputText),
		takes("*/*pixtral*", inputText, inputImage),
		takes("mistral/codestral*", inputText),
		takes("mistral/open-mi*", inputText),
		takes("*/gemma-3*", inputText, inputImage),
		takes("*", inputText, inputImage), // one of which nothing is known is shown images
	}
}

// Sheet returns what a model takes and can do: of what the API of its provider takes, what is known for the family of the model, with the
// limits of the first matching entry of the configuration.
func (c *Catalog) Sheet(m Model) provider.Sheet {
	var set SheetConfig
	if own := matching(c.cfg.Models, m); own != nil {
		set = own.SheetConfig
	}
	if set.Input == nil {
		set.Input = matching(knownSheets(), m).Input
	}
	sheet := m.Provider.Kind.Sheet
	if own, ok := m.Provider.Provider.(provider.Described); ok {
		sheet = own.Sheet()
	}
	if !slices.Contains(set.Input, inputImage) {
		sheet.Images = provider.Images{}
	}
	if !slices.Contains(set.Input, inputAudio) {
		sheet.Audio = provider.Files{}
	}
	if !slices.Contains(set.Input, inputPDF) {
		sheet.Documents = provider.Files{}
	}
	i := &sheet.Images
	i.MaxCount, i.MaxEdge = cmp.Or(set.MaxImages, i.MaxCount), cmp.Or(set.MaxImageEdge, i.MaxEdge)
	i.MaxBytes = lower(int(set.MaxImageBytes), i.MaxBytes)
	for _, files := range []*provider.Files{&sheet.Audio, &sheet.Documents} {
		files.MaxBytes = lower(int(set.MaxFileBytes), files.MaxBytes)
	}
	sheet.Tools = sheet.Tools && !slices.Contains(set.Without, withTools)
	sheet.StructuredOutput = sheet.StructuredOutput && !slices.Contains(set.Without, withStructuredOutput)
	return sheet
}

// lower returns the lower of a configured limit and that of the API; 0 is none.
func lower(set, most int) int {
	if set == 0 || most > 0 && most < set {
		return most
	}
	return set
}

// matching returns the first entry for a model; nil if there is none.
func matching(entries []ModelConfig, m Model) *ModelConfig {
	for _, e := range entries {
		if glob.Match(e.Model, m.FullName()) {
			return &e
		}
	}
	return nil
}

// Input returns the kinds of content that a sheet takes.
func Input(s provider.Sheet) []string {
	out := []string{inputText}
	for _, kind := range []struct {
		name  string
		types []string
	}{{inputImage, s.Images.Types}, {inputAudio, s.Audio.Types}, {inputPDF, s.Documents.Types}} {
		if len(kind.types) > 0 {
			out = append(out, kind.name)
		}
	}
	return out
}
