package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// citySchema is one that every API can be constrained to.
const citySchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`

const (
	refusedField = "" // the call is refused, by the name of the field
	absent       = "!"
)

// dialects has a vendor of each kind, with the model of the matrix.
func dialects(t *testing.T) map[string]*vendor {
	t.Helper()
	all := vendors()
	out := map[string]*vendor{}
	for kind, from := range map[string]struct{ vendor, model string }{
		"openai": {"OpenAI", "gpt-x"}, "openai-responses": {"OpenAI's responses", "gpt-x"}, "anthropic": {"Anthropic", "claude-sonnet-5-5"},
		"gemini": {"Gemini's own API", "gemini-3-pro"}, "bedrock": {"Bedrock's Converse", "eu.anthropic.claude-sonnet-5-5-v1:0"},
		"ollama": {"Ollama", "gpt-oss:20b"},
	} {
		v := *all[from.vendor]
		if v.kind != kind {
			t.Fatalf("%s is of the kind %s", from.vendor, v.kind)
		}
		v.model = from.model
		out[kind] = &v
	}
	return out
}

// open serves the vendor; next returns the answer to the next call.
func (v *vendor) open(t *testing.T, next func() string) (*fake, inferencev1.InferenceServiceClient) {
	t.Helper()
	f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if other := v.other[r.URL.Path]; other != nil {
			other(w, r)
			return
		}
		v.respond(next())(w, r)
	})
	return f, provide(t, v.kind, f.URL)
}

// chats are the bodies of the calls of models.
func (f *fake) chats() []string {
	var out []string
	for _, s := range f.seen() {
		if s.path != "/api/show" {
			out = append(out, s.body)
		}
	}
	return out
}

// features are what a request can say of how a model answers.
var features = []struct {
	name, field string
	set         func(*inferencev1.GenerateRequest)
}{
	{"temperature", "temperature", func(r *inferencev1.GenerateRequest) { r.Temperature = new(0.5) }},
	{"max tokens", "max_output_tokens", func(r *inferencev1.GenerateRequest) { r.MaxOutputTokens = 100 }},
	{"any tool", "generation.tool_choice", func(r *inferencev1.GenerateRequest) { r.Generation.ToolChoice = "required" }},
	{"one tool", "generation.tool_choice", func(r *inferencev1.GenerateRequest) { r.Generation.ToolChoice = "s__echo" }},
	{"no tool", "generation.tool_choice", func(r *inferencev1.GenerateRequest) { r.Generation.ToolChoice = "none" }},
	{"one call", "generation.parallel_tool_calls", func(r *inferencev1.GenerateRequest) {
		r.Generation.ParallelToolCalls = new(false)
	}},
	{"effort", "generation.reasoning_effort", func(r *inferencev1.GenerateRequest) { r.Generation.ReasoningEffort = "low" }},
	{"stop", "generation.stop", func(r *inferencev1.GenerateRequest) { r.Generation.Stop = []string{"END"} }},
	{"top_p", "generation.top_p", func(r *inferencev1.GenerateRequest) { r.Generation.TopP = new(0.9) }},
	{"seed", "generation.seed", func(r *inferencev1.GenerateRequest) { r.Generation.Seed = new(int32(7)) }},
	{"presence", "generation.presence_penalty", func(r *inferencev1.GenerateRequest) { r.Generation.PresencePenalty = new(0.5) }},
	{"frequency", "generation.frequency_penalty", func(r *inferencev1.GenerateRequest) {
		r.Generation.FrequencyPenalty = new(-0.5)
	}},
	{"schema", "output_format", func(r *inferencev1.GenerateRequest) {
		r.Tools, r.OutputFormat = nil, &inferencev1.OutputFormat{SchemaJson: citySchema}
	}},
}

// TestGenerationIsHonouredOrRefused is the matrix of features and kinds: what the request has, or that it is refused by name.
func TestGenerationIsHonouredOrRefused(t *testing.T) {
	matrix := map[string][]string{
		"openai": {
			`"temperature":0.5`, `"max_tokens":100`, `"tool_choice":"required"`,
			`"tool_choice":{"function":{"name":"s__echo"},"type":"function"}`, `"tool_choice":"none"`, `"parallel_tool_calls":false`,
			`"reasoning_effort":"low"`, `"stop":["END"]`, `"top_p":0.9`, `"seed":7`, `"presence_penalty":0.5`, `"frequency_penalty":-0.5`,
			`"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{`,
		},
		"openai-responses": {
			`"temperature":0.5`, `"max_output_tokens":100`, `"tool_choice":"required"`, `"tool_choice":{"name":"s__echo","type":"function"}`,
			`"tool_choice":"none"`, `"parallel_tool_calls":false`, `"reasoning":{"effort":"low"}`, refusedField, `"top_p":0.9`, refusedField,
			refusedField, refusedField, `"text":{"format":{"type":"json_schema","name":"answer","schema":{`,
		},
		"anthropic": {
			`"temperature":0.5`, `"max_tokens":100`, `"tool_choice":{"type":"any"}`, `"tool_choice":{"type":"tool","name":"s__echo"}`,
			`"tool_choice":{"type":"none"}`, `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
			`"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`, `"stop_sequences":["END"]`, `"top_p":0.9`, refusedField,
			refusedField, refusedField, `"output_config":{"format":{"type":"json_schema","schema":{`,
		},
		"gemini": {
			`"temperature":0.5`, `"maxOutputTokens":100`, `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`,
			`"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["s__echo"]}`, `"functionCallingConfig":{"mode":"NONE"}`, refusedField,
			`"thinkingLevel":"low"`, `"stopSequences":["END"]`, `"topP":0.9`, `"seed":7`, `"presencePenalty":0.5`, `"frequencyPenalty":-0.5`,
			`"responseMimeType":"application/json","responseSchema":{`,
		},
		"bedrock": {
			`"temperature":0.5`, `"maxTokens":100`, `"toolChoice":{"any":{}}`, `"toolChoice":{"tool":{"name":"s__echo"}}`, absent + `s__echo`,
			refusedField, `"additionalModelRequestFields":{"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}`,
			`"stopSequences":["END"]`, `"topP":0.9`, refusedField, refusedField, refusedField,
			`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"answer","schema":"{`,
		},
		"ollama": {
			`"temperature":0.5`, `"num_predict":100`, refusedField, refusedField, absent + `s__echo`, refusedField, `"think":"low"`,
			`"stop":["END"]`, `"top_p":0.9`, `"seed":7`, `"presence_penalty":0.5`, `"frequency_penalty":-0.5`, `"format":{`,
		},
	}
	page := newFeaturePage()
	for kind, v := range dialects(t) {
		f, client := v.open(t, func() string { return v.say })
		for i, feature := range features {
			t.Run(kind+" "+feature.name, func(t *testing.T) {
				req := hello()
				req.Model, req.Tools, req.Generation = "test/"+v.model, oddTools()[:1], &turnv1.Generation{}
				feature.set(req)
				before := len(f.chats())
				_, err := ask(t.Context(), t, client, req)
				sent := f.chats()[before:]
				page.note(feature.name, feature.field, kind, err)
				if want := matrix[kind][i]; want == refusedField {
					if err == nil || len(sent) > 0 || fault.From(err).Reason.String() != "REASON_MODEL_REJECTED" ||
						!strings.Contains(err.Error(), feature.field) || !strings.Contains(err.Error(), req.GetModel()) {
						t.Errorf("error %v after the requests %s", err, sent)
					}
					return
				}
				if err != nil || len(sent) != 1 {
					t.Fatalf("error %v after %d requests", err, len(sent))
				}
				want, not := strings.CutPrefix(matrix[kind][i], absent)
				if strings.Contains(sent[0], want) == not {
					t.Errorf("the request is %s, want %s", sent[0], matrix[kind][i])
				}
			})
		}
	}
	page.compare(t)
}

