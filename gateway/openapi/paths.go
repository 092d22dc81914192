package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/gateway/rest"
)

var (
	dotted   = regexp.MustCompile(`\{([a-z_]+)\.([a-z_]+)\}`)
	variable = regexp.MustCompile(`\{[a-z_]+\}`)
)

// add adds one operation to the document. Paths that differ only in the names of variables are one path; the names of the first stay.
func (b *builder) add(path, method string, op object) {
	path = dotted.ReplaceAllString(path, "{${1}_${2}}")
	shape := variable.ReplaceAllString(path, "{}")
	if _, ok := b.shapes[shape]; !ok {
		b.shapes[shape], b.paths[path] = path, object{}
	}
	first := b.shapes[shape]
	out := b.operation(method, op)
	names, own := variable.FindAllString(first, -1), variable.FindAllString(path, -1)
	params, _ := out["parameters"].([]object)
	for _, p := range params {
		for i, name := range own {
			if p["in"] == "path" && p["name"] == strings.Trim(name, "{}") {
				p["name"] = strings.Trim(names[i], "{}")
				break
			}
		}
	}
	b.paths[first][method] = out
}

// furtherIDs names the operations at the further paths of an RPC, which the generator numbers.
var furtherIDs = map[string]string{"TurnService_ListTurns2": "listSessionTurns", "TurnService_WatchTurn2": "watchSession"}

// operationID returns the name of an operation for people and generated clients: createTurn.
func operationID(generated string) string {
	if id, ok := furtherIDs[generated]; ok {
		return id
	}
	_, name, _ := strings.Cut(generated, "_")
	return strings.ToLower(name[:1]) + name[1:]
}

func (b *builder) operation(method string, op object) object {
	for _, tag := range strs(op["tags"]) {
		b.tags[tag] = true
	}
	generated, _ := op["operationId"].(string)
	text, _ := op["summary"].(string)
	if more, ok := op["description"].(string); ok {
		text += "\n" + more
	}
	text = withoutName(text, generated)
	id := operationID(generated)
	out := object{"operationId": id, "tags": op["tags"], "summary": firstSentence(text), "description": text}
	var params []object
	for _, p := range list(op["parameters"]) {
		if p["in"] == "body" {
			body := b.body(method, generated, p["schema"].(object)) // the generator's form, which the tests check
			out["requestBody"] = body
			params = append(params, b.bodyHeaders(op, body)...)
			continue
		}
		params = append(params, b.parameter(p))
	}
	if method == "patch" {
		params = append(params, object{
			"name": "update_mask", "in": "query", "description": "Fields to change, with commas between; without it, those in the body.",
			"schema": object{"type": "string"},
		})
		if b.revisioned(op) {
			params = append(params, header("If-Match",
				"Change the resource only if this is its ETag, quotes included; otherwise the answer is 412. `*` is any."))
		}
	}
	secure(out, b.api.method(generated))
	responses := b.responses(id, op)
	out["responses"] = responses
	if method == "get" && b.revisioned(op) {
		params = append(params, header("If-None-Match", "ETags that the caller knows. If the resource has one of them, the answer is 304."))
		responses["304"] = object{"description": "The resource has one of the ETags in If-None-Match."}
	}
	switch id {
	case "watchTurn", "watchSession":
		params = b.stream(out, params)
	case "watchEvents":
		params = watchEvents(out, params)
	case "uploadFile":
		upload(out)
		params = nil
	case "createDocument":
		documentForm(out)
	case "readFile":
		params = fileContent(out, params)
	case "createUpload", "deleteUpload":
		params = resumable(out, id, params)
	}
	if len(params) > 0 {
		out["parameters"] = params
	}
	return out
}

