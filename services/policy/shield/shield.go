// Package shield finds forbidden content in texts: patterns, secrets, personal data, links, invisible characters. Detectors are
// deterministic and make no calls; shields that ask a model or a webhook are only configured here.
package shield

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/secret"
)

// Stages that a shield can check.
const (
	Input  = "input"
	Tool   = "tool"
	Result = "result"
	Output = "output"
)

// Actions.
const (
	Block  = "block"
	Redact = "redact"
	Flag   = "flag"
	Ask    = "ask"
)

// Config describes one shield.
type Config struct {
	// Name is how agents refer to it.
	Name string `yaml:"name" doc:"Name by which agents request the shield; unique."`
	// Detector is one of those in detectors, or Webhook.
	Detector string `yaml:"detector" doc:"What it looks for: pattern (a regular expression), secrets (keys, tokens, passwords), pii (e-mail, phone, IBAN, card numbers) or one of email, phone, iban, card; invisible (invisible and direction-changing characters), links (URLs to hosts that are not listed) or size (texts that are too long). Or who decides: guard (a model that answers safe or unsafe), moderation (a provider's moderation endpoint) or webhook (your own service)."`
	// Pattern is for the detector "pattern".
	Pattern string `yaml:"pattern" doc:"For the detector pattern: a regular expression in RE2 syntax; (?i) at its beginning ignores case."`
	// Hosts is for the detector "links".
	Hosts []string `yaml:"hosts" doc:"For the detector links: hosts that URLs may have, for example docs.example.org, or *.example.org for all names below; empty = none."`
	// MaxBytes is for the detector "size".
	MaxBytes int `yaml:"max_bytes" doc:"For the detector size: the most bytes that a text may have."`
	// Model and Categories are for Guard and Moderation.
	Model      string   `yaml:"model" doc:"For the detectors guard and moderation: the model, as provider/model. It is asked through inference."`
	Categories []string `yaml:"categories" doc:"For the detectors guard and moderation: categories that matter, for example S1 or violence; empty = all."`
	// URL and Headers are for Webhook.
	URL     string                  `yaml:"url" doc:"For the detector webhook: URL to which the texts are posted. The egress configuration must allow it."`
	Headers map[string]secret.Value `yaml:"headers" doc:"For the detector webhook: headers of each request, for example Authorization; a value may have ${env:NAME} and ${secret:NAME}."`
	// Tenant owns the stored secrets in Headers; empty = default.
	Tenant string `yaml:"tenant" doc:"For the detector webhook: tenant whose stored secrets headers refer to; empty: default. All tenants use the shield."`
	// Timeout and OnError are for shields that ask a service.
	Timeout time.Duration `yaml:"timeout" doc:"For shields that ask: time for an answer, one repetition included; default 5s, at most 1m."`
	OnError string        `yaml:"on_error" doc:"For shields that ask: what follows when there is no usable answer. closed (default): the text is not used. open: it passes, and the event shield.triggered says so."`
	// Stage lists the stages that it checks.
	Stage []string `yaml:"stage" doc:"Where it looks: input, tool (arguments of tool calls; also tool_arguments), result (what tools answer; also tool_results), output. Empty: everywhere that the action is possible."`
	// Action is "block", "redact", "flag" or "ask"; empty for Webhook.
	Action string `yaml:"action" doc:"block (default), redact (what is found is replaced), flag (it is recorded, and the turn continues) or ask (the tool call waits for an approval; stage tool only). A webhook decides by itself: give none."`
	// ApproverRoles and AllowRequester are for the action "ask".
	ApproverRoles  []string `yaml:"approver_roles" doc:"For the action ask: roles of which an approver needs one; empty = anyone with the permission to decide approvals."`
	AllowRequester bool     `yaml:"allow_requester" doc:"For the action ask: the subject that started the turn may approve the call."`
}

// Shield is a configured shield. It is safe for concurrent use.
type Shield struct {
	// Config is as configured, with defaults.
	Config
	find detector
	open open
}

// detector returns its findings in a text, in any order; findings may overlap.
type detector func(text string) []finding

// finding is a part of a text.
type finding struct {
	from, to int
	category string
	remove   bool // remove it without a replacement
}