// ask makes a call, whose answer matters only if there is none.
func ask(
	ctx context.Context, t *testing.T, client inferencev1.InferenceServiceClient, req *inferencev1.GenerateRequest,
) (*inferencev1.Finished, error) {
	t.Helper()
	got, err := inferencetest.Ask(ctx, t, client, req)
	return got.Finished, err
}

// TestFieldsThatExcludeEachOther are refused together, by their names.
func TestFieldsThatExcludeEachOther(t *testing.T) {
	for _, row := range []struct {
		kind, model string
		set         func(*inferencev1.GenerateRequest)
		say         string
	}{
		{"anthropic", "claude-sonnet-5-5", func(r *inferencev1.GenerateRequest) {
			r.Temperature, r.Generation.ReasoningEffort = new(1.0), "high"
		}, "generation.reasoning_effort together with temperature"},
		{"anthropic", "claude-3-haiku", func(r *inferencev1.GenerateRequest) {
			r.Generation.ReasoningEffort = "high"
		}, "generation.reasoning_effort"},
		{"ollama", "qwen3", func(r *inferencev1.GenerateRequest) { r.Generation.ReasoningEffort = "high" }, `generation.reasoning_effort "high"`},
		{"gemini", "gemini-3-pro", func(r *inferencev1.GenerateRequest) { r.Generation.ReasoningEffort = "none" }, "none"},
		{"openai", "gpt-x", func(r *inferencev1.GenerateRequest) { r.Generation.ToolChoice = "s__missing" }, "s__missing"},
	} {
		f := newFake(t, refuse(500, `{}`))
		req := hello()
		req.Model, req.Tools, req.Generation = "test/"+row.model, oddTools()[:1], &turnv1.Generation{}
		row.set(req)
		_, err := ask(t.Context(), t, provide(t, row.kind, f.URL), req)
		if err == nil || !strings.Contains(err.Error(), row.say) || len(f.chats()) > 0 {
			t.Errorf("%s: %v", row.say, err)
		}
	}
}

