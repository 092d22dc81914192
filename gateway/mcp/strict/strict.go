// Package strict mends what MCP servers list and answer until it is as the protocol's schema says. Clients that check lists reject a whole
// answer for one entry that is not, and with it the entries of all other sources.
package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// shape checks a value, and returns it as the protocol has it; an error means that it cannot be.
type shape func(raw json.RawMessage) (json.RawMessage, error)

var errShape = errors.New("it does not have the type of the protocol")

// fields are the shapes of an object's members. Others are passed on as they are.
type fields struct {
	required, optional map[string]shape
}

// mend returns an object with the members of the protocol. Optional ones that are wrong are left out.
func (f fields) mend(item map[string]json.RawMessage) error {
	for name, check := range f.required {
		mended, err := check(item[name])
		if err != nil {
			return fmt.Errorf("its %q is missing or wrong", name)
		}
		item[name] = mended
	}
	for name, check := range f.optional {
		raw, ok := item[name]
		if !ok {
			continue
		}
		if mended, err := check(raw); err == nil {
			item[name] = mended
		} else {
			delete(item, name)
		}
	}
	return nil
}

// object is the shape of an object with members.
func (f fields) object(raw json.RawMessage) (json.RawMessage, error) {
	var item map[string]json.RawMessage
	if err := json.Unmarshal(raw, &item); err != nil || item == nil {
		return nil, errShape
	}
	if err := f.mend(item); err != nil {
		return nil, err
	}
	return json.Marshal(item)
}

func text(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return nil, errShape
	}
	return raw, nil
}

// name is a text that is not empty.
func name(raw json.RawMessage) (json.RawMessage, error) {
	if string(raw) == `""` {
		return nil, errShape
	}
	return text(raw)
}

func number(raw json.RawMessage) (json.RawMessage, error) {
	var n *json.Number
	if len(raw) > 0 && raw[0] == '"' || json.Unmarshal(raw, &n) != nil || n == nil {
		return nil, errShape
	}
	return raw, nil
}

// fraction is a number from 0 to 1.
func fraction(raw json.RawMessage) (json.RawMessage, error) {
	var n *float64
	if json.Unmarshal(raw, &n) != nil || n == nil || *n < 0 || *n > 1 {
		return nil, errShape
	}
	return raw, nil
}

func boolean(raw json.RawMessage) (json.RawMessage, error) {
	if string(raw) != "true" && string(raw) != "false" {
		return nil, errShape
	}
	return raw, nil
}

// list is the shape of a list, all of whose elements have a shape.
func list(element shape) shape {
	return func(raw json.RawMessage) (json.RawMessage, error) {
		var all []json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil || all == nil {
			return nil, errShape
		}
		for i, item := range all {
			mended, err := element(item)
			if err != nil {
				return nil, err
			}
			all[i] = mended
		}
		return json.Marshal(all)
	}
}

// word is the shape of a text that is one of some.
func word(words ...string) shape {
	return func(raw json.RawMessage) (json.RawMessage, error) {
		var s string
		if json.Unmarshal(raw, &s) != nil || !slices.Contains(words, s) {
			return nil, errShape
		}
		return raw, nil
	}
}

// Shapes of what several kinds of entries have.
var (
	icon = fields{
		required: map[string]shape{"src": text},
		optional: map[string]shape{"mimeType": text, "sizes": list(text), "theme": word("light", "dark")},
	}
	notes = fields{optional: map[string]shape{
		"audience": list(word("user", "assistant")), "priority": fraction, "lastModified": text,
	}}
	argument = fields{
		required: map[string]shape{"name": text}, optional: map[string]shape{"title": text, "description": text, "required": boolean},
	}
	common = map[string]shape{
		"title": text, "description": text, "mimeType": text, "icons": list(icon.object), "annotations": notes.object, "_meta": fields{}.object,
		"size": number,
	}
	resource  = fields{required: map[string]shape{"uri": name, "name": text}, optional: common}
	templates = fields{required: map[string]shape{"uriTemplate": name, "name": text}, optional: common}
	contents  = fields{required: map[string]shape{"uri": text}, optional: map[string]shape{
		"mimeType": text, "text": text, "blob": text, "_meta": fields{}.object,
	}}
)

// Entry mends an entry of a list in place. The error says why it cannot be listed.
type Entry func(item map[string]json.RawMessage) error

// Resource mends a resource, and Template a template of resources. Without a name it is called by its address.
var (
	Resource = named(resource, "uri")
	Template = named(templates, "uriTemplate")
)

// Prompt mends a prompt. One whose arguments cannot be read cannot be asked for.
func Prompt(item map[string]json.RawMessage) error {
	if raw, ok := item["arguments"]; ok && string(raw) == "null" {
		delete(item, "arguments")
	}
	if _, ok := item["arguments"]; ok {
		mended, err := list(argument.object)(item["arguments"])
		if err != nil {
			return errors.New("its arguments are not as the protocol has them")
		}
		item["arguments"] = mended
	}
	return fields{required: map[string]shape{"name": name}, optional: common}.mend(item)
}

// named mends an entry that has an address.
func named(f fields, address string) Entry {
	return func(item map[string]json.RawMessage) error {
		if _, err := text(item["name"]); err != nil {
			item["name"] = item[address]
		}
		return f.mend(item)
	}
}

// Content returns a content block of a message. One of a type that the protocol does not have becomes text.
func Content(raw json.RawMessage) json.RawMessage {
	var block map[string]json.RawMessage
	var kind string
	if json.Unmarshal(raw, &block) == nil && json.Unmarshal(block["type"], &kind) == nil {
		f := fields{optional: map[string]shape{"annotations": notes.object, "_meta": fields{}.object}}
		switch kind {
		case "text":
			f.required = map[string]shape{"text": text}
		case "image", "audio":
			f.required = map[string]shape{"data": text, "mimeType": text}
		case "resource_link":
			f.required, f.optional = resource.required, common
			if block["name"] == nil {
				block["name"] = block["uri"]
			}
		case "resource":
			f.required = map[string]shape{"resource": embedded}
		}
		if f.required != nil && f.mend(block) == nil {
			if mended, err := json.Marshal(block); err == nil {
				return mended
			}
		}
	}
	text, err := json.Marshal(map[string]string{"type": "text", "text": string(raw)})
	if err != nil {
		return json.RawMessage(`{"type":"text","text":""}`) // strings always encode
	}
	return text
}

// Contents mends the contents of a resource: text or bytes.
func Contents(item map[string]json.RawMessage) error {
	if err := contents.mend(item); err != nil {
		return err
	}
	if item["text"] == nil && item["blob"] == nil {
		item["text"] = json.RawMessage(`""`)
	}
	return nil
}

// embedded is the shape of the contents of a resource in a message.
func embedded(raw json.RawMessage) (json.RawMessage, error) {
	var item map[string]json.RawMessage
	if err := json.Unmarshal(raw, &item); err != nil || item == nil {
		return nil, errShape
	}
	if err := Contents(item); err != nil {
		return nil, err
	}
	return json.Marshal(item)
}