// body describes the body of a request. No field of a PATCH is required.
func (b *builder) body(method, generated string, in object) object {
	schema := b.schema("", in)
	if schema["$ref"] == nil {
		fields := b.api.method(generated).Input().Fields()
		for i := range fields.Len() {
			if inner := fields.Get(i).Message(); inner != nil && inner.ParentFile().Package() != "google.protobuf" {
				b.refine(schema, inner, inRequest|inResponse)
				break
			}
		}
	}
	required := len(strs(b.resolve(schema)["required"])) > 0
	if method == "patch" {
		required = true
		delete(schema, "required")
	}
	media := object{"schema": schema}
	if example, ok := b.samples.Requests[operationID(generated)]; ok {
		media["example"] = example
	}
	return object{"required": required, "content": object{"application/json": media}}
}

// bodyHeaders describes the headers of a request with this body.
func (b *builder) bodyHeaders(op, body object) []object {
	var out []object
	schema, _ := body["content"].(object)["application/json"].(object)["schema"].(object)
	if b.has(schema, "idempotency_key") {
		out = append(out, header("Idempotency-Key",
			"Makes retries safe: the same key and body give the same answer. At most 255 characters."))
	}
	if b.streams && makesTurn(op) {
		out = append(out, header("Last-Event-ID",
			"With the `Idempotency-Key` of the request that made the turn: the last cursor seen of the stream that goes on."))
	}
	return out
}

func (b *builder) parameter(p object) object {
	out := object{"name": strings.ReplaceAll(p["name"].(string), ".", "_"), "in": p["in"]}
	schema := object{}
	for key, v := range p {
		switch key {
		case "type", "format", "items", "enum", "pattern":
			schema[key] = v
		case "description":
			out[key] = v
		case "required":
			if v == true {
				out[key] = true
			}
		}
	}
	out["schema"] = schema
	if example, ok := b.samples.Parameters[fmt.Sprint(out["name"])]; ok && p["in"] == "path" {
		out["example"] = example
	}
	return out
}

// makesTurn reports whether the response may be the events of a turn that was just accepted.
func makesTurn(op object) bool {
	return op["operationId"] == "TurnService_CreateTurn" || op["operationId"] == "TurnService_RerunTurn"
}

// revisioned reports whether the response is a resource with a revision.
func (b *builder) revisioned(op object) bool {
	id, _ := op["operationId"].(string)
	return rest.Revisioned(b.api.method(id).Output())
}

// keyed reports whether the answer to a request with an idempotency key is marked when it is an earlier one. That of a tool call says
// cached instead.
func (b *builder) keyed(op object) bool {
	id, _ := op["operationId"].(string)
	m := b.api.method(id)
	return m.Input().Fields().ByName("idempotency_key") != nil && m.Output().Fields().ByName("cached") == nil
}

// creates reports whether the response is a resource that was just created.
func creates(op object) bool {
	id, _ := op["operationId"].(string)
	_, method, _ := strings.Cut(id, "_")
	return rest.Creates(method)
}

func (b *builder) responses(id string, op object) object {
	out := problems()
	ok, _ := op["responses"].(object)["200"].(object)
	schema, _ := ok["schema"].(object)
	media := object{"schema": b.schema("", schema)}
	if example, ok := b.samples.Responses[id]; ok {
		media["example"] = example
	}
	answer := object{"description": "The answer.", "content": object{"application/json": media}}
	if b.revisioned(op) {
		answer["headers"] = object{"ETag": object{
			"description": "The resource's revision, for `If-Match`.", "schema": object{"type": "string"}, "example": `"3"`,
		}}
	}
	if b.keyed(op) {
		described(answer)["Idempotency-Replayed"] = object{
			"description": "`true` if an earlier request with the same `Idempotency-Key` has had this answer.", "schema": object{"type": "string"},
		}
	}
	switch {
	case id == "exportSession":
		answer["content"].(object)["text/markdown"] = object{"schema": object{"type": "string"}}
		answer["content"].(object)["application/pdf"] = object{"schema": object{"type": "string", "format": "binary"}}
	case id == "readArtifact":
		answer["content"] = object{"*/*": object{"schema": object{"type": "string", "format": "binary"}}}
	case id == "chat" && b.streams:
		answer["content"].(object)[eventMedia] = eventStream("")["content"].(object)[eventMedia]
		answer["description"] = "The answer. " + turnsEvents
	case makesTurn(op):
		b.turnResponses(out, answer)
		return out
	case creates(op):
		answer["description"] = "The resource that was created."
		described(answer)["Location"] = object{"description": "Path of the resource.", "schema": object{"type": "string"}}
		out["201"] = answer
		return out
	}
	out["200"] = answer
	return out
}

