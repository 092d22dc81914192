// Package structured has models answer with JSON of a schema: natively, with the arguments of a tool that they must call, or because the
// instructions ask for it. The answer is not checked.
package structured

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// maxKept is the number of refusals that are remembered.
const maxKept = 4096

// Caller makes calls with an output. It is safe for concurrent use.
type Caller struct {
	refused *lru.Cache[refusal, struct{}]
}

// refusal is a mode that a model was found not to take: for one schema, as another may be taken, or for all if there is none.
type refusal struct {
	model  string
	mode   feature.OutputMode
	schema [sha256.Size]byte
}

// New returns a caller.
func New() (*Caller, error) {
	refused, err := lru.New[refusal, struct{}](maxKept)
	return &Caller{refused}, err
}

// Generate calls a model as its provider does. model is its full name. A model that must call a tool first is not asked for the output. A
// mode that the provider refuses is followed by the next one.
func (c *Caller) Generate(
	ctx context.Context, p provider.Provider, f feature.Row, model string, req provider.Request, emit func(provider.Delta) error,
) (provider.Finished, error) {
	if req.Output == nil || req.Forces() != "" {
		req.Output = nil
		return p.Generate(ctx, req, emit)
	}
	modes := c.modes(f, model, req)
	var refused []refusal
	for n, mode := range modes {
		some := false
		end, err := ask(ctx, p, req, mode, func(d provider.Delta) error {
			some = some || d != provider.Delta{}
			return emit(d)
		})
		end.OutputMode = mode
		if err == nil || some { // the request is not what was wrong
			for _, r := range refused {
				c.refused.Add(r, struct{}{})
			}
		}
		if err == nil || some || n == len(modes)-1 || !about(mode, err) {
			return end, err
		}
		refused = append(refused, refusalOf(model, mode, req.Output.Schema, err))
	}
	return provider.Finished{}, fmt.Errorf("no way to have %s answer in JSON", model) // there is always one
}

// modes returns those to try, in order.
func (c *Caller) modes(f feature.Row, model string, req provider.Request) []feature.OutputMode {
	all := f.Output
	if len(req.Tools) > 0 && !req.CallsNone() {
		all = f.OutputBesideTools
	}
	var out []feature.OutputMode
	sum := sha256.Sum256([]byte(req.Output.Schema))
	for _, mode := range all {
		switch {
		case c.refused.Contains(refusal{model: model, mode: mode}), c.refused.Contains(refusal{model, mode, sum}):
		case mode == feature.OutputNative && f.Shapes != nil && !f.Shapes(req.Output.Schema):
		case mode == feature.OutputTool && req.Reasons() &&
			slices.Contains(f.Excludes, [2]feature.Field{feature.ReasoningEffort, feature.ToolChoice}):
		default:
			out = append(out, mode)
		}
	}
	if len(out) == 0 {
		out = []feature.OutputMode{feature.OutputPrompt}
	}
	return out
}

// field is how APIs name the form of an answer.
const field = `(response.?format|json.?schema|output.?config(\.format)?|text.?format|response.?schema|response.?mime.?type|json.?mode)`

// words are those of refusals of a mode.
var words = map[feature.OutputMode]*regexp.Regexp{
	feature.OutputNative: regexp.MustCompile(`(?i)structured|` + field),
	feature.OutputTool:   regexp.MustCompile(`(?i)tool.?choice|` + answerTool),
}

var (
	aboutField = regexp.MustCompile("(?i)" + field)
	// unknown are words of refusals of a field, whatever its value is.
	unknown = regexp.MustCompile(`(?i)(unknown|unrecogni[sz]ed|unexpected|unsupported) (request )?(name|parameter|field|argument|key)` +
		`[^.]{0,20}\b` + field + `|\b` + field + `\W{1,3}(extra inputs|(of )?type\b.{0,20} (is|are) (unavailable|not (available|supported))|` +
		`is (unavailable|not (available|supported)))`)
)

// about reports whether an error is the refusal of a mode.
func about(mode feature.OutputMode, err error) bool {
	f := fault.As(err)
	return f != nil && f.Reason == faultv1.Reason_REASON_MODEL_REJECTED && !errors.Is(err, provider.ErrKey) &&
		(errors.Is(err, provider.ErrUnoffered) || words[mode] != nil && words[mode].MatchString(f.Message))
}

// refusalOf returns what an error about a mode says. A schema may have the words in its names: then they say nothing.
func refusalOf(model string, mode feature.OutputMode, schema string, err error) refusal {
	if f := fault.As(err); mode == feature.OutputNative && unknown.MatchString(f.Message) && !aboutField.MatchString(schema) {
		return refusal{model: model, mode: mode}
	}
	return refusal{model, mode, sha256.Sum256([]byte(schema))}
}

// ask calls a model in one mode.
func ask(
	ctx context.Context, p provider.Provider, req provider.Request, mode feature.OutputMode, emit func(provider.Delta) error,
) (provider.Finished, error) {
	switch mode {
	case feature.OutputNative:
		output := *req.Output
		output.Native = true
		req.Output = &output
		return p.Generate(ctx, req, emit)
	case feature.OutputTool:
		return withTool(ctx, p, req, emit)
	default:
		req.Instructions = join(req.Instructions, promptFor+req.Output.Schema)
		req.Output = nil
		return p.Generate(ctx, req, emit)
	}
}

// promptFor asks for the output.
const promptFor = `Your answer is one JSON object and nothing else: no words around it, no code fence. It fits this JSON Schema:
`

// answerTool is the tool whose arguments are the answer. No tool of the mesh has its name: those name their source.
const answerTool = "final_answer"

const toolFor = `When you have the answer, call ` + answerTool + ` with it. Do not write it as text.`

// withTool has the answer as the arguments of a tool.
func withTool(ctx context.Context, p provider.Provider, req provider.Request, emit func(provider.Delta) error) (provider.Finished, error) {
	choice := feature.Any
	if req.CallsNone() || len(req.Tools) == 0 {
		req.Tools, choice = nil, answerTool
	} else {
		req.Instructions = join(req.Instructions, toolFor)
	}
	req.Tools = append([]*inferencev1.ToolDefinition{{ // the first: the last are not offered if there are too many
		Name: answerTool, Description: "Gives the answer. Its arguments are the whole answer.", InputSchemaJson: req.Output.Schema,
	}}, req.Tools...)
	g := &turnv1.Generation{}
	if req.Generation != nil {
		g = proto.CloneOf(req.Generation)
	}
	g.ToolChoice = choice
	req.Generation, req.Output, req.Answer = g, nil, answerTool
	t := &translation{emit: emit, calls: map[int]int{}}
	end, err := p.Generate(ctx, req, t.take)
	if err == nil {
		err = t.end()
	}
	if t.answered {
		end.Verbatim = nil // its calls are not those of the message
	}
	return end, err
}

func join(instructions, more string) string {
	if instructions == "" {
		return more
	}
	return instructions + "\n\n" + more
}