// TestAnswersFromATool: where a provider has no form for an answer, the answer is the arguments of a tool.
func TestAnswersFromATool(t *testing.T) {
	// Free names fit no closed schema.
	const free = `{"type":"object","properties":{"city":{"type":"string"}},"additionalProperties":{"type":"string"}}`
	all := dialects(t)
	all["gemini"].model = "gemini-2.5-flash" // which takes no schema beside tools
	for _, kind := range []string{"anthropic", "bedrock", "gemini"} {
		v := all[kind]
		t.Run(kind, func(t *testing.T) {
			f, client := v.open(t, func() string { return v.call("id_1", "final_answer", `{"city":"Bonn 🚀"}`) })
			req := hello()
			req.Model, req.Tools, req.OutputFormat = "test/"+v.model, oddTools()[:1], &inferencev1.OutputFormat{SchemaJson: free}
			end, err := ask(t.Context(), t, client, req)
			if err != nil {
				t.Fatal(err)
			}
			if end.GetOutputMode() != turnv1.OutputMode_OUTPUT_MODE_TOOL || end.GetFinishReason() != "stop" || len(end.GetToolCalls()) > 0 ||
				end.GetVerbatim() != nil || !json.Valid([]byte(end.GetText())) || !strings.Contains(end.GetText(), "Bonn") {
				t.Errorf("end %v", end)
			}
			if sent := f.chats()[0]; !strings.Contains(sent, "final_answer") || !strings.Contains(strings.ToLower(sent), "any") {
				t.Errorf("sent %s", sent)
			}
		})
	}
}

// TestARefusedFormIsAskedForOtherwise: a server that knows no schema gets a tool, and is remembered.
func TestARefusedFormIsAskedForOtherwise(t *testing.T) {
	v := dialects(t)["openai"]
	refused := 0
	var f *fake
	f = newFake(t, func(w http.ResponseWriter, r *http.Request) {
		body := f.seen()[len(f.seen())-1].body
		switch {
		case strings.Contains(body, "response_format"):
			refused++
			refuse(400, `{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error"}}`)(w, r)
		case strings.Contains(body, "tool_choice"):
			refused++
			refuse(400, `{"error":{"message":"tool_choice is not supported","type":"invalid_request_error"}}`)(w, r)
		default:
			stream(v.say)(w, r)
		}
	})
	client := provide(t, "openai", f.URL)
	for range 2 {
		req := hello()
		req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: citySchema}
		end, err := ask(t.Context(), t, client, req)
		if err != nil {
			t.Fatal(err)
		}
		if end.GetOutputMode() != turnv1.OutputMode_OUTPUT_MODE_PROMPT || end.GetText() == "" {
			t.Errorf("end %v", end)
		}
	}
	if refused != 2 || !strings.Contains(f.seen()[2].body, "additionalProperties") {
		t.Errorf("%d refusals, then %s", refused, f.seen()[2].body)
	}
}