// described returns the headers of a response, to which more can be added.
func described(answer object) object {
	if _, ok := answer["headers"].(object); !ok {
		answer["headers"] = object{}
	}
	return answer["headers"].(object)
}

// turnResponses describes the responses of a request that creates a turn.
func (b *builder) turnResponses(out, answer object) {
	answer["description"] = "Accepted: the work goes on without the caller. Also the answer where events were wanted and cannot be shown now."
	described(answer)["Location"] = object{"description": "Path of the turn.", "schema": object{"type": "string"}}
	out["202"] = answer
	if b.streams {
		events := eventStream(turnsEvents)
		events["headers"] = answer["headers"]
		out["200"], out["204"] = events, readToTheEnd()
	}
}

// problems describes the responses of a request that fails.
func problems() object {
	return object{
		"4XX":     object{"$ref": "#/components/responses/Problem"},
		"default": object{"$ref": "#/components/responses/Problem"},
	}
}

// stream turns an operation into a stream of Server-Sent Events.
func (b *builder) stream(op object, params []object) []object {
	responses := problems()
	if b.streams { // a generated client would take events for an event or nothing
		responses["204"] = readToTheEnd()
	}
	responses["200"] = eventStream("Server-Sent Events. Each frame has the event's type in `event:`, its cursor in `id:` (none for " +
		"unnumbered events) " +
		"and one Event as JSON in `data:`. " +
		"A turn's stream ends with the event `end`; an error is reported as the event `error-status` with a Problem.")
	op["responses"] = responses
	var out []object
	for _, p := range params {
		if p["in"] == "path" || p["name"] == "after" {
			out = append(out, p)
		}
	}
	include := object{
		"name": "include", "in": "query", "schema": object{"type": "string", "enum": []string{"children"}},
		"description": "With `children`, the events of sub-agents are in the stream too.",
	}
	types := object{
		"name": "types", "in": "query", "schema": object{"type": "string"}, "example": "turn.*,tool_call.completed",
		"description": "Only events of these types, with commas between; `tool_call.*` is a whole group. It changes no cursor.",
	}
	unnamed := object{
		"name": "event", "in": "query", "schema": object{"type": "string", "enum": []string{"message"}},
		"description": "With `message`, events have no `event:` line, so that an EventSource gives them to `onmessage`; " +
			"the `type` in `data` tells them apart. `end` and `error-status` keep their names.",
	}
	return append(out, include, types, unnamed, header("Last-Event-ID",
		"The last cursor seen, as an EventSource sends it; goes before `after`."))
}

// watchEvents turns an operation into the stream of domain events.
func watchEvents(op object, params []object) []object {
	responses := problems()
	responses["200"] = object{
		"description": "Server-Sent Events. Each frame has the event's type in `event:`, its cursor in `id:`, and one CloudEvent as JSON in " +
			"`data:`. " +
			"A frame with `id:` alone moves the cursor. The stream has no end; an error is reported as the event `error-status` with a Problem.",
		"content": object{eventMedia: object{"schema": ref("CloudEvent")}},
	}
	op["responses"] = responses
	var out []object
	for _, p := range params {
		if p["name"] == "types" {
			p = object{
				"name": "types", "in": "query", "schema": object{"type": "string"}, "example": "dev.windlass.source.*,dev.windlass.tool.called.v1",
				"description": "Only events of these types, with commas between; `*` and `?` stand for any text and one character.",
			}
		}
		out = append(out, p)
	}
	unnamed := object{
		"name": "event", "in": "query", "schema": object{"type": "string", "enum": []string{"message"}},
		"description": "With `message`, events have no `event:` line, so that an EventSource gives them to `onmessage`.",
	}
	return append(out, unnamed, header("Last-Event-ID", "The last cursor seen, as an EventSource sends it; goes before `after` and `since`."))
}

