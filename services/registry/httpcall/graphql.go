package httpcall

import (
	"encoding/json"
	"errors"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// graphQLResponse is the response to one query or mutation (GraphQL, October 2021, section 7.1).
type graphQLResponse struct {
	// data is nil if it is absent or null.
	data map[string]json.RawMessage
	// errors is the list as it came; nil if there are none.
	errors json.RawMessage
}

// parseGraphQL reads a response: an object with data, a list of errors, or both. The names of members are exact.
func parseGraphQL(body []byte) (graphQLResponse, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return graphQLResponse{}, errors.New("it is not a JSON object")
	}
	var r graphQLResponse
	if raw := members["data"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &r.data); err != nil {
			return graphQLResponse{}, errors.New(`its "data" is not an object`)
		}
	}
	if raw := members["errors"]; len(raw) > 0 {
		var list []map[string]json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return graphQLResponse{}, errors.New(`its "errors" are not a list of objects`)
		}
		if len(list) > 0 {
			r.errors = raw
		}
	}
	if r.data == nil && r.errors == nil {
		return graphQLResponse{}, errors.New("it has neither data nor errors")
	}
	return r, nil
}

// CheckGraphQL reports why a body is not the response of a GraphQL API; nil if it is.
func CheckGraphQL(body []byte) error {
	_, err := parseGraphQL(body)
	return err
}

// readGraphQL returns the field's value. A successful response that is none of GraphQL is no answer: something else sent it.
func (t *Template) readGraphQL(a answer, hide func(string) string) (*turnv1.ToolResult, string) {
	r, err := parseGraphQL(a.body)
	if err == nil && r.errors == nil && (len(r.data[t.GraphQL]) == 0 || t.Required && isNull(r.data[t.GraphQL])) {
		err = errors.New("it has no value of " + t.GraphQL)
	}
	switch {
	case err != nil && a.status >= 300: // a proxy's, or the API's own before it read the request
		return a.result(hide), ""
	case a.unreadable != "":
		return nil, "something that cannot be read, since " + a.unreadable
	case err != nil:
		return nil, "something that is no response of GraphQL (" + err.Error() + ")"
	}
	out := r.result(t.GraphQL, hide)
	out.IsError = out.GetIsError() || a.status >= 500 // with a status below, the protocol has the body decide
	return out, ""
}

// result is the field's value. Errors are shown with what is there of it; without a value they are an error of the tool.
func (r graphQLResponse) result(field string, hide func(string) string) *turnv1.ToolResult {
	value := r.data[field]
	out := &turnv1.ToolResult{IsError: r.errors != nil && isNull(value)}
	if !out.GetIsError() {
		shown := hide(string(value))
		out.Content = append(out.Content, text(shown))
		out.StructuredContent = Structured([]byte(shown))
	}
	if r.errors != nil {
		out.Content = append(out.Content, text("The API answered with errors:\n"+hide(string(r.errors))))
	}
	return out
}

// isNull reports whether a value is absent or null.
func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }
