package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolschema"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/anthropic"
	"github.com/windlass-dev/windlass/services/inference/provider/bedrock"
	"github.com/windlass-dev/windlass/services/inference/provider/gemini"
	"github.com/windlass-dev/windlass/services/inference/provider/ollama"
	"github.com/windlass-dev/windlass/services/inference/provider/openai"
	"github.com/windlass-dev/windlass/services/inference/provider/responses"
)

// modelAPIs are the kinds of providers, and the models that take something else.
var modelAPIs = []struct {
	name  string
	terms provider.Terms
}{
	{"openai", openai.Terms},
	{"openai, Google's models", openai.Google},
	{"openai-responses", responses.Terms},
	{"anthropic", anthropic.Terms},
	{"gemini", gemini.Terms},
	{"bedrock, Claude", bedrock.Claude},
	{"bedrock, other models", bedrock.Terms},
	{"ollama", ollama.Terms},
}

// probes are properties that have a keyword, by its name. A reference leads to a text.
var probes = [][2]string{
	{"type", `{"type":"string"}`},
	{"several types", `{"type":["string","integer"]}`},
	{"null", `{"type":["string","null"]}`},
	{"description", `{"type":"string","description":"d"}`},
	{"default", `{"type":"string","default":"x"}`},
	{"examples", `{"type":"string","examples":["x"]}`},
	{"enum", `{"type":"string","enum":["x"]}`},
	{"enum of numbers", `{"type":"integer","enum":[1]}`},
	{"const", `{"const":"x"}`},
	{"format", `{"type":"string","format":"uri"}`},
	{"pattern", `{"type":"string","pattern":"^x$"}`},
	{"minLength", `{"type":"string","minLength":1}`},
	{"minimum", `{"type":"number","minimum":1}`},
	{"exclusiveMinimum", `{"type":"number","exclusiveMinimum":1}`},
	{"multipleOf", `{"type":"number","multipleOf":2}`},
	{"items", `{"type":"array","items":{"type":"string"}}`},
	{"minItems", `{"type":"array","items":{"type":"string"},"minItems":1}`},
	{"uniqueItems", `{"type":"array","items":{"type":"string"},"uniqueItems":true}`},
	{"prefixItems", `{"type":"array","items":{"type":"string"},"prefixItems":[{"type":"string"}]}`},
	{"properties", `{"type":"object","properties":{"a":{"type":"string"}}}`},
	{"required", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
	{"additionalProperties", `{"type":"object","additionalProperties":{"type":"string"}}`},
	{"patternProperties", `{"type":"object","patternProperties":{"^x":{"type":"string"}}}`},
	{"anyOf", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
	{"oneOf", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`},
	{"allOf", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`},
	{"not", `{"type":"string","not":{"const":"x"}}`},
	{"if", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]}}`},
	{"$ref", `{"$ref":"#/$defs/a"}`},
}

const modelIntro = `Each API of models takes a part of JSON Schema in the definitions of tools, and refuses requests with more. Tools are compiled for the API
that reads them; [0096](../adr/0096-tools-and-conversations-are-compiled.md) has the reasons. The arguments of a call are checked against the
schema of the source, whatever the model was offered.

- **yes**: offered as it is.
- **replaced**: said with other keywords, with the same meaning or one that allows more.
- **words**: in the description of the property, as keyword and value.
- **no**: left out, and not said.`

const modelEnd = `
At the top of a schema no API takes ` + "`anyOf`, `oneOf`, `allOf`, `not`, `enum`, `const`, `if`" + ` and dependencies: their properties are merged, and the
rest is said in words.

A tool whose schema takes no object, or is larger than 64 KiB without its nested parts, is offered to no model: its source has a warning. A
tool that the API refuses although it was compiled is offered in the smallest form, then not at all. Each answer names in its ` + "`warnings`" + ` the
tools that were not offered.

## Conversations

Each request has a conversation that its API takes, whatever is stored:

- A call without a result gets one that says so. A result comes right behind its call; one whose call is gone is a message of the user.
- Empty answers are left out, and an empty message of the user says that it is empty. The last message is not the model's.
- Names of tools and ids of calls that an API refuses are replaced, also those of tools that no longer exist.
- What a provider sent for itself, such as signatures, goes back to it alone.
- An image has the type that its bytes have. One that the provider refuses is replaced by a note.
- For all but OpenAI's own API, messages of the user that follow each other become one.
- For ` + "`anthropic`, `gemini` and `bedrock`" + `, a conversation that begins with the model gets a message of the user before it.`

// writeModelAPIs writes the page of what the APIs of models take.
func writeModelAPIs(w *writer, _ string) error {
	w.title("Model APIs", modelIntro)
	w.line("\n## Schemas of tools\n")
	heads := []string{"Keyword"}
	for _, api := range modelAPIs {
		heads = append(heads, api.name)
	}
	w.row(heads)
	w.line("|%s", strings.Repeat("---|", len(heads)))
	for _, probe := range probes {
		cells := []string{code(probe[0])}
		for _, api := range modelAPIs {
			outcome, err := probed(api.terms.Form, probe[0], probe[1])
			if err != nil {
				return err
			}
			cells = append(cells, outcome)
		}
		w.row(cells)
	}
	for _, limit := range []struct {
		name string
		of   func(provider.Terms) string
	}{
		{"names of properties", func(t provider.Terms) string {
			if t.Form.Keys == nil {
				return "any"
			}
			return code(t.Form.Keys.String())
		}},
		{"characters of a description", func(t provider.Terms) string { return limitOf(t.MaxDescription) }},
		{"tools of a request", func(t provider.Terms) string { return limitOf(t.MaxTools) }},
	} {
		cells := []string{limit.name}
		for _, api := range modelAPIs {
			cells = append(cells, limit.of(api.terms))
		}
		w.row(cells)
	}
	w.line("\n%s", strings.TrimSpace(modelEnd))
	return nil
}

// row writes a line of a table.
func (w *writer) row(cells []string) { w.line("| %s |", strings.Join(cells, " | ")) }

func limitOf(n int) string {
	if n == 0 {
		return "any"
	}
	return fmt.Sprint(n)
}

// probed compiles a property, and returns what becomes of its keyword.
func probed(form *toolschema.Form, keyword, property string) (string, error) {
	schema := fmt.Sprintf(`{"type":"object","properties":{"p":%s},"$defs":{"a":{"type":"string"}}}`, property)
	fitted, err := toolschema.Fit(schema, form)
	if err != nil {
		return "", fmt.Errorf("%s: %w", keyword, err)
	}
	var out struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(fitted.JSON, &out); err != nil {
		return "", err
	}
	p := out.Properties["p"]
	_, types := p["type"].([]any)
	_, has := p[keyword]
	description, _ := p["description"].(string)
	switch {
	case has, types, keyword == "enum of numbers" && p["enum"] != nil:
		return "yes", nil
	case strings.Contains(description, strings.Fields(keyword)[0]+": "):
		return "words", nil
	case keyword == "const" || keyword == "oneOf" || keyword == "allOf" || keyword == "$ref" || keyword == "several types" ||
		keyword == "null" && (p["nullable"] != nil || strings.Contains(description, "or: null")):
		return "replaced", nil
	}
	return "no", nil
}