func readToTheEnd() object {
	return object{"description": "The turn is over and all its events were read already: do not reconnect."}
}

// turnsEvents describes the response to a caller that follows the turn it creates.
const turnsEvents = "The turn's events, where `Accept` names text/event-stream and not application/json before it. " +
	"With the same `Idempotency-Key` and `Last-Event-ID` an interrupted stream resumes."

// eventMedia is the media type of Server-Sent Events.
const eventMedia = "text/event-stream"

func eventStream(description string) object {
	return object{"description": description, "content": object{eventMedia: object{"schema": ref("Event")}}}
}

func header(name, description string) object {
	return object{"name": name, "in": "header", "description": description, "schema": object{"type": "string"}}
}

// addPlain adds the paths outside /v1.
func (b *builder) addPlain() {
	plain := func(id, summary string, responses object) object {
		maps.Copy(responses, problems())
		return object{"get": object{
			"operationId": id, "tags": []string{"Gateway"}, "summary": summary, "responses": responses, "security": []object{},
		}}
	}
	content := func(media string, schema object) object {
		return object{"description": http.StatusText(http.StatusOK), "content": object{media: object{"schema": schema}}}
	}
	text := object{"type": "string"}
	ready := object{"type": "object", "properties": object{
		"status": text, "not_ready": object{"type": "array", "items": text},
		"checks": object{"type": "object", "additionalProperties": text},
	}}
	not := content("application/json", ready)
	not["description"] = "Something that is needed does not take calls."
	b.paths["/healthz"] = plain("getHealth", "Says that the process serves.",
		object{"200": content("application/json", object{"type": "object", "properties": object{"status": text}})})
	b.paths["/readyz"] = plain("getReadiness", "Says whether the gateway and all it needs take calls.",
		object{"200": content("application/json", ready), "503": not})
	metrics := plain("getMetrics", "Metrics in the Prometheus text form.", object{"200": content("text/plain", text)})
	get := metrics["get"].(object)
	get["security"], get["description"] = security("metrics.get"), "Monitoring may send the token of `telemetry.metrics` instead."
	b.paths["/metrics"] = metrics
	b.paths["/openapi.json"] = plain("getOpenAPI", "This document, with all responses.",
		object{"200": content("application/json", object{"type": "object"})})
	b.paths["/openapi.client.json"] = plain("getClientOpenAPI",
		"This document for generators of clients: an operation that creates a turn answers with JSON only.",
		object{"200": content("application/json", object{"type": "object"})})
}

// resolve follows a reference.
func (b *builder) resolve(schema object) object {
	target, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	for _, name := range sortedKeys(b.in.Definitions) {
		if "#/components/schemas/"+shortName(name) == target {
			return b.in.Definitions[name]
		}
	}
	return schema
}

func (b *builder) has(schema object, property string) bool {
	props, _ := b.resolve(schema)["properties"].(object)
	_, ok := props[property]
	return ok
}

func list(v any) []object {
	items, _ := v.([]any)
	var out []object
	for _, x := range items {
		if o, ok := x.(object); ok {
			out = append(out, maps.Clone(o))
		}
	}
	return out
}

func firstSentence(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(strings.TrimSpace(text), ".")
}

// withoutName turns "ListTurns lists turns" into "Lists turns": the comment of an RPC begins with its name.
func withoutName(text, operationID string) string {
	_, name, _ := strings.Cut(operationID, "_")
	rest, ok := strings.CutPrefix(text, strings.TrimRight(name, "0123456789")+" ")
	if !ok || rest == "" {
		return text
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}
