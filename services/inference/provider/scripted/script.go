package scripted

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Maximum numbers in directives.
const (
	maxLoop   = 1000
	maxTokens = 100_000
	maxSlow   = 60_000
	maxFirst  = 600_000
)

// script holds the directives of a message.
type script struct {
	stages      []stage
	say         []string
	images      bool // the answer describes images
	cites       bool // the answer cites documents
	slow, first time.Duration
	fail        string
	finish      string
	json        []string // answers, one for each try
	rest        string   // the text around the directives
	facts       []contract.FactLine
}

// stage is a set of parallel calls, made loop times.
type stage struct {
	calls []call
	loop  int
	think string
}

// filler returns n numbered words, so that a lost or duplicate one is noticed.
func filler(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('w')
		b.WriteString(strconv.Itoa(i + 1))
	}
	return b.String()
}

// reply returns the model's reply at this position of the conversation.
func (s script) reply(here place, tools []*inferencev1.ToolDefinition) reply {
	before := 0 // model steps of earlier stages
	for _, st := range s.stages {
		if len(st.calls) == 0 {
			break
		}
		if here.step < before+st.loop {
			return st.reply(here.step, here.step-before, tools)
		}
		before += st.loop
	}
	last := s.stages[len(s.stages)-1]
	said := s.say
	if s.images {
		said = append(said[:len(said):len(said)], here.seen())
	}
	citation, searched := cited(here.results)
	if s.cites && searched {
		said = append(said[:len(said):len(said)], citation)
	}
	r := reply{step: here.step, finish: s.finish, text: strings.Join(said, " ")}
	if len(last.calls) == 0 && (here.step == before) {
		r.think = last.think
	}
	switch {
	case len(said) > 0:
	case searched && before == 0:
		r.text = citation
	case len(here.results) > 0:
		r.text = quote(here.results)
	case before > 0:
		r.text = "Done."
	case here.found != "" && !offersSearch(tools):
		r.text, _ = quotation(here.found)
	default:
		s.free(&r, tools)
	}
	return r
}

// counter matches the loop's count in arguments.
var counter = regexp.MustCompile(`\$n\b`)

// reply returns the calls of a stage; n counts its model steps from 0.
func (st stage) reply(step, n int, tools []*inferencev1.ToolDefinition) reply {
	r := reply{step: step, finish: provider.ToolCalls}
	if n == 0 {
		r.think = st.think
	}
	for _, c := range st.calls {
		r.calls = append(r.calls, call{
			tool: fullName(c.tool, tools), arguments: counter.ReplaceAllLiteralString(c.arguments, strconv.Itoa(n+1)),
		})
	}
	return r
}

// fullName returns the tool that a directive refers to.
func fullName(name string, tools []*inferencev1.ToolDefinition) string {
	for _, t := range tools {
		if t.GetName() == name {
			return name
		}
	}
	for _, t := range tools {
		if strings.HasSuffix(t.GetName(), "__"+name) {
			return t.GetName()
		}
	}
	return name
}
