// Package hint puts hints that a server gives for its REST API into commands.
package hint

import (
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
)

// restCall is a call of the REST API as hints of the server write it, with a body in some.
var restCall = regexp.MustCompile(`(GET|POST|PATCH|PUT|DELETE) /(?:openapi\.json|v1/([a-z-]+)(?:/([\w-]+))?(?::([a-z]+))?(?:\?([\w=&-]+))?)( \{[^}]*\})?`)

// nouns are those that are not called as in the API.
var nouns = map[string]string{"access-policies": "policy", "tool-groups": "group"}

// Commands replaces REST calls in an error of a server by the commands that make them.
func Commands(err error) error {
	e := fault.As(err)
	if e == nil {
		return err
	}
	e.Todo = restCall.ReplaceAllStringFunc(e.Todo, command)
	e.Message = restCall.ReplaceAllStringFunc(e.Message, command)
	return err
}

// command returns the command that makes a REST call.
func command(rest string) string {
	m := restCall.FindStringSubmatch(rest)
	method, path, id, verb, query := m[1], m[2], m[3], m[4], m[5]
	noun := strings.TrimSuffix(path, "s")
	if strings.Contains(path, "-") {
		if noun = nouns[path]; noun == "" {
			return rest
		}
	}
	var words []string
	switch {
	case path == "":
		return "'windlass --help'"
	case verb == "decide" || verb == "answer":
		words = []string{"decide", id}
	case verb == "resolve":
		words = []string{"approval list --kind resolution --turn", id}
	case path == "agents" && method == "POST" && id == "":
		words = []string{"apply FILE"}
	case verb != "":
		words = []string{noun, verb, id}
	case id == "" && method == "GET":
		words = []string{noun, "list"}
	case method == "GET":
		words = []string{noun, "get", id}
	case method == "POST":
		words = []string{noun, "create"}
	case method == "DELETE":
		words = []string{noun, "delete", id}
	default:
		words = []string{noun, "update", id}
	}
	for q := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(q, "="); ok {
			words = append(words, "--"+strings.TrimSuffix(name, "_id"), value)
		}
	}
	return "'windlass " + strings.TrimSpace(strings.Join(words, " ")) + "'"
}
