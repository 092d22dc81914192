package scripted

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// Weights of a shared word by where the tool has it.
const (
	inName        = 4 // the tool's own name
	inSource      = 2 // the name of its source
	inDescription = 1
	inArguments   = 1
	arithmetic    = 6 // the message holds an expression and the tool takes one
	enough        = 2 // minimum from words of the message itself, without synonyms
)

// candidate is a tool that may match a message.
type candidate struct {
	name    string
	schema  schema
	score   int
	missing []string
}

// rank returns the tools that match a message best: all with the highest score, in the given order, possibly none.
func rank(message string, tools []*inferencev1.ToolDefinition) []candidate {
	said := tokens(message)
	meant := map[string]bool{}
	for word := range said {
		for _, verb := range verbs(word) {
			meant[verb] = true
		}
	}
	var fit []candidate
	for _, t := range tools {
		c := candidate{name: t.GetName(), schema: parseSchema(t.GetInputSchemaJson())}
		direct := c.worth(t, said)
		if c.schema.expression() != "" && findExpression(message) != "" {
			direct += arithmetic
		}
		if direct >= enough {
			c.score = direct + c.worth(t, meant)
			fit = append(fit, c)
		}
	}
	slices.SortStableFunc(fit, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	for i := range fit {
		if fit[i].score < fit[0].score {
			return fit[:i]
		}
	}
	return fit
}

// worth sums the weights of words for a tool; each word counts at its highest weight.
func (c candidate) worth(t *inferencev1.ToolDefinition, words map[string]bool) int {
	source, own, ok := strings.Cut(t.GetName(), "__")
	if !ok {
		source, own = "", t.GetName()
	}
	places := []struct {
		words map[string]bool
		worth int
	}{
		{tokens(own), inName},
		{tokens(source), inSource},
		{tokens(t.GetDescription()), inDescription},
		{tokens(c.schema.text()), inArguments},
	}
	sum := 0
	for word := range words {
		for _, p := range places {
			if p.words[word] {
				sum += p.worth
				break
			}
		}
	}
	return sum
}

// tokens returns the meaningful words of a text in a base form.
func tokens(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if word = strings.ToLower(word); len(word) > 1 && !filled[word] {
			out[stem(word)] = true
		}
	}
	return out
}

// stem removes common English endings.
func stem(word string) string {
	for _, ending := range []string{"ing", "ies", "es", "ed", "s"} {
		if base, ok := strings.CutSuffix(word, ending); ok && len(base) > 2 && !strings.HasSuffix(word, "ss") {
			if ending == "ies" {
				return base + "y"
			}
			if ending == "es" && !strings.HasSuffix(base, "h") && !strings.HasSuffix(base, "s") && !strings.HasSuffix(base, "x") {
				return base + "e" // notes
			}
			return base
		}
	}
	return word
}

// verbs returns the words that tools use for what people call differently. The word is in its base form.
func verbs(word string) []string {
	switch word {
	case "remember", "save", "store", "write", "add", "new", "make", "put", "keep":
		return []string{"create", "add", "write", "save", "store"}
	case "show", "have", "all", "which", "display", "every":
		return []string{"list"}
	case "find", "look", "where", "about":
		return []string{"search", "find", "query"}
	case "forget", "remove", "erase", "drop":
		return []string{"delete", "remove"}
	case "calculate", "compute", "sum", "multiply", "divide", "plus", "minus":
		return []string{"evaluate", "calculate", "compute"}
	case "open", "get", "fetch":
		return []string{"read", "get", "fetch"}
	case "summary", "shorten", "summarise", "summarize":
		return []string{"summarize", "summarise"}
	case "mile", "kilometre", "kilometer", "celsius", "fahrenheit", "pound", "kilogram":
		return []string{"convert"}
	default:
		return nil
	}
}

// filled lists words without meaning for a tool.
var filled = func() map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq("the an of in on to my me it is are was be do does did can could will would should you your we " +
		"our us they this that these those there here what how why who when and or not no for with from by at as if so than " +
		"use using used please tool tools call one some any its he she his her") {
		out[word] = true
	}
	return out
}()
