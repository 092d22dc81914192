package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

// maxPassage bounds what an answer quotes of a passage, in characters.
const maxPassage = 300

// nothingFound is the answer where a search has found nothing.
const nothingFound = "The documents do not say anything about it."

// searchFor returns the call that searches the documents of the agent.
func searchFor(words string) call {
	arguments, err := json.Marshal(map[string]string{"query": words})
	if err != nil {
		arguments = []byte("{}") // a map of strings always encodes
	}
	return call{tool: passage.SearchTool, arguments: string(arguments)}
}

// searches reports whether a message without directives is answered from documents: the agent has some, and no other tool fits better.
func searches(ranked []candidate, tools []*inferencev1.ToolDefinition) bool {
	return offersSearch(tools) && (len(ranked) == 0 || passage.IsTool(ranked[0].name))
}

// offersSearch reports whether the model can search documents.
func offersSearch(tools []*inferencev1.ToolDefinition) bool {
	return slices.ContainsFunc(tools, func(t *inferencev1.ToolDefinition) bool { return t.GetName() == passage.SearchTool })
}

// markedPassage matches the line above a passage: its mark, and where it stands.
var markedPassage = regexp.MustCompile(`(?m)^\[(k[0-9a-f]+\.\d+)\] .*$`)

// cited answers with the first passage of the results, quoted and cited. ok is false if no documents were searched.
func cited(results []*turnv1.ToolResult) (answer string, ok bool) {
	for _, r := range results {
		if !passage.IsTool(r.GetTool()) || r.GetIsError() {
			continue
		}
		ok = true
		if answer, found := quotation(provider.Text(r.GetContent())); found {
			return answer, true
		}
	}
	return nothingFound, ok
}

// quotation answers with the first passage of a text, quoted and cited. found is false if it has none.
func quotation(text string) (answer string, found bool) {
	at := markedPassage.FindStringSubmatchIndex(text)
	if at == nil {
		return nothingFound, false
	}
	var words []string
	for line := range strings.Lines(strings.TrimLeft(text[at[1]:], "\n")) {
		said, isQuote := strings.CutPrefix(line, ">")
		if !isQuote {
			break
		}
		words = append(words, strings.Fields(said)...)
	}
	excerpt := truncate.Chars(strings.Join(words, " "), maxPassage)
	return fmt.Sprintf("The documents say: \u201c%s\u201d [%s]", excerpt, text[at[2]:at[3]]), true
}
