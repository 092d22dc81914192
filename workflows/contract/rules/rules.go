// Package rules chooses a strategy and an agent for a request by its words, without a model: for the scripted model, and where a model's
// answer cannot be read.
package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Strategies by the names that models know.
const (
	Direct = "direct"
	React  = "react"
	Plan   = "plan"
	Route  = "route"
)

// Agent is one that a request may be handed to.
type Agent struct {
	// ID names it.
	ID string
	// Description says what it does.
	Description string
}

var (
	inOrder = regexp.MustCompile(
		`(?is)\bfirst(ly)?\b.*\b(then|second(ly)?|after that|next|finally)\b|\bstep by step\b|\bthen\b.*\b(then|finally)\b`,
	)
	numbered  = regexp.MustCompile(`(?m)^\s*(?:\d+[.)]|[-*•])\s+\S`)
	inOneLine = regexp.MustCompile(`\b1[.)]\s.*\b2[.)]\s`)
	needsPlan = regexp.MustCompile(`(?i)\b(plan|migrate|migration|roadmap|strateg(y|ies)|optimal|optimi[sz]e|optimi[sz]ation)\b`)
	aboutWhat = regexp.MustCompile(
		`(?i)^\s*(what('s|’s| is| are)( an?\b| the (best practices?|differences?|meaning|purpose)\b)|(explain|define)\s+(what )?(an?|the)\s)`,
	)
	here = regexp.MustCompile(`(?i)\b(my|our|we|this|these|now|today|current|currently|latest|last)\b|\d`)
)

// several marks a request that one agent alone will hardly settle: it has parts, or asks for a judgement.
var several = regexp.MustCompile(`(?i)\b(and|or|then|if|should|whether|based on|depending|that have|which ones?|compare|why)\b`)

// Choose returns the strategy that fits a request, and why, for an agent that has tools or not, and these sub-agents. In doubt it is
// React: that can still answer at once, or call an agent.
func Choose(request string, tools bool, agents []Agent) (strategy, reason string) {
	switch {
	case !tools && len(agents) == 0:
		return Direct, "the agent has no tools"
	case inOrder.MatchString(request), len(numbered.FindAllString(request, 2)) == 2, inOneLine.MatchString(request):
		return Plan, "the request names several steps"
	case aboutWhat.MatchString(request) && !here.MatchString(request):
		return Direct, "the request asks for general knowledge"
	case needsPlan.MatchString(request):
		return Plan, "the request is a \"" + strings.ToLower(needsPlan.FindString(request)) + "\" task"
	}
	if best := Nearest(request, agents); best >= 0 && !several.MatchString(request) {
		return Route, "the request is simple and fits the agent " + agents[best].ID
	}
	return React, "the agent has tools"
}

// Nearest returns the index of the agent whose name and description share most words with the request: the first of several, -1 without
// any.
func Nearest(request string, agents []Agent) int {
	asked := wordsOf(request)
	best, most := -1, 0
	for i, a := range agents {
		shared := 0
		for word := range wordsOf(a.ID + " " + a.Description) {
			if asked[word] {
				shared++
			}
		}
		if shared > most {
			best, most = i, shared
		}
	}
	return best
}

// filling are longer words without meaning for the search.
var filling = []string{
	"what", "this", "that", "with", "which", "have", "from", "there", "these", "those", "about", "please", "some", "known",
}

// wordsOf are the other words of a text, in lower case.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len([]rune(w)) > 3 && !slices.Contains(filling, w) {
			words[strings.TrimSuffix(w, "s")] = true
		}
	}
	return words
}
