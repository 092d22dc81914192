package placeholder

import (
	"encoding/json"
	"strings"
)

// Find walks a path of names with dots between through nested objects, as encoding/json reads them. A name may have dots itself, as claims
// that are URLs do: the longest name that is there counts.
func Find(object map[string]any, path string) (any, bool) {
	if v, ok := object[path]; ok {
		return v, true
	}
	for at := strings.LastIndexByte(path, '.'); at > 0; at = strings.LastIndexByte(path[:at], '.') {
		below, ok := object[path[:at]].(map[string]any)
		if !ok {
			continue
		}
		if v, ok := Find(below, path[at+1:]); ok {
			return v, true
		}
	}
	return nil, false
}

// Text is a value as it stands in a text: a text itself, all else as JSON.
func Text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	b := &strings.Builder{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "" // no value of JSON fails
	}
	return strings.TrimSuffix(b.String(), "\n")
}
