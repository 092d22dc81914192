package openapi

import (
	"maps"
	"net/http"
	"regexp"
	"strings"
)

// add adds one operation to the document. Paths that differ only in variable names are merged.
func (b *builder) add(path, method string, op object) {
	path = regexp.MustCompile(`\{([a-z_]+)\.([a-z_]+)\}`).ReplaceAllString(path, "{${1}_${2}}")
	if b.paths[path] == nil {
		b.paths[path] = object{}
	}
	b.paths[path][method] = b.operation(path, method, op)
}

func (b *builder) operation(path, method string, op object) object {
	for _, tag := range strs(op["tags"]) {
		b.tags[tag] = true
	}
	text, _ := op["summary"].(string)
	if more, ok := op["description"].(string); ok {
		text += "\n" + more
	}
	text = withoutName(text, op["operationId"])
	out := object{"operationId": op["operationId"], "tags": op["tags"], "summary": firstSentence(text), "description": text}
	var params []object
	for _, p := range list(op["parameters"]) {
		if p["in"] == "body" {
			body := b.schema("", p["schema"].(object)) // the generator's form, which the tests check
			required := len(strs(b.resolve(body)["required"])) > 0
			out["requestBody"] = object{"required": required, "content": object{"application/json": object{"schema": body}}}
			if b.has(body, "idempotency_key") {
				params = append(params, header("Idempotency-Key",
					"Makes retries safe: the same key and body give the same answer. At most 255 characters."))
			}
			if makesTurn(op) {
				params = append(params, header("Last-Event-ID",
					"With the `Idempotency-Key` of the request that made the turn: the last cursor seen of the stream that goes on."))
			}
			continue
		}
		params = append(params, b.parameter(p))
	}
	if method == "patch" {
		params = append(params, object{
			"name": "update_mask", "in": "query", "description": "Fields to change, with commas between; without it, those in the body.",
			"schema": object{"type": "string"},
		})
	}
	out["responses"] = b.responses(op)
	if strings.HasSuffix(path, "/events") {
		params = stream(out, params)
	}
	if len(params) > 0 {
		out["parameters"] = params
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
	return out
}

// makesTurn reports whether the response may be the events of a turn that was just accepted.
func makesTurn(op object) bool {
	return op["operationId"] == "TurnService_CreateTurn" || op["operationId"] == "TurnService_RerunTurn"
}

func (b *builder) responses(op object) object {
	out := object{"default": object{"$ref": "#/components/responses/Problem"}}
	ok, _ := op["responses"].(object)["200"].(object)
	schema, _ := ok["schema"].(object)
	answer := object{"description": "The answer.", "content": object{"application/json": object{"schema": b.schema("", schema)}}}
	if op["operationId"] == "SessionService_ExportSession" {
		answer["content"].(object)["text/markdown"] = object{"schema": object{"type": "string"}}
	}
	if op["operationId"] == "ArtifactService_ReadArtifact" {
		answer["content"] = object{"*/*": object{"schema": object{"type": "string", "format": "binary"}}}
	}
	if makesTurn(op) {
		answer["description"] = "Accepted: the work goes on without the caller. Also the answer where events were wanted and cannot be shown now."
		answer["headers"] = object{"Location": object{"description": "Path of the turn.", "schema": object{"type": "string"}}}
		out["202"] = answer
		events := eventStream(turnsEvents)
		events["headers"] = answer["headers"]
		out["200"], out["204"] = events, readToTheEnd()
		return out
	}
	out["200"] = answer
	return out
}

// stream turns an operation into a stream of Server-Sent Events.
func stream(op object, params []object) []object {
	op["responses"] = object{
		"200": eventStream("Server-Sent Events. Each frame has the event's type in `event:`, its cursor in `id:` (none for unnumbered events) " +
			"and one Event as JSON in `data:`. " +
			"A turn's stream ends with the event `end`; an error is reported as the event `error-status` with a Problem."),
		"204":     readToTheEnd(),
		"default": object{"$ref": "#/components/responses/Problem"},
	}
	var out []object
	for _, p := range params {
		if p["in"] == "path" || p["name"] == "after" {
			out = append(out, p)
		}
	}
	return append(out, header("Last-Event-ID", "The last cursor seen, as an EventSource sends it; goes before `after`."))
}

func readToTheEnd() object {
	return object{"description": "The turn is over and all its events were read already: do not reconnect."}
}

// turnsEvents describes the response to a caller that follows the turn it creates.
const turnsEvents = "The turn's events, where `Accept` names text/event-stream and not application/json before it. " +
	"With the same `Idempotency-Key` and `Last-Event-ID` an interrupted stream resumes."

func eventStream(description string) object {
	return object{"description": description, "content": object{"text/event-stream": object{"schema": ref("Event")}}}
}

func header(name, description string) object {
	return object{"name": name, "in": "header", "description": description, "schema": object{"type": "string"}}
}

// addPlain adds the paths outside /v1.
func (b *builder) addPlain() {
	plain := func(id, summary string, responses object) object {
		return object{"get": object{"operationId": id, "tags": []string{"Gateway"}, "summary": summary, "responses": responses}}
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
	b.paths["/healthz"] = plain("healthz", "Says that the process serves.",
		object{"200": content("application/json", object{"type": "object", "properties": object{"status": text}})})
	b.paths["/readyz"] = plain("readyz", "Says whether the gateway and all it needs take calls.",
		object{"200": content("application/json", ready), "503": not})
	b.paths["/metrics"] = plain("metrics", "Metrics in the Prometheus text form.", object{"200": content("text/plain", text)})
	b.paths["/openapi.json"] = plain("openapi", "This document.", object{"200": content("application/json", object{"type": "object"})})
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
func withoutName(text string, operationID any) string {
	id, _ := operationID.(string)
	_, name, _ := strings.Cut(id, "_")
	rest, ok := strings.CutPrefix(text, strings.TrimRight(name, "0123456789")+" ")
	if !ok || rest == "" {
		return text
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}
