package trial

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func text(ctx context.Context, m *Model) (result, error) {
	_, end, err := m.say(ctx, ask("Reply with the single word: ready"))
	if err != nil {
		return result{}, err
	}
	return result{honoured, saw(end.GetText())}, nil // an empty answer is an error
}

func stream(ctx context.Context, m *Model) (result, error) {
	pieces, _, err := m.say(ctx, ask("Write the numbers from one to thirty as words, separated by commas."))
	switch {
	case err != nil:
		return result{}, err
	case pieces < 2:
		return result{broken, "the answer came in one piece"}, nil
	}
	return result{honoured, fmt.Sprintf("%d pieces", pieces)}, nil
}

func system(ctx context.Context, m *Model) (result, error) {
	req := ask("Say hello to me.")
	req.Instructions = "End every answer with the word PINEAPPLE."
	_, end, err := m.say(ctx, req)
	return contains(end, "pineapple", "the instructions are not followed"), err
}

// contains reports whether an answer has a word.
func contains(end *inferencev1.Finished, word, otherwise string) result {
	if !strings.Contains(strings.ToLower(end.GetText()), word) {
		return result{broken, otherwise + ": " + saw(end.GetText())}
	}
	return result{honoured, saw(end.GetText())}
}

// weather is the tool that is offered.
const weather = "get_weather"

func weatherTool() []*inferencev1.ToolDefinition {
	return []*inferencev1.ToolDefinition{{
		Name: weather, Description: "Get the present weather in a city.",
		InputSchemaJson: `{"type":"object","properties":{"city":{"type":"string","description":"Name of the city."}},"required":["city"]}`,
	}}
}

// calls returns the cities that the model asks about, or what is wrong with a call.
func calls(end *inferencev1.Finished) (cities []string, wrong string) {
	for _, c := range end.GetToolCalls() {
		var args struct{ City *string }
		if c.GetTool() != weather || json.Unmarshal([]byte(c.GetArgumentsJson()), &args) != nil || args.City == nil {
			return nil, fmt.Sprintf("it called %s with %s", c.GetTool(), c.GetArgumentsJson())
		}
		cities = append(cities, *args.City)
	}
	return cities, ""
}

// called makes a call that shall lead to a number of tool calls at once.
func (m *Model) called(ctx context.Context, req *inferencev1.GenerateRequest, want int) (result, error) {
	req.Tools = weatherTool()
	_, end, err := m.say(ctx, req)
	if err != nil {
		return result{}, err
	}
	if len(end.GetWarnings()) > 0 && len(end.GetToolCalls()) == 0 {
		return result{refused, end.GetWarnings()[0]}, nil
	}
	cities, wrong := calls(end)
	switch {
	case wrong != "":
		return result{broken, wrong}, nil
	case len(cities) == 0:
		return result{broken, "it called no tool: " + saw(end.GetText())}, nil
	case len(cities) < want:
		return result{broken, fmt.Sprintf("it made %d call of %d", len(cities), want)}, nil
	}
	return result{honoured, "it asked about " + strings.Join(cities, ", ")}, nil
}

func toolCall(ctx context.Context, m *Model) (result, error) {
	return m.called(ctx, ask("Use the tool to get the weather for \"Paris\"."), 1)
}

func parallelCalls(ctx context.Context, m *Model) (result, error) {
	return m.called(ctx, ask("Get the weather in Paris and in Rome. Make both calls at once, before you see a result."), 2)
}

func toolChoice(ctx context.Context, m *Model) (result, error) {
	req := ask("Say hello, and do not care about \"Paris\".")
	req.Generation = &turnv1.Generation{ToolChoice: weather}
	return m.called(ctx, req, 1)
}

func toolResult(ctx context.Context, m *Model) (result, error) {
	call := &turnv1.ToolCall{CallId: "call_1", Tool: weather, ArgumentsJson: `{"city":"Paris"}`}
	req := &inferencev1.GenerateRequest{Tools: weatherTool(), Messages: []*turnv1.Message{
		user("Use the tool to get the weather for \"Paris\", and tell me the temperature."),
		{Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: []*turnv1.ToolCall{call}},
		{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{
			CallId: call.GetCallId(), Tool: weather, Content: []*turnv1.ContentPart{textPart("The temperature is 17 degrees.")},
		}},
	}}
	_, end, err := m.say(ctx, req)
	return contains(end, "17", "the result is not used"), err
}

// country is the schema of an answer.
const country = `{"type":"object","properties":{"country":{"type":"string"},"capital":{"type":"string"}},"required":["country","capital"],` +
	`"additionalProperties":false}`

func isCountry(text string) bool {
	var got struct{ Country, Capital *string }
	return json.Unmarshal([]byte(text), &got) == nil && got.Country != nil && got.Capital != nil
}

func structuredOutput(ctx context.Context, m *Model) (result, error) {
	req := ask("Which country has the capital Paris?")
	req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: country}
	_, end, err := m.say(ctx, req)
	if err != nil {
		return result{}, err
	}
	if !isCountry(end.GetText()) {
		return result{broken, "the answer does not match the schema: " + saw(end.GetText())}, nil
	}
	return result{honoured, "mode " + enum.Name(end.GetOutputMode())}, nil
}

