// Package workflow makes tools of Temporal workflows, and calls them: it starts a workflow and waits for its result. It speaks Temporal's
// gRPC API without the SDK, which would repeat requests by itself.
package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Modes of a workflow tool.
const (
	modeWait = "wait"
	modePoll = "poll"
)

// resultSuffix is the end of the name of a tool that waits for workflows which another one has started.
const resultSuffix = "_result"

// arguments is the namespace of placeholders in workflow ids: "${args.name}".
const arguments = "args"

// Tool is a workflow as a tool.
type Tool struct {
	// Name is the entry's, with a suffix for the second tool of one that is polled.
	Name string `json:"name"`
	// Description is for models.
	Description string `json:"description,omitempty"`
	// Tags are the entry's.
	Tags []string `json:"tags,omitempty"`
	// InputSchema and OutputSchema are JSON Schemas; OutputSchema is optional.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Action says what a call does.
	Action Action `json:"workflow"`
	// Effect is the effect class.
	Effect store.Effect `json:"-"`
}

// Action says what a call does. It is stored with the definition of the tool.
type Action struct {
	// Entry is the name of the entry that the tool comes from.
	Entry string `json:"entry"`
	// Type and TaskQueue are those of the workflow.
	Type      string `json:"type"`
	TaskQueue string `json:"task_queue"`
	// Positional are the arguments that are the workflow's parameters; empty = the object of all.
	Positional []string `json:"positional,omitempty"`
	// ID is the template of the workflow's id; empty = derived from the key of the call.
	ID string `json:"id,omitempty"`
	// Timeout ends the workflow, in seconds; 0 = never.
	Timeout uint32 `json:"timeout,omitempty"`
	// Poll: a call does not wait. Result: a call starts nothing and waits for a workflow that was started by a call of the entry.
	Poll   bool `json:"poll,omitempty"`
	Result bool `json:"result,omitempty"`
}

// FieldError is a mistake in a field of an entry.
type FieldError struct {
	// Field is its name in the API, and Message what is wrong.
	Field, Message string
}

// Error names the field.
func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

func bad(field, format string, args ...any) error {
	return &FieldError{Field: field, Message: fmt.Sprintf(format, args...)}
}

var name = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// New returns the tools of an entry: one, or two if it is polled. The error is a *FieldError.
func New(e store.WorkflowTool) ([]Tool, error) {
	switch {
	case !name.MatchString(e.Name):
		return nil, bad("name", "use letters, digits, \"_\", \"-\" and \".\", at most 64")
	case e.TaskQueue == "":
		return nil, bad("task_queue", "it is required: the task queue of the workflow's worker")
	case e.Mode != "" && e.Mode != modeWait && e.Mode != modePoll:
		return nil, bad("mode", "use wait or poll")
	case e.Effect < store.Unknown || e.Effect > store.Once:
		return nil, bad("effect", "use read, idempotent or once")
	}
	t := Tool{
		Name: e.Name, Description: e.Description, Tags: e.Tags, Effect: e.Effect,
		Action: Action{
			Entry: e.Name, Type: e.Type, TaskQueue: e.TaskQueue, Positional: e.Positional, ID: e.ID, Timeout: e.ExecutionTimeout,
			Poll: e.Mode == modePoll,
		},
	}
	if t.Action.Type == "" {
		t.Action.Type = e.Name
	}
	if t.Description == "" {
		t.Description = "Runs the workflow " + t.Action.Type + "."
	}
	if t.Effect == store.Unknown {
		t.Effect = store.Idempotent
	}
	if err := t.schemas(e); err != nil {
		return nil, err
	}
	if !t.Action.Poll {
		return []Tool{t}, nil
	}
	result := t.resultTool()
	t.OutputSchema = json.RawMessage(startedSchema)
	t.Description += " It runs in the background: get its result with the tool " + result.Name + "."
	return []Tool{t, result}, nil
}

// schemas sets the schemas, and checks that what takes arguments takes existing ones.
func (t *Tool) schemas(e store.WorkflowTool) error {
	var err error
	if len(e.OutputSchema) > 0 {
		if t.OutputSchema, err = usable(e.OutputSchema); err != nil {
			return bad("output_schema", "%s", err)
		}
	}
	t.InputSchema = json.RawMessage(`{"type":"object"}`)
	if len(e.InputSchema) > 0 {
		if t.InputSchema, err = usable(e.InputSchema); err != nil {
			return bad("input_schema", "%s", err)
		}
	}
	var have struct {
		Type       string
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(t.InputSchema, &have); err != nil || have.Type != "object" {
		return bad("input_schema", "its \"type\" is \"object\"")
	}
	for i, argument := range e.Positional {
		if _, ok := have.Properties[argument]; !ok {
			return bad("positional", "%q is no argument: add it to the properties of input_schema", argument)
		}
		if slices.Contains(e.Positional[:i], argument) {
			return bad("positional", "duplicate %q", argument)
		}
	}
	wrong := placeholder.Check(e.ID, func(r placeholder.Ref) *placeholder.Error {
		if r.Namespace != arguments {
			return placeholder.Wrong(r, "is not known here: write ${args.NAME}")
		}
		if !slices.Contains(have.Required, r.Path) {
			return placeholder.Wrong(r, "is no required argument: add it to \"required\" of input_schema")
		}
		return nil
	})
	if len(wrong) > 0 {
		return bad("workflow_id", "%s", wrong[0])
	}
	return nil
}

func usable(schemaOf map[string]any) (json.RawMessage, error) {
	text, err := json.Marshal(schemaOf)
	if err != nil {
		return nil, err
	}
	_, err = schema.Compile(text)
	return text, err
}

const startedSchema = `{"type":"object","properties":{"workflow_id":{"type":"string"},"status":{"type":"string"}},` +
	`"required":["workflow_id","status"]}`

const resultInput = `{"type":"object","properties":{` +
	`"workflow_id":{"type":"string","minLength":1,"maxLength":1000,"description":"The ID that the call which started it returned"},` +
	`"wait_seconds":{"type":"integer","minimum":0,"maximum":3600,"description":"Seconds to wait for the result at most; 30 when left out"}` +
	`},"required":["workflow_id"],"additionalProperties":false}`

// resultTool returns the tool that waits for the results of t.
func (t *Tool) resultTool() Tool {
	result := Tool{
		Name: t.Name + resultSuffix, Tags: t.Tags, Effect: store.Read, InputSchema: json.RawMessage(resultInput),
		Description: "Waits for the result of a workflow that was started with the tool " + t.Name +
			", and says its status: running, completed, failed, cancelled, terminated or timed_out.",
		Action: Action{Entry: t.Name, Type: t.Action.Type, Result: true},
	}
	of := t.OutputSchema
	if of == nil {
		of = json.RawMessage(`{}`)
	}
	result.OutputSchema = json.RawMessage(`{"type":"object","properties":{"workflow_id":{"type":"string"},"status":{"type":"string"},` +
		`"result":` + string(of) + `},"required":["workflow_id","status"]}`)
	return result
}

// Tools returns the tools of all entries, and calls wrong with each mistake and the index of its entry.
func Tools(entries []store.WorkflowTool, wrong func(i int, field, message string)) []Tool {
	var out []Tool
	seen := map[string]bool{}
	for i, e := range entries {
		tools, err := New(e)
		if mistake, ok := errors.AsType[*FieldError](err); ok {
			wrong(i, mistake.Field, mistake.Message)
		}
		for _, t := range tools {
			if seen[t.Name] {
				wrong(i, "name", "a tool "+t.Name+" is there already")
			}
			seen[t.Name] = true
		}
		out = append(out, tools...)
	}
	return out
}
