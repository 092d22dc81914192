package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/canon"
)

// Limits of what is searched in the body of an error.
const (
	maxErrorDepth = 6
	maxErrorItems = 3
)

// messageKeys are the members that hold what is wrong, the best first. A value may be text, an object or a list.
var messageKeys = []string{
	"error", "message", "detail", "details", "msg", "error_description", "errormessage", "error_message", "errors", "description", "reason",
	"title", "raw",
}

// kindKeys are the members that name the kind of an error.
var kindKeys = []string{"type", "code", "status", "error_type", "errorcode", "error_code", "__type", "err_code"}

// ReadFailure finds what the body of an error says: JSON of any form, HTML or text, whole or not.
func ReadFailure(body []byte) Failure {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if values, depth := canon.Measure(body); values > maxValues || depth > maxValues {
		return Failure{}
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	switch {
	case len(body) == 0:
		return Failure{}
	case dec.Decode(&v) == nil && !dec.More():
		var f Failure
		f.Message = f.read(v, 0)
		return f
	case body[0] == '{' || body[0] == '[':
		return Failure{Message: broken(string(body))}
	case body[0] == '<':
		return Failure{Message: pageText(string(body))}
	}
	return Failure{Message: string(body)}
}

// read returns the message of a part of a body and collects what it says about the kind.
func (f *Failure) read(v any, depth int) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var texts []string
		for _, e := range v[:min(len(v), maxErrorItems)] {
			if text := f.read(e, depth+1); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "; ")
	case map[string]any:
		if depth < maxErrorDepth {
			return f.object(v, depth)
		}
	}
	return ""
}

func (f *Failure) object(o map[string]any, depth int) string {
	members := make(map[string]any, len(o))
	for key, v := range o {
		members[strings.ToLower(key)] = v
	}
	for _, key := range kindKeys {
		switch v := members[key].(type) {
		case string:
			f.Kind = strings.TrimSpace(f.Kind + " " + v)
		case json.Number:
			if n, err := v.Int64(); err == nil && n >= 400 && n < 600 && f.Status == 0 {
				f.Status = int(n)
			}
		}
	}
	if param, ok := members["param"].(string); ok {
		f.Param = param
	}
	f.details(members["details"])
	text := ""
	for _, key := range messageKeys {
		if text = f.read(members[key], depth+1); text != "" {
			break
		}
	}
	if at, ok := members["loc"].([]any); ok && text != "" { // what FastAPI says is wrong with a field
		names := make([]string, len(at))
		for i, name := range at {
			names[i] = fmt.Sprint(name)
		}
		text = strings.Join(names, ".") + ": " + text
	}
	// A relay puts what the provider behind it says beside its own words.
	if meta, ok := members["metadata"].(map[string]any); ok {
		if raw, ok := meta["raw"].(string); ok && raw != "" {
			text = strings.TrimPrefix(text+": "+ReadFailure([]byte(raw)).Message, ": ")
		}
	}
	return text
}

// details reads the parts of Google's errors that say more than the message: how long to wait, and that the key is meant.
func (f *Failure) details(v any) {
	list, _ := v.([]any)
	for _, e := range list[:min(len(list), maxErrorItems)] {
		o, _ := e.(map[string]any)
		if reason, _ := o["reason"].(string); reason == "API_KEY_INVALID" {
			f.Kind += " invalid_api_key"
		}
		if delay, ok := o["retryDelay"].(string); ok {
			if wait, err := time.ParseDuration(delay); err == nil {
				f.RetryAfter = max(0, min(wait, maxRetryAfter))
			}
		}
	}
}

var (
	words  = regexp.MustCompile(`"(?:message|detail|msg|error_description|error)"\s*:\s*"((?:[^"\\]|\\.)*)`)
	hidden = regexp.MustCompile(`(?is)<(script|style|svg)\b.*?(</(script|style|svg)>|$)|<!--.*?(-->|$)|<[^>]*>?`)
	title  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
)

// broken returns the message in JSON that was cut off or is not quite JSON, else the text as it is.
func broken(text string) string {
	found := words.FindStringSubmatch(text)
	if found == nil {
		return text
	}
	var message string
	if json.Unmarshal([]byte(`"`+strings.TrimRight(found[1], `\`)+`"`), &message) != nil {
		return found[1]
	}
	return message
}

// pageText returns what a page says: its title, else its text.
func pageText(page string) string {
	if found := title.FindStringSubmatch(page); found != nil {
		if text := strings.TrimSpace(html.UnescapeString(found[1])); text != "" {
			return text
		}
	}
	return html.UnescapeString(hidden.ReplaceAllString(page, " "))
}