// red is a red square.
//
//go:embed red.png
var red []byte

func image(ctx context.Context, m *Model) (result, error) {
	req := ask("Which colour has this square? Reply with one word.")
	req.Degrade = "fail"
	req.Messages[0].Content = append(req.Messages[0].Content, &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{
		Blob: &turnv1.Blob{MediaType: "image/png", Data: red, Name: "square.png"},
	}})
	_, end, err := m.say(ctx, req)
	return contains(end, "red", "the image is not seen"), err
}

func reasoning(ctx context.Context, m *Model) (result, error) {
	req := ask("A farmer has 17 sheep. All but 9 run away. How many are left? Think first.")
	req.Generation = &turnv1.Generation{ReasoningEffort: "low"}
	_, end, err := m.say(ctx, req)
	if err != nil {
		return result{}, err
	}
	if end.GetReasoning() == "" && end.GetUsage().GetReasoningTokens() == 0 && end.GetVerbatim() == nil {
		return result{broken, "it shows no reasoning"}, nil
	}
	req.Messages = append(req.GetMessages(), &turnv1.Message{
		Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{textPart(end.GetText())}, Reasoning: end.GetReasoning(),
		Verbatim: end.GetVerbatim(), Model: end.GetModel(),
	}, user("And if one of them comes back?"))
	if _, _, err := m.say(ctx, req); err != nil {
		return result{broken, "its reasoning is not taken back: " + fault.From(err).Message}, nil
	}
	return result{honoured, fmt.Sprintf("%d tokens, and taken back", end.GetUsage().GetReasoningTokens())}, nil
}

func stop(ctx context.Context, m *Model) (result, error) {
	req := ask("Write this line and nothing else: alpha beta gamma delta")
	req.Generation = &turnv1.Generation{Stop: []string{"gamma"}}
	_, end, err := m.say(ctx, req)
	switch {
	case err != nil:
		return result{}, err
	case strings.Contains(end.GetText(), "gamma"):
		return result{broken, "it continued after the stop: " + saw(end.GetText())}, nil
	case !strings.Contains(end.GetText(), "alpha"):
		return result{broken, "it did not come to the stop: " + saw(end.GetText())}, nil
	}
	return result{honoured, saw(end.GetText())}, nil
}

func usage(ctx context.Context, m *Model) (result, error) {
	_, end, err := m.say(ctx, ask("Reply with the single word: ready"))
	switch u := end.GetUsage(); {
	case err != nil:
		return result{}, err
	case end.GetUsageEstimated():
		return result{broken, "it counts no tokens: usage and cost are estimates"}, nil
	default:
		return result{honoured, fmt.Sprintf("%d tokens read, %d written", u.GetInputTokens(), u.GetOutputTokens())}, nil
	}
}

// maxTried bounds the tokens that are sent to see whether they are too many.
const maxTried = 300_000

func tooLong(ctx context.Context, m *Model) (result, error) {
	switch {
	case m.Window == 0:
		return result{skipped, "the model's window is unknown: set context_window in inference.models"}, nil
	case m.Window > maxTried:
		return result{skipped, fmt.Sprintf("the model's window of %d tokens is too large to be tried", m.Window)}, nil
	}
	_, end, err := m.say(ctx, ask(strings.Repeat("word ", m.Window*5/4)))
	switch f := fault.From(err); {
	case err == nil:
		return result{broken, fmt.Sprintf("a conversation longer than the window is answered: %d tokens read", end.GetUsage().GetInputTokens())},
			nil
	case f.Reason == faultv1.Reason_REASON_CONTEXT_TOO_LONG:
		return result{honoured, "refused as too long: the mesh compacts then"}, nil
	default:
		return result{broken, "the refusal is not known to be about the length: " + f.Message}, nil
	}
}

func embeddings(ctx context.Context, m *Model) (result, error) {
	got, err := m.Service.Embed(ctx, &inferencev1.EmbedRequest{Model: m.Name, Texts: []string{"a red square", "a blue circle"}})
	return result{honoured, fmt.Sprintf("%d numbers", got.GetDimensions())}, err
}

func rerank(ctx context.Context, m *Model) (result, error) {
	got, err := m.Service.Rerank(ctx, &inferencev1.RerankRequest{
		Model: m.Name, Query: "Where is my order?", Documents: []string{"Bananas are yellow.", "Your order is on its way."}, TopN: 1,
	})
	switch {
	case err != nil:
		return result{}, err
	case got.GetResults()[0].GetIndex() != 1:
		return result{broken, "the document that answers the query is not the first"}, nil
	}
	return result{honoured, fmt.Sprintf("score %.3f", got.GetResults()[0].GetScore())}, nil
}

func countTokens(ctx context.Context, m *Model) (result, error) {
	got, err := m.Service.CountTokens(ctx, &inferencev1.CountTokensRequest{Model: m.Name, Messages: []*turnv1.Message{user("Hello there.")}})
	switch {
	case err != nil:
		return result{}, err
	case got.GetEstimated():
		return result{refused, got.GetNote() + ": the count is an estimate"}, nil
	}
	return result{honoured, fmt.Sprintf("%d tokens", got.GetTokens())}, nil
}
