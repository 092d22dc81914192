package scripted

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// features: nothing is refused, as nothing is sampled.
var features = []feature.Row{{
	Output: []feature.OutputMode{feature.OutputNative}, OutputBesideTools: []feature.OutputMode{feature.OutputNative},
}}

// withoutRepairs drops the answers that did not fit their schema, with what was said of them, from the end of a conversation, and counts
// them.
func withoutRepairs(req provider.Request) (provider.Request, int) {
	tries := 0
	for n := len(req.Messages) - 1; n > 0; n = len(req.Messages) - 1 {
		last := req.Messages[n]
		if last.GetRole() != turnv1.Role_ROLE_USER || !strings.HasPrefix(provider.Text(last.GetContent()), contract.OutputRepairPrefix) {
			break
		}
		tries++
		if req.Messages = req.Messages[:n]; req.Messages[n-1].GetRole() == turnv1.Role_ROLE_ASSISTANT {
			req.Messages = req.Messages[:n-1]
		}
	}
	return req, tries
}

// chosen returns a script without the calls that a request does not want, and with the answer of the try.
func (s script) chosen(req provider.Request, tries int) script {
	switch n := len(s.json); {
	case tries < n:
		s.say = s.json[tries : tries+1]
	case req.Output != nil && tries > 0:
		s.say = nil
	case n > 0:
		s.say = s.json[n-1:]
	}
	switch {
	case req.CallsNone():
		s.stages = []stage{{loop: 1, think: s.stages[0].think}}
	case req.OneCall():
		s = s.oneByOne()
	}
	return s
}

// shape is the form that a request wants of an answer.
type shape struct{ req provider.Request }

// of returns a reply in the form: with a call if there must be one, as JSON, and cut at the request's stops.
func (f shape) of(s script, r reply, here place) reply {
	if len(r.calls) > 0 {
		return r
	}
	if tool := f.req.Forces(); tool != "" {
		return f.forced(r, tool)
	}
	if f.req.Output != nil && len(s.say) == 0 {
		r.text = made(f.req.Output.Schema, s.rest+"\n"+quote(here.results))
	}
	for _, stop := range f.req.Generation.GetStop() {
		r.text, _, _ = strings.Cut(r.text, stop)
	}
	return r
}

// forced returns a reply with a call of a tool.
func (f shape) forced(r reply, tool string) reply {
	for _, t := range f.req.Tools {
		if tool == feature.Any || tool == t.GetName() {
			r.calls, r.text, r.finish = []call{{t.GetName(), made(t.GetInputSchemaJson(), f.message())}}, "", provider.ToolCalls
			break
		}
	}
	return r
}

func (f shape) message() string { return lastUser(f.req.Messages) }

// made returns an object of a schema: with the values that a message has for it, else with the simplest.
func made(schema, message string) string {
	var root map[string]any
	if json.Unmarshal([]byte(schema), &root) != nil {
		return "{}"
	}
	object, _ := example{root}.value(root, 0).(map[string]any)
	found, _ := parseSchema(schema).fill(message)
	if object == nil {
		object = map[string]any{}
	}
	maps.Copy(object, found)
	raw, err := json.Marshal(object)
	if err != nil {
		return "{}"
	}
	return string(raw)
}
