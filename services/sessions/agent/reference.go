package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
)

// Existing are ids of agents and names of tool groups that were found, or that are about to exist.
type Existing struct{ agents, groups map[string]bool }

// Known returns a set of agents that are about to exist.
func Known(agents ...string) Existing {
	e := Existing{agents: map[string]bool{}, groups: map[string]bool{}}
	for _, id := range agents {
		e.agents[id] = true
	}
	return e
}

// WithGroups adds tool groups that are about to exist.
func (e Existing) WithGroups(names ...string) Existing {
	for _, name := range names {
		e.groups[name] = true
	}
	return e
}

// CheckReferences finds what is wrong with what a blueprint refers to: approval rules, which policy checks, tool groups of the
// registry, and other agents. A blueprint without any causes no requests, and nothing in known is requested; what is found is
// added to it. Paths begin with the prefix.
func (s *Service) CheckReferences(ctx context.Context, prefix string, a agentspec.Spec, known Existing) ([]fault.Field, error) {
	rules, err := s.checkApprovals(ctx, prefix, a.Approvals)
	if err != nil {
		return nil, err
	}
	groups, err := s.checkGroups(ctx, prefix, a, known)
	if err != nil {
		return nil, err
	}
	missing, err := s.checkSubAgents(ctx, prefix, a, known)
	return slices.Concat(rules, groups, missing, s.checkModel(ctx, prefix, a)), err
}

// checkModel finds fields that one of the agent's models does not take. While nobody can tell, they are accepted: the call finds out.
func (s *Service) checkModel(ctx context.Context, prefix string, a agentspec.Spec) []fault.Field {
	if s.deps.Models == nil || a.Temperature == nil && a.Generation == nil || a.Hosted() {
		return nil
	}
	var wrong []fault.Field
	for _, name := range append([]string{a.Model}, a.Fallbacks...) {
		if placeholder.In(name) {
			continue
		}
		model, err := s.deps.Models.ResolveModel(ctx, &inferencev1.ResolveModelRequest{Model: name})
		if err != nil {
			continue
		}
		for _, path := range model.GetUnsupported() {
			known := slices.ContainsFunc(wrong, func(f fault.Field) bool { return f.Path == prefix+path })
			if isSet(a, path) && !known {
				wrong = append(wrong, fault.Field{
					Path: prefix + path, Message: model.GetName() + " does not take it: leave it out, or use another model",
				})
			}
		}
	}
	return wrong
}

// isSet reports whether an agent sets a field that models may not take. Values that every model knows do not count.
func isSet(a agentspec.Spec, path string) bool {
	name, generation := strings.CutPrefix(path, "generation.")
	if !generation {
		return path == "temperature" && a.Temperature != nil
	}
	m := a.Generation.ProtoReflect()
	field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if field == nil || !m.Has(field) {
		return false
	}
	switch name {
	case "tool_choice":
		return a.Generation.GetToolChoice() != "auto" && a.Generation.GetToolChoice() != "none"
	case "parallel_tool_calls":
		return !a.Generation.GetParallelToolCalls()
	}
	return true
}

func (s *Service) checkApprovals(ctx context.Context, prefix string, rules []*policyv1.ApprovalRule) ([]fault.Field, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	resp, err := s.deps.Approvals.CheckApprovalRules(ctx, &policyv1.CheckApprovalRulesRequest{Rules: rules})
	if err != nil {
		return nil, fmt.Errorf("check approval rules: %w", err)
	}
	var wrong []fault.Field
	for _, f := range resp.GetFaults() {
		wrong = append(wrong, fault.Field{Path: fmt.Sprintf("%sapprovals[%d].%s", prefix, f.GetIndex(), f.GetField()), Message: f.GetMessage()})
	}
	return wrong, nil
}

// checkGroups finds tool groups that do not exist. The caller must be allowed to read them.
func (s *Service) checkGroups(ctx context.Context, prefix string, a agentspec.Spec, known Existing) ([]fault.Field, error) {
	var wrong []fault.Field
	for i, tool := range a.Tools {
		name, isGroup := strings.CutPrefix(tool, "group:")
		if !isGroup || known.groups[name] || placeholder.In(name) { // what it will be is known when a turn begins
			continue
		}
		path := fmt.Sprintf("%stools[%d]", prefix, i)
		if name == "" || s.deps.Groups == nil {
			wrong = append(wrong, fault.Field{Path: path, Message: "want the name of a tool group, as in \"group:reading\""})
			continue
		}
		_, err := s.deps.Groups.GetToolGroup(ctx, &registryv1.GetToolGroupRequest{Name: name})
		switch {
		case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
			wrong = append(wrong, fault.Field{Path: path, Message: fmt.Sprintf("there is no tool group %q: create it first", name)})
		case err != nil:
			return nil, fmt.Errorf("look for tool group %q: %w", name, err)
		default:
			known.groups[name] = true
		}
	}
	return wrong, nil
}

// checkSubAgents finds sub-agents that are named without a glob and do not exist.
func (s *Service) checkSubAgents(ctx context.Context, prefix string, a agentspec.Spec, known Existing) ([]fault.Field, error) {
	var wrong []fault.Field
	for i, id := range a.Agents {
		path := fmt.Sprintf("%sagents[%d]", prefix, i)
		if isGlob(id) || known.agents[id] {
			continue
		}
		_, err := s.Get(ctx, id, 0)
		switch {
		case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
			wrong = append(wrong, fault.Field{
				Path:    path,
				Message: fmt.Sprintf("agent %q does not exist: create it first, or name a pattern such as \"%s*\"", id, id),
			})
		case err != nil:
			return nil, err
		default:
			known.agents[id] = true
		}
	}
	return wrong, nil
}

func isGlob(id string) bool { return strings.ContainsAny(id, "*?") }
