package openapi

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// eventTypes finds the types of events at the start of the comment of a payload.
var eventTypes = regexp.MustCompile(`^[a-z_]+(?:\.[a-z_]+)+(?:, [a-z_]+(?:\.[a-z_]+)+)*`)

// eventSchemas gives events the form that gateway/eventjson writes: one schema per type, with its payload under "data".
func (b *builder) eventSchemas() error {
	ev, ok := b.schemas["Event"].(object)
	envelope, isObject := ev["properties"].(object)
	if !ok || !isObject {
		return errors.New("the generated OpenAPI document has no Event")
	}
	var variants []object
	mapping := object{}
	fields := b.api.message("Event").Oneofs().ByName("data").Fields()
	kinds := map[string]object{}
	for i := range fields.Len() {
		field := fields.Get(i)
		payload, _ := envelope[field.TextName()].(object)
		delete(envelope, field.TextName())
		comment, ok := payload["description"].(string)
		if !ok {
			comment, _ = payload["title"].(string) // what the generator makes of a comment without a full stop
		}
		types := eventTypes.FindString(comment)
		if types == "" {
			return fmt.Errorf("the comment of %s does not begin with an event type: %q", field.FullName(), comment)
		}
		for name := range strings.SplitSeq(types, ", ") {
			kinds[name] = ref(string(field.Message().Name()))
		}
	}
	for _, name := range sortedKeys(kinds) {
		schema := variantName(name)
		b.schemas[schema] = variant(envelope, name, kinds[name])
		variants = append(variants, ref(schema))
		mapping[name] = "#/components/schemas/" + schema
	}
	b.schemas["Event"] = object{
		"description": ev["description"], "oneOf": variants, "discriminator": object{"propertyName": "type", "mapping": mapping},
	}
	return nil
}

// variantName returns the name of the schema of a type: ToolCallStartedEvent for tool_call.started.
func variantName(eventType string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(eventType, func(r rune) bool { return r == '.' || r == '_' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String() + "Event"
}

func variant(envelope object, eventType string, payload object) object {
	props := maps.Clone(envelope)
	props["type"] = object{"type": "string", "const": eventType, "description": "Type of the event."}
	props["data"] = payload
	return object{
		"type": "object", "description": "Event " + eventType + ".", "properties": props,
		"required": []string{"seq", "type", "session_id", "turn_id", "data"},
	}
}
