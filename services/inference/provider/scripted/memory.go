package scripted

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/workflows/contract"
)

// question asks for an attribute of the user, or of something of the user's.
var question = regexp.MustCompile(`(?i)\bwhat(?:'s| is| was| are| were) (?:my|the) ([^?]+?)(?: (?:that )?i [^?]*)?\?`)

// readFact reads the fact of a remember directive, and calls the tool for it.
func (s *scanner) readFact() {
	s.pos = s.skipSpace(s.pos)
	attribute, value, _ := strings.Cut(s.run(), "=")
	fact := map[string]string{"value": strings.TrimRight(strings.TrimSpace(value), ".")}
	fact["entity"], fact["attribute"] = ofWhom(attribute)
	if fact["entity"] == "" {
		delete(fact, "entity")
	}
	arguments, err := json.Marshal(fact)
	if err != nil { // strings always encode
		return
	}
	s.stage().calls = append(s.stage().calls, call{tool: contract.Remember, arguments: string(arguments)})
}

// ofWhom splits "my brother's home town". The entity of an attribute of the user is "".
func ofWhom(text string) (entity, attribute string) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "my ")
	if of, rest, found := strings.Cut(text, "'s "); found {
		return of, rest
	}
	return "", text
}

// answerFrom answers a question with what is remembered; "" if it is none, or if nothing is remembered of what it asks for.
func answerFrom(facts []contract.FactLine, text string) string {
	asked := question.FindStringSubmatch(text)
	if asked == nil {
		return ""
	}
	entity, attribute := ofWhom(asked[1])
	whose := "Your " + attribute
	if entity != "" {
		whose = "Your " + entity + "'s " + attribute
	} else {
		entity = "user"
	}
	for _, f := range facts {
		if strings.EqualFold(f.Attribute, attribute) && strings.EqualFold(f.Entity, entity) {
			return whose + " is " + f.Value + "."
		}
	}
	return ""
}
