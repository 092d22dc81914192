// Package builtin contains the mesh's own tools. They have no side effects.
package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// Version of the built-in tools, reported as the source's server version.
const Version = "windlass mesh 1"

// Tool is one built-in tool.
type Tool struct {
	// Name is the tool's own name; Title and Description are for people and models.
	Name, Title, Description string
	// Raw is its definition in MCP's form, InputSchema the schema in it.
	Raw, InputSchema []byte

	run func(ctx context.Context, args map[string]any, by source.Caller) (string, error)
	// call is in the place of run, for a result that is more than a text.
	call func(ctx context.Context, r *source.Request) (*turnv1.ToolResult, error)
}

// definition is the content of Raw.
type definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations annotations     `json:"annotations"`
}

type annotations struct {
	ReadOnlyHint bool `json:"readOnlyHint"`
}

// Tools are the built-in tools.
type Tools struct {
	now       func() time.Time
	artifacts Artifacts
	knowledge Knowledge
}

// New returns the tools; now is the clock that they report, time.Now outside tests.
func New(now func() time.Time, artifacts Artifacts, knowledge Knowledge) Tools {
	return Tools{now, artifacts, knowledge}
}

// List returns the tools by name.
func (ts Tools) List() ([]Tool, error) {
	all := []Tool{
		askUser(),
		{
			Name: "current_time", Title: "Current time",
			Description: "Tells the current date and time, in UTC or in a time zone.",
			InputSchema: []byte(`{"type":"object","properties":{"time_zone":{"type":"string","description":"IANA time zone, for example ` +
				`Europe/Oslo; UTC when left out"}},"additionalProperties":false}`),
			run: func(_ context.Context, args map[string]any, _ source.Caller) (string, error) {
				return currentTime(args, ts.now())
			},
		},
		{
			Name: readArtifact, Title: "Read an artifact",
			Description: "Reads a part of an artifact: the whole of a result that was too long to be shown.",
			InputSchema: []byte(readArtifactSchema),
			run:         ts.readArtifact,
		},
		{
			Name: "uuid", Title: "New UUID",
			Description: "Makes a fresh random UUID (version 4).",
			InputSchema: []byte(`{"type":"object","properties":{},"additionalProperties":false}`),
			run:         func(context.Context, map[string]any, source.Caller) (string, error) { return uuid.NewString(), nil },
		},
	}
	all = append(all, ts.knowledge.tools()...)
	slices.SortFunc(all, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	for i, t := range all {
		raw, err := json.Marshal(definition{t.Name, t.Title, t.Description, t.InputSchema, annotations{ReadOnlyHint: true}})
		if err != nil {
			return nil, fmt.Errorf("encode tool %s: %w", t.Name, err)
		}
		all[i].Raw = raw
	}
	return all, nil
}

// run runs a tool. An error is the tool's answer for the model, as text, unless it is an awayError; found is false if there is no such
// tool.
func (ts Tools) run(ctx context.Context, r *source.Request) (out *turnv1.ToolResult, found bool, err error) {
	all, err := ts.List()
	if err != nil {
		return nil, false, err
	}
	for _, t := range all {
		switch {
		case t.Name != r.Tool:
		case t.call != nil:
			out, err := t.call(ctx, r)
			return out, true, err
		case t.run != nil:
			text, err := t.run(ctx, r.Arguments, r.By)
			return source.Text(text, false), true, err
		}
	}
	return nil, false, nil
}

func currentTime(args map[string]any, now time.Time) (string, error) {
	zone, _ := args["time_zone"].(string) // the schema has checked the type
	if zone == "" {
		zone = "UTC"
	}
	place, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return "", fmt.Errorf("unknown time zone %q: use an IANA name such as Europe/Oslo", zone)
	}
	at := now.In(place)
	return at.Format("2006-01-02T15:04:05Z07:00") + " (" + at.Weekday().String() + ", " + zone + ")", nil
}
