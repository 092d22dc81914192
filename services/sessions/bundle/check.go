package bundle

import (
	"context"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
)

// Bounds of a bundle's contents: the mistakes that are looked for, each of which may have cost a request, and the approval rules
// of all its agents.
const (
	maxBundleMistakes = 100
	maxBundleRules    = 1000
)

// check checks the documents' contents, each mistake with its place. Others are asked about a bundle only if it is good by
// itself, and about each group and agent once: lists are bounded then, and names repeated in a thousand agents cost nothing.
func (s *Service) check(ctx context.Context, docs []*Document) error {
	if err := s.checkAlone(docs); err != nil {
		return err
	}
	var here, groups []string
	rules := 0
	for _, d := range docs {
		switch d.Kind {
		case Agent:
			here = append(here, d.ID())
		case Group:
			groups = append(groups, d.ID())
		}
		if rules += len(d.Agent.GetApprovals()); rules > maxBundleRules {
			return fault.Invalid("yaml", "holds more than %d approval rules", maxBundleRules).Hint("Apply it in several bundles.")
		}
	}
	var wrong []fault.Field
	known := agent.Known(here...).WithGroups(groups...)
	for _, d := range docs {
		if d.Kind != Agent {
			continue
		}
		asked, err := s.deps.Agents.CheckReferences(ctx, "", convert.AgentFromProto(d.Agent), known)
		if err != nil {
			return err
		}
		if wrong = append(wrong, placed(d, asked)...); len(wrong) > maxBundleMistakes {
			break
		}
	}
	return firstMistakes(wrong)
}

// firstMistakes makes an error of mistakes, nil for none; of very many it lists the first.
func firstMistakes(wrong []fault.Field) error {
	if len(wrong) > maxBundleMistakes {
		wrong = append(wrong[:maxBundleMistakes:maxBundleMistakes], fault.Field{Path: "yaml", Message: "there are more mistakes"})
	}
	if len(wrong) == 0 {
		return nil
	}
	return fault.InvalidFields(wrong)
}

// checkAlone finds what is wrong with the documents whatever there is elsewhere.
func (s *Service) checkAlone(docs []*Document) error {
	var wrong []fault.Field
	for _, d := range docs {
		found := convert.Violations(s.validator, "", d.Message())
		missing := func(field, message string) { found = append(found, fault.Field{Path: field, Message: message}) }
		switch {
		case d.Kind == Agent:
			found = append(found, s.deps.Agents.Check("", convert.AgentFromProto(d.Agent))...)
		case d.Kind == Source, d.Kind == Group, d.Kind == Policy, d.Kind == Route:
			if d.ID() == "" {
				missing("name", "is required")
			}
		case d.ID() == "":
			missing("id", "is required: it tells the next time that this is the same "+d.Kind)
		case d.Kind == Schedule && d.Schedule.GetAgentId() == "" && d.Schedule.GetSessionId() == "":
			missing("agent_id", "name the agent (or a session_id): a bundle must mean the same wherever it is applied")
		}
		if wrong = append(wrong, placed(d, found)...); len(wrong) > maxBundleMistakes {
			break
		}
	}
	return firstMistakes(wrong)
}

// placed gives mistakes their places in a document, in its own words.
func placed(d *Document, found []fault.Field) []fault.Field {
	out := make([]fault.Field, len(found))
	for i, f := range found {
		if d.Kind == Source && f.Path == "kind" {
			f.Path = SourceKind
		}
		out[i] = fault.Field{Path: d.Place(f.Path), Message: f.Message}
	}
	return out
}

// mistakes gives what is wrong with fields of a document their places; another error gets the document's.
func mistakes(d *Document, err error) ([]fault.Field, error) {
	if err == nil {
		return nil, nil
	}
	found := fault.From(err).Fields
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", d.Place(""), err)
	}
	for i, f := range found {
		found[i].Path = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(f.Path, "tool_"), "access_"), d.Kind+".")
	}
	return placed(d, found), nil
}
