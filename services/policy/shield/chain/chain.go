// Package chain runs the shields that a request names, one after another.
package chain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/shield"
	"github.com/windlass-dev/windlass/services/policy/shield/ask"
)

// Shields are the configured shields by name.
type Shields map[string]*configured

// configured is one of them: it finds things by itself, or asks.
type configured struct {
	*shield.Shield
	asks *ask.Shield // nil: it does not
}

// New checks configurations. Those that ask need Connect, too.
func New(configs []shield.Config) (Shields, error) {
	out := Shields{}
	for _, c := range configs {
		s, err := shield.New(c)
		if err != nil {
			return nil, fmt.Errorf("policy: %w", err)
		}
		if out[s.Name] != nil {
			return nil, fmt.Errorf("policy: duplicate shield %q", s.Name)
		}
		out[s.Name] = &configured{Shield: s}
	}
	return out, nil
}

// Connect gives shields what they ask with.
func (s Shields) Connect(deps ask.Deps) error {
	for _, one := range s {
		if !one.Asks() {
			continue
		}
		var err error
		if one.asks, err = ask.New(one.Config, deps); err != nil {
			return fmt.Errorf("policy: %w", err)
		}
	}
	return nil
}

// Check runs shields over texts of one stage.
func (s Shields) Check(ctx context.Context, req *policyv1.CheckTextRequest) (*policyv1.CheckTextResponse, error) {
	asked, err := s.named(req.GetShields())
	if err != nil {
		return nil, err
	}
	out := &policyv1.CheckTextResponse{}
	for _, stage := range []string{shield.Input, shield.Tool, shield.Result, shield.Output} {
		if slices.ContainsFunc(asked, func(s *configured) bool { return s.AppliesTo(stage) }) {
			out.Stages = append(out.Stages, stage)
		}
	}
	out.HeldStages = heldStages(asked)
	if req.GetPartial() {
		for _, text := range req.GetTexts() {
			out.Texts = append(out.Texts, &policyv1.CheckedText{Text: settled(asked, req.GetStage(), text)})
		}
		return out, nil
	}
	texts := make([]*checking, len(req.GetTexts()))
	for i, text := range req.GetTexts() {
		texts[i] = &checking{original: text, now: text, CheckedText: &policyv1.CheckedText{}}
		out.Texts = append(out.Texts, texts[i].CheckedText)
	}
	for _, one := range asked {
		if !one.AppliesTo(req.GetStage()) {
			continue
		}
		if err := one.check(ctx, req, texts); err != nil {
			return nil, err
		}
	}
	for _, t := range texts {
		t.conclude()
	}
	return out, nil
}

// heldStages are those whose texts are only checked as a whole.
func heldStages(asked []*configured) []string {
	var out []string
	for _, s := range asked {
		if s.Asks() {
			out = append(out, s.Stage...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// settled returns the part of the beginning of a text that no continuation changes, as the shields leave it. What blocks sees the original,
// what redacts sees what is left.
func settled(asked []*configured, stage, text string) string {
	asked = slices.DeleteFunc(slices.Clone(asked), func(s *configured) bool { return !s.AppliesTo(stage) })
	end := len(text)
	for _, s := range asked {
		if s.Action != shield.Redact {
			end = min(end, len(s.Settled(text)))
		}
	}
	text = text[:end]
	for _, s := range asked {
		if s.Action == shield.Redact {
			text = s.Settled(text)
		}
	}
	return text
}

// checking is a text while shields check it one after another.
type checking struct {
	*policyv1.CheckedText
	original, now string // now is redacted
}

func (t *checking) conclude() {
	if t.Redacted = t.now != t.original && !t.GetBlocked(); t.GetRedacted() {
		t.Text = t.now
	}
}

// check runs one shield. Those that redact, and those that ask, see the previous ones' redactions, the others see the original text.
func (s *configured) check(ctx context.Context, req *policyv1.CheckTextRequest, texts []*checking) error {
	if s.asks != nil {
		return s.ask(ctx, req, texts)
	}
	for _, t := range texts {
		about := t.original
		if s.Action == shield.Redact {
			about = t.now
		}
		if categories, redacted := s.Check(about); len(categories) > 0 {
			s.hit(t, ask.Answer{Action: s.Action, Categories: categories, Text: redacted})
		}
	}
	return nil
}

// ask has a shield that asks check what is not blocked already.
func (s *configured) ask(ctx context.Context, req *policyv1.CheckTextRequest, texts []*checking) error {
	from := req.GetOrigin()
	q := ask.Question{
		Stage: req.GetStage(), Tenant: from.GetTenant(), Subject: from.GetSubject(), AgentID: from.GetAgentId(), TurnID: from.GetTurnId(),
	}
	for _, t := range texts {
		text := t.now
		if t.GetBlocked() {
			text = ""
		}
		q.Texts = append(q.Texts, text)
	}
	answers, err := s.asks.Check(ctx, q)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.Action != ask.Allow {
			s.hit(texts[i], a)
		}
	}
	return nil
}

// hit adds what a shield says of a text.
func (s *configured) hit(t *checking, a ask.Answer) {
	hit := &policyv1.ShieldHit{
		Shield: s.Name, Action: a.Action, Categories: a.Categories, Reason: a.Reason, FailedOpen: a.FailedOpen,
	}
	switch a.Action {
	case shield.Block:
		t.Blocked = true
	case shield.Redact:
		t.now = a.Text
	case shield.Ask:
		hit.Approval = s.asksBefore(a)
	}
	t.Hits = append(t.Hits, hit)
}

// asksBefore returns the approval rule of a shield that asks for an approval.
func (s *configured) asksBefore(a ask.Answer) *policyv1.ApprovalRule {
	reason := fmt.Sprintf("Shield %q found in the arguments: %s.", s.Name, strings.Join(a.Categories, ", "))
	if a.Reason != "" {
		reason += " It says: " + a.Reason
	}
	return &policyv1.ApprovalRule{
		Name: "shield:" + s.Name, ApproverRoles: s.ApproverRoles, AllowRequester: s.AllowRequester, Reason: reason,
	}
}

func (s Shields) named(names []string) ([]*configured, error) {
	var found []*configured
	var missing []string
	for _, name := range names {
		if one := s[name]; one != nil {
			found = append(found, one)
		} else {
			missing = append(missing, fmt.Sprintf("%q", name))
		}
	}
	if len(missing) > 0 {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "there is no shield %s", strings.Join(missing, ", ")).
			Hint("Define it in policy.shields of the configuration, or take it out of the agent's shields.")
	}
	return found, nil
}
