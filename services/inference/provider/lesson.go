package provider

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// lesson is how a tool is offered to a model after the provider refused it.
type lesson int

const (
	asItIs  lesson = iota
	simpler        // in the subset of JSON Schema that every API knows
	omitted        // not at all
)

// errOmitted continues "its input schema".
var errOmitted = errors.New("is refused by the provider, in simpler forms too")

// maxLessons limits what is remembered.
const maxLessons = 4096

// Lessons are what a provider's refusals say about requests: a tool whose definition it does not accept, or that it does not take back
// what it sent beside a call. A request is written again without that, and later ones avoid it. Lessons last as long as the process.
type Lessons struct {
	fits   *fits
	tools  *lru.Cache[toolKey, lesson]
	models *lru.Cache[string, avoided]
	seen   *lru.Cache[imageKey, bool] // images, and whether they were accepted
}

// avoided are parts of requests that a model does not take: what the provider sent beside calls, and marks of what it keeps.
type avoided struct{ returned, marks bool }

type toolKey struct{ model, name, schema string }

// NewLessons returns no lessons.
func NewLessons() *Lessons {
	tools, err := lru.New[toolKey, lesson](maxLessons)
	if err != nil {
		panic(err) // the size is a constant
	}
	models, err := lru.New[string, avoided](maxLessons)
	if err != nil {
		panic(err)
	}
	seen, err := lru.New[imageKey, bool](maxLessons)
	if err != nil {
		panic(err)
	}
	return &Lessons{fits: newFits(), tools: tools, models: models, seen: seen}
}

func keyOf(model string, t *inferencev1.ToolDefinition) toolKey {
	return toolKey{model, t.GetName(), t.GetInputSchemaJson()}
}

func (l *Lessons) tool(model string, t *inferencev1.ToolDefinition) lesson {
	known, _ := l.tools.Get(keyOf(model, t))
	return known
}

// Manner is how one call is written.
type Manner struct {
	// Plain returns nothing to the provider of what it sent beside calls.
	Plain bool
	// Simpler offers all tools in the simpler form.
	Simpler bool
	// Unmarked marks nothing for the provider to keep for the next request.
	Unmarked bool
	// refused is what of it the provider named.
	refused avoided
	images  []imageKey // those that are shown
}

// Manner returns how calls of a model are written, as far as it is known.
func (l *Lessons) Manner(model string) *Manner {
	known, _ := l.models.Get(model)
	return &Manner{Plain: known.returned, Unmarked: known.marks, refused: known}
}

// Sent is what a request held.
type Sent struct {
	// Tools are those that were offered.
	Tools []Tool
	// Returned are the names of fields that were returned to the provider as it sent them.
	Returned []string
	// Marks is the field that marks what the provider keeps for the next request; "" if there is none.
	Marks string
	// Warnings say what of the request was not offered.
	Warnings []string
}

// Learn reports whether a refusal says what to avoid, and changes the manner: the request can be written again. Only a refusal of the
// request itself does.
func (l *Lessons) Learn(req Request, m *Manner, sent Sent, f Failure) bool {
	said := strings.ToLower(f.Kind + " " + f.Param + " " + f.Message)
	marks := sent.Marks != "" && !m.Unmarked
	if f.class() == classPermission && strings.Contains(said, "prompt caching") && marks { // how Bedrock refuses cache points
		m.Unmarked, m.refused.marks = true, true
		return true
	}
	if f.class() != classRequest {
		return false
	}
	if aboutImages.MatchString(said) && len(m.images) > 0 {
		return l.hide(m)
	}
	says := func(word string) bool { return strings.Contains(said, strings.ToLower(word)) }
	if marks && says(sent.Marks) {
		m.Unmarked, m.refused.marks = true, true
		return true
	}
	if len(sent.Returned) > 0 && !m.Plain && (slices.ContainsFunc(returned, says) || slices.ContainsFunc(sent.Returned, says)) {
		m.Plain, m.refused.returned = true, slices.ContainsFunc(sent.Returned, says)
		return true
	}
	if named := named(sent.Tools, f); len(named) > 0 {
		return l.raise(req, named, omitted)
	}
	if aboutTools.MatchString(said) && len(sent.Tools) > 0 && !m.Simpler {
		m.Simpler = true
		return true
	}
	return false
}

// worked remembers a manner in which a call was accepted.
func (l *Lessons) worked(req Request, m *Manner) {
	l.showed(m)
	if m.refused != (avoided{}) {
		l.models.Add(req.Model, m.refused)
	}
	if m.Simpler {
		names := make([]string, len(req.Tools))
		for i, t := range req.Tools {
			names[i] = t.GetName()
		}
		l.raise(req, names, simpler)
	}
}

// returned are words for what a provider gets back.
var returned = []string{"reasoning", "thinking", "thought", "signature", "encrypted"}

// raise avoids the next form of tools, up to a limit. It reports whether that changes anything.
func (l *Lessons) raise(req Request, names []string, most lesson) (changed bool) {
	for _, t := range req.Tools {
		if known := l.tool(req.Model, t); slices.Contains(names, t.GetName()) && known < most {
			l.tools.Add(keyOf(req.Model, t), known+1)
			changed = true
		}
	}
	return changed
}

var (
	aboutTools = regexp.MustCompile(`\b(tools?|functions?|schemas?|parameters|properties|input_schema|function_declarations?)\b`)
	byNumber   = regexp.MustCompile(`(?i)\b(?:tools|functions|function_?declarations)[\[.](\d+)\b`)
)

// named returns the tools that a refusal names, or counts.
func named(tools []Tool, f Failure) []string {
	said := f.Param + " " + f.Message
	var out []string
	for _, t := range tools {
		if regexp.MustCompile(`(^|[^A-Za-z0-9_-])` + regexp.QuoteMeta(t.Name) + `($|[^A-Za-z0-9_-])`).MatchString(said) {
			out = append(out, t.Own)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, found := range byNumber.FindAllStringSubmatch(said, -1) {
		if n, err := strconv.Atoi(found[1]); err == nil && n < len(tools) && !(n == 0 && len(tools) > 1 && geminiCount(found[0], said)) {
			out = append(out, tools[n].Own)
		}
	}
	return out
}

// geminiCount reports whether a number counts lists of tools: there, all functions are in tools[0].
func geminiCount(found, said string) bool {
	return strings.HasPrefix(strings.ToLower(found), "tools") && strings.Contains(strings.ToLower(said), "function_declarations")
}
