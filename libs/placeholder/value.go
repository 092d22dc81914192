package placeholder

import (
	"encoding/json"
	"strings"
)

// Find follows a dotted path of names through nested objects of encoding/json. Names may contain dots themselves, as claims that are URLs
// do: the longest existing name wins.
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

// Text formats a value for insertion into a text: strings as they are, everything else as JSON.
func Text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	b := &strings.Builder{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "" // JSON values always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}
