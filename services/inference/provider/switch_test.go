package provider_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// entry is a message of a request: what every API has in some form.
type entry struct {
	role           string
	calls, results []string // ids, or names where there are none
	names          []string
	empty          bool
}

// entries reads the conversation of a request.
func entries(kind string, body map[string]any) (out []entry) {
	for _, m := range list(body[cmp.Or(conversationOf[kind], "messages")]) {
		e := entry{role: fmt.Sprint(at(m, "role"))}
		add := func(to *[]string, id any, name any) {
			if id, _ := id.(string); id != "" {
				*to = append(*to, id)
			} else {
				*to = append(*to, fmt.Sprint(name))
			}
			if name != nil {
				e.names = append(e.names, fmt.Sprint(name))
			}
		}
		blocks := list(at(m, "content"))
		switch kind {
		case "openai", "ollama":
			for _, c := range list(at(m, "tool_calls")) {
				add(&e.calls, at(c, "id"), at(c, "function", "name"))
			}
			if e.role == "tool" {
				add(&e.results, at(m, "tool_call_id"), nil)
			}
			text, isText := at(m, "content").(string)
			e.empty = isText && text == "" && len(e.calls) == 0 || len(blocks) == 0 && !isText && len(e.calls) == 0
		case "openai-responses":
			switch at(m, "type") {
			case "function_call":
				e.role = "assistant"
				add(&e.calls, at(m, "call_id"), at(m, "name"))
			case "function_call_output":
				e.role = "tool"
				add(&e.results, at(m, "call_id"), nil)
			case "reasoning":
				continue
			}
		case "anthropic", "bedrock":
			e.empty = len(blocks) == 0
			for _, b := range blocks {
				switch {
				case at(b, "type") == "tool_use":
					add(&e.calls, at(b, "id"), at(b, "name"))
				case at(b, "type") == "tool_result":
					add(&e.results, at(b, "tool_use_id"), nil)
				case at(b, "toolUse") != nil:
					add(&e.calls, at(b, "toolUse", "toolUseId"), at(b, "toolUse", "name"))
				case at(b, "toolResult") != nil:
					add(&e.results, at(b, "toolResult", "toolUseId"), nil)
				}
			}
		case "gemini":
			for _, p := range list(at(m, "parts")) {
				if c := at(p, "functionCall"); c != nil {
					add(&e.calls, at(c, "id"), at(c, "name"))
					e.empty = e.empty || len(e.calls) == 1 && at(p, "thoughtSignature") == nil
				}
				if r := at(p, "functionResponse"); r != nil {
					add(&e.results, at(r, "id"), at(r, "name"))
				}
			}
		}
		if last := len(out) - 1; kind == "openai-responses" && last >= 0 && e.calls != nil && out[last].calls != nil { // each call is an item
			out[last].calls, out[last].names = append(out[last].calls, e.calls...), append(out[last].names, e.names...)
			continue
		}
		if last := len(out) - 1; kind == "openai-responses" && last >= 0 && e.results != nil && out[last].results != nil {
			out[last].results = append(out[last].results, e.results...)
			continue
		}
		out = append(out, e)
	}
	return out
}

var conversationOf = map[string]string{"gemini": "contents", "openai-responses": "input"}

// idOf is what APIs take as the id of a call.
var idOf = map[string]*regexp.Regexp{
	"openai": regexp.MustCompile(`^.{1,40}$`), "openai-responses": regexp.MustCompile(`^.{1,64}$`),
	"anthropic": regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), "bedrock": regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
}

// structureFault says what is wrong with a conversation, no matter which provider wrote its parts.
func structureFault(kind string, conversation []entry) string {
	open, role := []string{}, ""
	for i, e := range conversation {
		for _, name := range e.names {
			want := openaiName
			if kind == "gemini" {
				want = geminiName
			}
			if !want.MatchString(name) {
				return fmt.Sprintf("%d: the name %q", i, name)
			}
		}
		for _, id := range slices.Concat(e.calls, e.results) {
			if want := idOf[kind]; want != nil && !want.MatchString(id) {
				return fmt.Sprintf("%d: the id %q", i, id)
			}
		}
		switch alternates := kind == "anthropic" || kind == "bedrock"; {
		case e.empty:
			return fmt.Sprintf("%d: empty, or without a signature", i)
		case alternates && e.role == role:
			return fmt.Sprintf("%d: roles must alternate", i)
		case i == 0 && e.role != "user" && (alternates || kind == "gemini"):
			return "the first message is not the user's"
		case len(e.results) == 0 && len(open) > 0:
			return fmt.Sprintf("%d: no results of %q", i, open)
		}
		for _, id := range e.results {
			at := slices.Index(open, id)
			if at < 0 {
				return fmt.Sprintf("%d: the result of no call: %s", i, id)
			}
			open = slices.Delete(open, at, at+1)
		}
		for _, id := range e.calls {
			if slices.Contains(open, id) && kind != "gemini" {
				return fmt.Sprintf("%d: the id %s twice", i, id)
			}
			open = append(open, id)
		}
		role = e.role
	}
	if len(open) > 0 || role == "assistant" || role == "model" {
		return "the conversation does not end with the user's message or with results"
	}
	return ""
}

