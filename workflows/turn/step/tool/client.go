package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/schema"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
)

// firstOfClient asks the client to run a call, unless its arguments are wrong: then the model gets an error at once.
func firstOfClient(ctx context.Context, call *turnv1.ToolCall, own *sessionsv1.ClientTool) (round, error) {
	arguments, err := canon.Parse([]byte(call.GetArgumentsJson()))
	if err != nil {
		return round{completed: wrongArguments(call, err.Error())}, nil
	}
	fits, err := schema.Compile([]byte(pinned.InputSchema(own)))
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
		return round{completed: wrongArguments(call, strings.Join(texts, "; "))}, nil
	}
	return round{wait: newWait(call, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL)}, nil
}

func wrongArguments(call *turnv1.ToolCall, what string) *registryv1.Completed {
	return refused(call, codeArguments, fmt.Sprintf(
		"The arguments do not fit the tool %q, it was not called: %s. Correct the arguments and call it again.", call.GetTool(), what))
}
