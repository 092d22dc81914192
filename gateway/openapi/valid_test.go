package openapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/windlass-dev/windlass/gateway/eventjson"
	"github.com/windlass-dev/windlass/gateway/openapi"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

type object = map[string]any

// both returns both forms of the document.
func both(t *testing.T) map[string]object {
	t.Helper()
	out := map[string]object{}
	for name, form := range map[string]func() ([]byte, error){"full": openapi.Document, "client": openapi.ClientDocument} {
		text, err := form()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		out[name], _ = doc.(object)
	}
	return out
}

// compiler holds the schema of OpenAPI 3.1 documents, as the OpenAPI Initiative publishes it, and the document.
func compiler(t *testing.T, doc object) *jsonschema.Compiler {
	t.Helper()
	text, err := os.ReadFile("testdata/oas-3.1-2022-10-07.json")
	if err != nil {
		t.Fatal(err)
	}
	meta, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://spec.openapis.org/oas/3.1/schema/2022-10-07", meta); err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("https://windlass.test/openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c
}

func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(object)
		v = m[key]
	}
	return v
}

func TestTheDocumentIsValid(t *testing.T) {
	for form, doc := range both(t) {
		c := compiler(t, doc)
		schema, err := c.Compile("https://spec.openapis.org/oas/3.1/schema/2022-10-07")
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", form, err)
		}
		schemas, _ := at(doc, "components", "schemas").(object)
		for name := range schemas {
			if _, err := c.Compile("https://windlass.test/openapi.json#/components/schemas/" + name); err != nil {
				t.Errorf("%s: schema %s: %v", form, name, err)
			}
		}
		if at(doc, "info", "title") != "Windlass API" || at(doc, "info", "version") != "v1" {
			t.Errorf("%s: info is %v", form, doc["info"])
		}
	}
}

func TestPathsDiffer(t *testing.T) {
	shapes := map[string]string{}
	paths, _ := both(t)["full"]["paths"].(object)
	for path := range paths {
		shape := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "{}")
		if other := shapes[shape]; other != "" {
			t.Errorf("%s and %s are one path", path, other)
		}
		shapes[shape] = path
	}
}

// operations calls f for each operation of a document.
func operations(doc object, f func(method, path string, op object)) {
	paths, _ := doc["paths"].(object)
	for path, methods := range paths {
		ops, _ := methods.(object)
		for method := range ops {
			op, _ := ops[method].(object)
			f(method, path, op)
		}
	}
}

func TestOperationsHaveNamesForPeople(t *testing.T) {
	operations(both(t)["full"], func(method, path string, op object) {
		if id, _ := op["operationId"].(string); !regexp.MustCompile(`^[a-z][A-Za-z]+$`).MatchString(id) {
			t.Errorf("%s %s is called %q", method, path, id)
		}
	})
}

func TestEveryBodyHasAnExampleThatFits(t *testing.T) {
	doc := both(t)["full"]
	c := compiler(t, doc)
	operations(doc, func(method, path string, op object) {
		media, ok := at(op, "requestBody", "content", "application/json").(object)
		if !ok {
			return
		}
		at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" + method
		schema, err := c.Compile("https://windlass.test/openapi.json#" + at + "/requestBody/content/application~1json/schema")
		if err != nil {
			t.Fatal(err)
		}
		example, ok := media["example"]
		if !ok {
			if schema.Validate(object{}) != nil {
				t.Errorf("%s %s needs a body and has no example", method, path)
			}
			return
		}
		if err := schema.Validate(example); err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
	})
}

