package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

// shields are the configured shields by name.
type shields map[string]*shield.Shield

func newShields(configs []shield.Config) (shields, error) {
	out := shields{}
	for _, c := range configs {
		s, err := shield.New(c)
		if err != nil {
			return nil, fmt.Errorf("policy: %w", err)
		}
		if out[s.Name] != nil {
			return nil, fmt.Errorf("policy: shield %q is there twice", s.Name)
		}
		out[s.Name] = s
	}
	return out, nil
}

// CheckText implements PolicyService.
func (s *Service) CheckText(_ context.Context, req *policyv1.CheckTextRequest) (*policyv1.CheckTextResponse, error) {
	asked, err := s.shields.named(req.GetShields())
	if err != nil {
		return nil, err
	}
	out := &policyv1.CheckTextResponse{}
	for _, stage := range []string{shield.Input, shield.Tool, shield.Result, shield.Output} {
		if slices.ContainsFunc(asked, func(s *shield.Shield) bool { return s.Looks(stage) }) {
			out.Stages = append(out.Stages, stage)
		}
	}
	asked = slices.DeleteFunc(asked, func(s *shield.Shield) bool { return !s.Looks(req.GetStage()) })
	for _, text := range req.GetTexts() {
		out.Texts = append(out.Texts, checkText(asked, text))
	}
	return out, nil
}

// checkText runs shields on one text. Those that redact see the previous ones' redactions, the others see the original text.
func checkText(asked []*shield.Shield, text string) *policyv1.CheckedText {
	out := &policyv1.CheckedText{}
	now := text
	for _, s := range asked {
		about := text
		if s.Action == shield.Redact {
			about = now
		}
		categories, redacted := s.Check(about)
		if len(categories) == 0 {
			continue
		}
		hit := &policyv1.ShieldHit{Shield: s.Name, Action: s.Action, Categories: categories}
		switch s.Action {
		case shield.Block:
			out.Blocked = true
		case shield.Redact:
			now = redacted
		case shield.Ask:
			hit.Approval = asksBefore(s, categories)
		}
		out.Hits = append(out.Hits, hit)
	}
	if out.Redacted = now != text && !out.GetBlocked(); out.GetRedacted() {
		out.Text = now
	}
	return out
}

// asksBefore returns the approval rule of a shield that asks.
func asksBefore(s *shield.Shield, categories []string) *policyv1.ApprovalRule {
	return &policyv1.ApprovalRule{
		Name: "shield:" + s.Name, ApproverRoles: s.ApproverRoles, AllowRequester: s.AllowRequester,
		Reason: fmt.Sprintf("Shield %q found in the arguments: %s.", s.Name, strings.Join(categories, ", ")),
	}
}

func (s shields) named(names []string) ([]*shield.Shield, error) {
	var found []*shield.Shield
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