// prefix checks that each request begins with the one before it.
type prefix struct {
	rest         string
	conversation []string
}

// fault says where a request differs from the one before it.
func (p *prefix) fault(kind string, raw []byte) string {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(cacheMarkers.ReplaceAll(raw, nil), &body); err != nil {
		return err.Error()
	}
	name := cmp.Or(conversationOf[kind], "messages")
	var messages []json.RawMessage
	if err := json.Unmarshal(body[name], &messages); err != nil {
		return err.Error()
	}
	delete(body, name)
	rest := ""
	for _, key := range slices.Sorted(maps.Keys(body)) {
		rest += key + string(body[key])
	}
	if p.rest != "" && rest != p.rest {
		return "what is beside the conversation changed: " + rest
	}
	for i, before := range p.conversation {
		if i >= len(messages) || string(messages[i]) != before {
			return fmt.Sprintf("message %d changed from %s to %s", i, before, messages[min(i, len(messages)-1)])
		}
	}
	p.rest, p.conversation = rest, nil
	for _, m := range messages {
		p.conversation = append(p.conversation, string(m))
	}
	return ""
}

// oddIDs are ids that providers give to calls.
var oddIDs = []string{"toolu_01AbC", "functions.s__echo:0", strings.Repeat("i", 70), "call_0", "", "chatcmpl-tool-1|fc_2"}

// change serves a vendor in a conversation that others wrote parts of.
func (v *vendor) change(t *testing.T, calls *int) http.HandlerFunc {
	var before prefix
	return func(w http.ResponseWriter, r *http.Request) {
		if other := v.other[r.URL.Path]; other != nil {
			other(w, r)
			return
		}
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var body map[string]any
		if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&body); err != nil {
			t.Error(err)
		}
		if wrong := cmp.Or(structureFault(v.kind, entries(v.kind, body)), before.fault(v.kind, raw)); wrong != "" {
			t.Errorf("%s refused: %s", v.kind, wrong)
			refuse(400, fmt.Sprintf(`{"error":{"type":"invalid_request_error","message":%q}}`, wrong))(w, r)
			return
		}
		messages := list(body[cmp.Or(v.messages, "messages")])
		last, _ := json.Marshal(messages[len(messages)-1])
		if !strings.Contains(string(last), "turn ") { // a result
			v.respond(v.say)(w, r)
			return
		}
		n := *calls
		*calls++
		v.respond(v.call(oddIDs[n%len(oddIDs)], invented[n%len(invented)], `{"text":"\ud83d\ude80","id":`+bigID+`}`))(w, r)
	}
}

// TestFiftyTurnsWithAnotherProviderEach has a conversation of 50 turns with a tool, each with another provider than the one before: none
// refuses what others wrote, and each reads the beginning of the conversation in the same bytes again.
func TestFiftyTurnsWithAnotherProviderEach(t *testing.T) {
	all, calls := vendors(), 0
	names := slices.Sorted(maps.Keys(all))
	clients := map[string]inferencev1.InferenceServiceClient{}
	for _, name := range names {
		srv := httptest.NewServer(all[name].change(t, &calls))
		t.Cleanup(srv.Close)
		clients[name] = provide(t, all[name].kind, srv.URL)
	}
	var messages []*turnv1.Message
	for turn := range 50 {
		name := names[turn*5%len(names)]
		req := &inferencev1.GenerateRequest{Model: "test/" + all[name].model, Tools: oddTools(), Messages: messages}
		req.Messages = append(req.Messages, inferencetest.User(fmt.Sprintf("turn %d", turn)))
		answers(t, clients[name], req, invented[turn%len(invented)])
		if messages = req.Messages; t.Failed() {
			t.Fatalf("turn %d, %s", turn, name)
		}
	}
}

// broken are conversations as they are left by crashes, forks, compaction and interrupted turns.
func broken() map[string][]*turnv1.Message {
	user, call := inferencetest.User, func(id string) *turnv1.ToolCall {
		return &turnv1.ToolCall{CallId: id, Tool: "s__echo", ArgumentsJson: `{"id":` + bigID + `}`}
	}
	asks := func(calls ...*turnv1.ToolCall) *turnv1.Message {
		return &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: calls}
	}
	result := func(id string) *turnv1.Message { return inferencetest.Called("ok", call(id))[1] }
	says := func(text string) *turnv1.Message {
		return &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{inferencetest.Text(text)}}
	}
	gone := &turnv1.ToolCall{CallId: "gone", Tool: "former source.tool that is gone", ArgumentsJson: `not JSON`}
	return map[string][]*turnv1.Message{
		"a call without a result":       {user("a"), asks(call("1")), user("b")},
		"a result without its call":     {result("1"), user("b")},
		"a result behind the next text": {user("a"), asks(call("1"), call("2")), result("2"), user("b"), result("1")},
		"an id twice":                   {user("a"), asks(call("1"), call("1")), result("1"), result("1"), user("b")},
		"ids that nobody takes":         {user("a"), asks(call("a b"), call(strings.Repeat("x", 200))), result("a b"), user("b")},
		"no ids":                        {user("a"), asks(call(""), call("")), result(""), result(""), user("b")},
		"a tool that is gone":           {user("a"), asks(gone), user("b")},
		"empty messages":                {user(""), says(""), says(" "), user(" ")},
		"the assistant first":           {says("hello"), user("b")},
		"the assistant last":            {user("a"), says("ok")},
		"the assistant twice":           {user("a"), says("ok"), says("more"), user("b")},
		"the user three times":          {user("a"), user("b"), user("c")},
		"a turn without an answer":      {user("a"), asks(call("1")), result("1"), user("b")},
		"the end of a cut":              {result("1"), result("2"), says("ok"), user("b")},
		"nothing but an empty answer":   {says("")},
	}
}