// TestARefusalIsOfWhatItIsAbout: what one schema or an image is refused for does not turn a form off for others.
func TestARefusalIsOfWhatItIsAbout(t *testing.T) {
	const other = `{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}`
	invalid := `{"error":{"message":"Invalid schema for response_format 'answer': 'city' is not permitted","type":"invalid_request_error"}}`
	image := `{"error":{"message":"image format not supported","type":"invalid_request_error"}}`
	choice := `{"error":{"message":"invalid tool_choice","type":"invalid_request_error"}}`
	for _, row := range []struct {
		name, refusal string
		all           bool // refused in each mode
	}{
		{"one schema", invalid, false}, {"one schema in each mode", invalid, true}, {"an image", image, false}, {"a choice", choice, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := dialects(t)["openai"]
			var f *fake
			f = newFake(t, func(w http.ResponseWriter, r *http.Request) {
				body := f.seen()[len(f.seen())-1].body
				if strings.Contains(body, "city") && (row.all || strings.Contains(body, "response_format")) {
					refuse(400, row.refusal)(w, r)
					return
				}
				stream(v.say)(w, r)
			})
			client := provide(t, "openai", f.URL)
			req := hello()
			req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: citySchema}
			_, err := ask(t.Context(), t, client, req)
			if row.name == "one schema" && err != nil {
				t.Error(err)
			}
			req.OutputFormat.SchemaJson = other
			end, err := ask(t.Context(), t, client, req)
			if err != nil || end.GetOutputMode() != turnv1.OutputMode_OUTPUT_MODE_NATIVE {
				t.Errorf("another schema: mode %v, %v", end.GetOutputMode(), err)
			}
		})
	}
}

// TestGeminiIsGivenSchemasThatItCanSay: others are asked for otherwise.
func TestGeminiIsGivenSchemasThatItCanSay(t *testing.T) {
	v := dialects(t)["gemini"]
	f, client := v.open(t, func() string { return v.call("id_1", "final_answer", `{"city":"Bonn"}`) })
	req := hello()
	req.Model, req.Tools = "test/"+v.model, nil
	req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: `{"type":"object","properties":{"the city":{"type":"string"}}}`}
	end, err := ask(t.Context(), t, client, req)
	if err != nil || end.GetOutputMode() != turnv1.OutputMode_OUTPUT_MODE_TOOL {
		t.Errorf("mode %v, %v; sent %s", end.GetOutputMode(), err, f.chats()[0])
	}
}

// TestTheToolOfTheAnswerIsOffered: beside any number of tools. Where it cannot be, the answer is asked for in words.
func TestTheToolOfTheAnswerIsOffered(t *testing.T) {
	for _, row := range []struct {
		name    string
		refused bool // by its name
		want    turnv1.OutputMode
	}{
		{"among many", false, turnv1.OutputMode_OUTPUT_MODE_TOOL},
		{"refused", true, turnv1.OutputMode_OUTPUT_MODE_PROMPT},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := dialects(t)["openai"]
			var f *fake
			f = newFake(t, func(w http.ResponseWriter, r *http.Request) {
				body := f.seen()[len(f.seen())-1].body
				named := strings.Contains(body, `"name":"final_answer"`)
				switch {
				case strings.Contains(body, "response_format"):
					refuse(400, `{"error":{"message":"Unknown parameter: 'response_format'","type":"invalid_request_error"}}`)(w, r)
				case row.refused && named:
					refuse(400, `{"error":{"message":"Invalid schema for function 'final_answer'","type":"invalid_request_error"}}`)(w, r)
				case named:
					stream(v.call("id_1", "final_answer", `{"city":"Bonn"}`))(w, r)
				case strings.Contains(body, "tool_choice"):
					refuse(500, `{}`)(w, r)
				default:
					stream(v.say)(w, r)
				}
			})
			req := hello()
			for n := range 130 {
				req.Tools = append(req.Tools, &inferencev1.ToolDefinition{Name: fmt.Sprintf("s__t%d", n), InputSchemaJson: `{"type":"object"}`})
			}
			req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: citySchema}
			end, err := ask(t.Context(), t, provide(t, "openai", f.URL), req)
			if err != nil || end.GetOutputMode() != row.want {
				t.Errorf("mode %v, %v", end.GetOutputMode(), err)
			}
		})
	}
}

// TestAToolThatIsNotOfferedIsNotForced: the request is refused with what is wrong with the tool.
func TestAToolThatIsNotOfferedIsNotForced(t *testing.T) {
	for kind, v := range dialects(t) {
		if kind == "ollama" { // it forces none
			continue
		}
		f, client := v.open(t, func() string { return v.say })
		req := hello()
		req.Model, req.Generation = "test/"+v.model, &turnv1.Generation{ToolChoice: "s__list"}
		req.Tools = []*inferencev1.ToolDefinition{{Name: "s__list", InputSchemaJson: `{"type":"array"}`}}
		_, err := ask(t.Context(), t, client, req)
		if err == nil || fault.From(err).Reason.String() != "REASON_MODEL_REJECTED" || !strings.Contains(err.Error(), "s__list") ||
			!strings.Contains(err.Error(), "array") || len(f.chats()) > 0 {
			t.Errorf("%s: %v after the requests %s", kind, err, f.chats())
		}
	}
}