func TestExamplesOfAnswersFit(t *testing.T) {
	doc := both(t)["full"]
	c := compiler(t, doc)
	var samples struct{ Responses object }
	text, err := os.ReadFile("examples.json")
	if err == nil {
		err = json.Unmarshal(text, &samples)
	}
	if err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(samples.Responses)
	operations(doc, func(method, path string, op object) {
		answers, _ := op["responses"].(object)
		for status, answer := range answers {
			media, _ := at(answer, "content", "application/json").(object)
			example, ok := media["example"]
			if !ok || status[0] != '2' {
				continue
			}
			delete(left, op["operationId"].(string))
			at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" + method
			schema, err := c.Compile("https://windlass.test/openapi.json#" + at + "/responses/" + status + "/content/application~1json/schema")
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(example); err != nil {
				t.Errorf("%s %s %s: %v", method, path, status, err)
			}
		}
	})
	if len(left) > 0 || len(samples.Responses) < 15 {
		t.Errorf("%d examples, of which no operation has %q", len(samples.Responses), slices.Sorted(maps.Keys(left)))
	}
}

func TestClientDocumentHasOneMediaTypePerAnswer(t *testing.T) {
	operations(both(t)["client"], func(method, path string, op object) {
		answers, _ := op["responses"].(object)
		for status, answer := range answers {
			content, _ := at(answer, "content").(object)
			if _, streams := content["text/event-stream"]; streams && (method != "get" || len(content) > 1) {
				t.Errorf("%s %s answers %s as a stream and otherwise", method, path, status)
			}
		}
	})
	full := both(t)["full"]
	for _, path := range []string{"/v1/chat", "/v1/sessions/{session_id}/turns", "/v1/turns/{turn_id}:rerun"} {
		answer := at(full, "paths", path, "post", "responses", "200", "content", "text/event-stream")
		if answer == nil {
			t.Errorf("POST %s does not describe its stream", path)
		}
	}
}

// TestClientDocumentHasNoSchemaWithTheNameOfAResponse: oapi-codegen gives it to what an operation returns.
func TestClientDocumentHasNoSchemaWithTheNameOfAResponse(t *testing.T) {
	doc := both(t)["client"]
	schemas, _ := at(doc, "components", "schemas").(object)
	operations(doc, func(_, _ string, op object) {
		id, _ := op["operationId"].(string)
		if name := strings.ToUpper(id[:1]) + id[1:] + "Response"; schemas[name] != nil {
			t.Errorf("the schema %s", name)
		}
	})
	answer := at(doc, "paths", "/v1/agents", "get", "responses", "200", "content", "application/json", "schema", "$ref")
	if answer != "#/components/schemas/ListAgentsResult" || schemas["ListAgentsResult"] == nil {
		t.Errorf("agents are listed as %v", answer)
	}
}

func TestAnEventIsOneOfItsTypes(t *testing.T) {
	doc := both(t)["full"]
	schema, err := compiler(t, doc).Compile("https://windlass.test/openapi.json#/components/schemas/Event")
	if err != nil {
		t.Fatal(err)
	}
	mapping, _ := at(doc, "components", "schemas", "Event", "discriminator", "mapping").(object)
	payloads := (&turnv1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("data").Fields()
	if len(mapping) != payloads.Len()+2 { // turn_ended has three types
		t.Errorf("%d types of %d payloads", len(mapping), payloads.Len())
	}
	for eventType := range mapping {
		field := payloads.ByName(eventjson.Payload(eventType))
		if field == nil {
			t.Errorf("%s has no payload", eventType)
			continue
		}
		ev := &turnv1.Event{Seq: 7, Type: eventType, SessionId: "ses_1", TurnId: "trn_1"}
		ev.ProtoReflect().Set(field, ev.ProtoReflect().NewField(field))
		text, err := eventjson.Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		got.(object)["type"] = "turn.unheard_of"
		if schema.Validate(got) == nil {
			t.Error("an unknown type fits")
		}
	}
}

func TestResponsesHaveAllFields(t *testing.T) {
	doc := both(t)["full"]
	for schema, field := range map[string]string{"Turn": "status", "Session": "id", "ListTurnsResponse": "next_page_token"} {
		required, _ := at(doc, "components", "schemas", schema, "required").([]any)
		if !slices.Contains(required, any(field)) {
			t.Errorf("%s may lack %s: %v", schema, field, required)
		}
	}
	if got, _ := at(doc, "components", "schemas", "CreateTurnBody", "properties", "mode", "enum").([]any); !slices.Contains(got, any("fork")) {
		t.Errorf("modes of a turn are %v", got)
	}
}