// New validates a configuration and returns the shield.
func New(c Config) (*Shield, error) {
	if c.Name == "" {
		return nil, errors.New("a shield has no name")
	}
	asks, err := c.askers()
	if err != nil {
		return nil, fmt.Errorf("shield %q: %w", c.Name, err)
	}
	c = asks
	if c.Detector != Webhook {
		c.Action = cmp.Or(c.Action, Block)
	}
	if c.Action != "" && !slices.Contains([]string{Block, Redact, Flag, Ask}, c.Action) {
		return nil, fmt.Errorf("shield %q: there is no action %q: want block, redact, flag or ask", c.Name, c.Action)
	}
	stages, err := stagesOf(c)
	if err != nil {
		return nil, err
	}
	c.Stage = stages
	if c.Action != Ask && c.Detector != Webhook && (len(c.ApproverRoles) > 0 || c.AllowRequester) {
		return nil, fmt.Errorf("shield %q: give approver_roles and allow_requester with the action ask, and only there", c.Name)
	}
	s := &Shield{Config: c}
	if c.Asks() {
		return s, nil
	}
	k, err := c.kind()
	if err == nil {
		s.find, err = k.find(c)
	}
	if err != nil {
		return nil, fmt.Errorf("shield %q: %w", c.Name, err)
	}
	s.open = k.open(c)
	return s, nil
}

// stagesOf returns the stages of a shield by their own names.
func stagesOf(c Config) ([]string, error) {
	var out []string
	for _, stage := range c.Stage {
		switch stage {
		case "tool_arguments":
			stage = Tool
		case "tool_results":
			stage = Result
		case Input, Tool, Result, Output:
		default:
			return nil, fmt.Errorf("shield %q: there is no stage %q: want input, tool, result or output", c.Name, stage)
		}
		out = append(out, stage)
	}
	if c.Action == Ask {
		if slices.ContainsFunc(out, func(stage string) bool { return stage != Tool }) {
			return nil, fmt.Errorf("shield %q: the action ask is for the stage tool only: only a call can wait for an approval", c.Name)
		}
		return []string{Tool}, nil
	}
	if len(out) == 0 {
		out = []string{Input, Tool, Result, Output}
	}
	return out, nil
}

// hostNames checks the hosts of a list and returns them in lower case.
func hostNames(list []string) ([]string, error) {
	out := make([]string, len(list))
	for i, host := range list {
		name := strings.TrimPrefix(host, "*.")
		if name == "" || strings.ContainsAny(name, "*/:@ ") && !strings.HasPrefix(name, "::") {
			return nil, fmt.Errorf("hosts: %q is no host: want a name such as docs.example.org or *.example.org", host)
		}
		out[i] = strings.ToLower(host)
	}
	return out, nil
}

// AppliesTo reports whether the shield checks a stage.
func (s *Shield) AppliesTo(stage string) bool { return slices.Contains(s.Stage, stage) }

// Check returns the sorted categories of all findings, and the text with all of them replaced. Without findings it returns no categories
// and the text itself. Shields that ask find nothing here.
func (s *Shield) Check(text string) (categories []string, redacted string) {
	if s.find == nil {
		return nil, text
	}
	return redact(text, s.find(text))
}

// redact replaces findings.
func redact(text string, found []finding) (categories []string, redacted string) {
	if len(found) == 0 {
		return nil, text
	}
	slices.SortFunc(found, func(a, b finding) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var b strings.Builder
	end := 0
	for _, f := range found {
		if f.from < end { // inside or overlapping a replaced part
			end = max(end, f.to)
			continue
		}
		categories = append(categories, f.category)
		b.WriteString(text[end:f.from])
		if !f.remove {
			b.WriteString("[redacted:" + f.category + "]")
		}
		end = f.to
	}
	b.WriteString(text[end:])
	slices.Sort(categories)
	return slices.Compact(categories), b.String()
}

// pattern finds the matches of an expression, or only its group if it has one.
func pattern(re *regexp.Regexp, category string) detector {
	return func(text string) []finding {
		var out []finding
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if category != "pattern" && len(m) > 2 && m[2] >= 0 { // our own expressions have a group; a user's pattern matches as a whole
				from, to = m[2], m[3]
			}
			if from < to {
				out = append(out, finding{from: from, to: to, category: category})
			}
		}
		return out
	}
}

// all combines detectors.
func all(list ...detector) detector {
	return func(text string) []finding {
		var out []finding
		for _, d := range list {
			out = append(out, d(text)...)
		}
		return out
	}
}

// with searches only texts that have one of the literals.
func with(d detector, literals ...string) detector {
	return func(text string) []finding {
		if !slices.ContainsFunc(literals, func(l string) bool { return strings.Contains(text, l) }) {
			return nil
		}
		return d(text)
	}
}

// checked keeps the findings whose text passes ok.
func checked(d detector, ok func(string) bool) detector {
	return func(text string) []finding {
		return slices.DeleteFunc(d(text), func(f finding) bool { return !ok(text[f.from:f.to]) })
	}
}