// TestWhatIsWithheldIsASignOfLife: text beside the tool of the answer waits for the end, but the model is not silent.
func TestWhatIsWithheldIsASignOfLife(t *testing.T) {
	var f *fake
	f = newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(f.seen()[len(f.seen())-1].body, "response_format") {
			refuse(400, `{"error":{"message":"Unknown parameter: 'response_format'","type":"invalid_request_error"}}`)(w, r)
			return
		}
		stream(`data: {"choices":[{"index":0,"delta":{"content":"{\"city\":"}}]}`+"\n\n", hold)(w, r)
	})
	req := hello()
	req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: citySchema}
	_, err := ask(t.Context(), t, provide(t, "openai", f.URL, noSilence), req)
	if err == nil || !strings.Contains(err.Error(), "in the middle") {
		t.Error(err)
	}
}

// TestThoughtsKeepWithinTheLimitOfTheAnswer: the limit may be what is left of a budget.
func TestThoughtsKeepWithinTheLimitOfTheAnswer(t *testing.T) {
	for _, row := range []struct {
		kind, model string
		limit       int32
		want        []string
	}{
		{"anthropic", "claude-3-7-sonnet", 4000, []string{`"max_tokens":4000`, `"budget_tokens":2976`}},
		{"anthropic", "claude-3-7-sonnet", 1500, []string{`"max_tokens":1500`, absent + "budget_tokens"}},
		{"anthropic", "claude-opus-4-1", 0, []string{`"max_tokens":32000`, `"budget_tokens":24576`}},
		{"bedrock", "anthropic.claude-3-7-sonnet", 4000, []string{`"maxTokens":4000`, `"budget_tokens":2976`}},
	} {
		v := dialects(t)[row.kind]
		v.model = row.model
		f, client := v.open(t, func() string { return v.say })
		req := hello()
		req.Model, req.Tools, req.Generation = "test/"+row.model, nil, &turnv1.Generation{ReasoningEffort: "high"}
		req.MaxOutputTokens = row.limit
		if _, err := ask(t.Context(), t, client, req); err != nil {
			t.Fatal(err)
		}
		for _, want := range row.want {
			if want, not := strings.CutPrefix(want, absent); strings.Contains(f.chats()[0], want) == not {
				t.Errorf("%s with %d: %s in %s", row.model, row.limit, want, f.chats()[0])
			}
		}
	}
}

// TestAModelWithoutAbilitiesIsNotAskedForThem: the configuration says what a model cannot do.
func TestAModelWithoutAbilitiesIsNotAskedForThem(t *testing.T) {
	v := dialects(t)["openai"]
	f := newFake(t, stream(v.say))
	client := provide(t, "openai", f.URL, func(cfg *inference.Config) {
		cfg.Models = []catalog.ModelConfig{{
			Model: "test/*", SheetConfig: catalog.SheetConfig{Without: []string{"tools", "structured_output"}},
		}}
	})
	req := hello()
	req.Tools, req.OutputFormat = oddTools()[:1], &inferencev1.OutputFormat{SchemaJson: citySchema}
	end, err := ask(t.Context(), t, client, req)
	if err != nil || end.GetOutputMode() != turnv1.OutputMode_OUTPUT_MODE_PROMPT || len(end.GetWarnings()) != 1 ||
		strings.Contains(f.chats()[0], "s__echo") || strings.Contains(f.chats()[0], "response_format") {
		t.Errorf("end %v, %v after %s", end, err, f.chats()[0])
	}
	req.Generation = &turnv1.Generation{ToolChoice: "required"}
	if _, err := ask(t.Context(), t, client, req); err == nil || !strings.Contains(err.Error(), "calls no tools") {
		t.Error(err)
	}
}

// TestARefusalOfThoughtsKeepsTheMarksOfTheCache, and the other way round.
func TestARefusalOfThoughtsKeepsTheMarksOfTheCache(t *testing.T) {
	for _, row := range []struct {
		says            string
		plain, unmarked bool
	}{
		{"messages.1.content.0: invalid signature in thinking block", true, false},
		{"system.0.cache_control: Extra inputs are not permitted", false, true},
	} {
		m := &provider.Manner{}
		sent := provider.Sent{Returned: []string{"thinking"}, Marks: "cache_control"}
		learned := provider.NewLessons().Learn(provider.Request{Model: "m"}, m, sent, provider.Failure{Status: 400, Message: row.says})
		if !learned || m.Plain != row.plain || m.Unmarked != row.unmarked {
			t.Errorf("%s: %+v", row.says, m)
		}
	}
}
