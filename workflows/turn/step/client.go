package step

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/schema"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// clientPrefix begins the names under which the model knows the tools that the turn's client runs.
const clientPrefix = "client__"

// anyObject is the schema of arguments about which nothing is said.
const anyObject = `{"type":"object"}`

// clientTool finds a tool of the turn's client by the name that the model knows, nil when there is none.
func clientTool(loaded *sessionsv1.LoadTurnResponse, name string) *sessionsv1.ClientTool {
	own, ok := strings.CutPrefix(name, clientPrefix)
	if !ok {
		return nil
	}
	for _, t := range loaded.GetClientTools() {
		if t.GetName() == own {
			return t
		}
	}
	return nil
}

// clientTools are the tools of the turn's client as the model is shown them.
func clientTools(loaded *sessionsv1.LoadTurnResponse) []*inferencev1.ToolDefinition {
	out := make([]*inferencev1.ToolDefinition, 0, len(loaded.GetClientTools()))
	for _, t := range loaded.GetClientTools() {
		out = append(out, &inferencev1.ToolDefinition{
			Name: clientPrefix + t.GetName(), Description: t.GetDescription(), InputSchemaJson: schemaOf(t),
		})
	}
	return out
}

func schemaOf(t *sessionsv1.ClientTool) string {
	if t.GetInputSchema() == nil {
		return anyObject
	}
	text, err := protojson.Marshal(t.GetInputSchema())
	if err != nil {
		return anyObject
	}
	return string(text)
}

// firstOfClient asks the client to run a call, unless its arguments are wrong: then the model is told so at once.
func firstOfClient(ctx context.Context, w *work, t *sessionsv1.ClientTool) (round, error) {
	arguments, err := canon.Parse([]byte(w.call.GetArgumentsJson()))
	if err != nil {
		return round{completed: wrongArguments(w, err.Error())}, nil
	}
	fits, err := schema.Compile([]byte(schemaOf(t)))
	if err != nil { // it was checked when the turn was accepted; the client checks for itself
		fits = schema.Validator{}
	}
	faults, err := fits.Validate(ctx, arguments)
	if err != nil {
		return round{}, err
	}
	if len(faults) > 0 {
		texts := make([]string, len(faults))
		for i, f := range faults {
			texts[i] = "arguments" + f.Pointer + ": " + f.Message
		}
		return round{completed: wrongArguments(w, strings.Join(texts, "; "))}, nil
	}
	return round{wait: newWait(w, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL)}, nil
}

func wrongArguments(w *work, what string) *registryv1.Completed {
	return refused(w, codeArguments, fmt.Sprintf(
		"The arguments do not fit the tool %q, it was not called: %s. Correct the arguments and call it again.", w.call.GetTool(), what))
}