// TestBrokenConversationsAreTaken: no API refuses a session for what is in it.
func TestBrokenConversationsAreTaken(t *testing.T) {
	for name, v := range vendors() {
		t.Run(name, func(t *testing.T) {
			refused := ""
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if other := v.other[r.URL.Path]; other != nil {
					other(w, r)
					return
				}
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				refused = structureFault(v.kind, entries(v.kind, body))
				v.respond(v.say)(w, r)
			}))
			t.Cleanup(srv.Close)
			client := provide(t, v.kind, srv.URL)
			for what, messages := range broken() {
				_, err := inferencetest.Ask(t.Context(), t, client, &inferencev1.GenerateRequest{
					Model: "test/" + v.model, Tools: oddTools()[:1], Messages: messages,
				})
				if err != nil || refused != "" {
					t.Errorf("%s: %s, %v", what, refused, err)
				}
			}
		})
	}
}

// drawing is a PNG image of some width.
func drawing(t *testing.T, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestARefusedImageIsHidden: an image that a provider refuses does not end the session, and those that it took stay.
func TestARefusedImageIsHidden(t *testing.T) {
	picture := func(data string) *turnv1.ContentPart {
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/jpeg", Data: []byte(data)}}}
	}
	good, bad := drawing(t, 3), drawing(t, 4)
	shows := func(body, image string) bool {
		return strings.Contains(body, base64.StdEncoding.EncodeToString([]byte(image)))
	}
	for name, v := range vendors() {
		t.Run(name, func(t *testing.T) {
			requests, shown := 0, ""
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/show" {
					ollama([]string{"completion", "tools", "vision"}, nil)(w, r)
					return
				}
				raw, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				requests++
				shown = string(raw)
				if shows(shown, bad) {
					refuse(400, `{"error":{"type":"invalid_request_error","message":"Could not process image"}}`)(w, r)
					return
				}
				v.respond(v.say)(w, r)
			}))
			t.Cleanup(srv.Close)
			client := provide(t, v.kind, srv.URL)
			try := func(degrade, turn string, parts ...*turnv1.ContentPart) (*inferencev1.Finished, error) {
				t.Helper()
				req := &inferencev1.GenerateRequest{Model: "test/" + v.model, Degrade: degrade, TurnId: "turn_1", Messages: []*turnv1.Message{{
					Role: turnv1.Role_ROLE_USER, TurnId: turn, Content: append([]*turnv1.ContentPart{inferencetest.Text("see")}, parts...),
				}}}
				out, err := inferencetest.Ask(t.Context(), t, client, req)
				return out.Finished, err
			}
			ask := func(parts ...*turnv1.ContentPart) *inferencev1.Finished {
				t.Helper()
				end, err := try("", "turn_1", parts...)
				if err != nil {
					t.Fatal(err)
				}
				return end
			}
			if ask(picture(good)); strings.Contains(shown, "the model takes no images") {
				t.Skip("no images are shown")
			} else if !shows(shown, good) || strings.Contains(shown, "jpeg") {
				t.Errorf("the type is not that of the bytes: %s", shown)
			}
			first, again := ask(picture(good), picture(bad)), ask(picture(good), picture(bad))
			for _, end := range []*inferencev1.Finished{first, again} {
				if w := fmt.Sprint(end.GetWarnings()); !strings.Contains(w, "is not shown to the model: its provider refused it") {
					t.Errorf("the warnings are %s", w)
				}
			}
			if _, err := try("fail", "turn_1", picture(good), picture(bad)); fault.ReasonOf(err) != faultv1.Reason_REASON_MODEL_REJECTED {
				t.Errorf("refused content is answered: %v", err)
			}
			if _, err := try("fail", "turn_0", picture(good), picture(bad)); err != nil {
				t.Errorf("an earlier turn's image: %v", err)
			}
			requests-- // of the last try
			if requests != 4 || !shows(shown, good) || !strings.Contains(shown, "refused this image") {
				t.Errorf("%d requests, the last %s", requests, shown)
			}
		})
	}
}
