package api

import (
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/skills"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// SourceFromProto converts a source as its owner wrote it. It does not validate what package sourcespec does.
func SourceFromProto(p *registryv1.Source) (store.Source, error) {
	if err := checkBinaries(p, p.GetKind()); err != nil {
		return store.Source{}, err
	}
	return sourceFromProto(p), nil
}

func sourceFromProto(p *registryv1.Source) store.Source {
	s := store.Source{Name: p.GetName(), Kind: p.GetKind(), Disabled: p.GetDisabled(), Spec: store.Spec{
		URL: strings.TrimSpace(p.GetUrl()), Command: p.GetCommand(), Env: p.GetEnv(), Dir: p.GetDir(), Headers: p.GetHeaders(),
		Transport: p.GetTransport(), CallTimeout: p.GetCallTimeoutSeconds(), Labels: p.GetLabels(), Elicitation: p.GetElicitation(),
		ClientRequests: p.GetClientRequests(), SessionContext: p.GetSessionContext(),
		Pin: p.GetPin(), BaseURL: strings.TrimSpace(p.GetBaseUrl()), Operations: filterFromProto(p.GetOperations()),
		Cache:   cacheFromProto(p.GetCache()),
		Trusted: p.GetTrustedTools(),
		Exclude: p.GetExclude(), MaxCalls: p.GetMaxCalls(), MaxRate: p.GetMaxCallsPerSecond(),
		Auth: authFromProto(p.GetAuth()), SyncAuth: authFromProto(p.GetSyncAuth()),
		ProviderData: providerDataFromProto(p.GetProviderData()),
		Endpoints:    endpointsFromProto(p.GetEndpoints()), KeyHeader: p.GetKeyHeader(),
		Temporal: temporalFromProto(p.GetTemporal()), Workflows: workflowsFromProto(p.GetWorkflows()), Agents: p.GetAgents(),
	}, Document: documentFromProto(p)}
	for tool, effect := range p.GetEffects() {
		if s.Spec.Effects == nil {
			s.Spec.Effects = map[string]store.Effect{}
		}
		s.Spec.Effects[tool] = store.Effect(effect)
	}
	return s
}

func sourceToProto(s store.Source) *registryv1.Source {
	p := &registryv1.Source{
		Id: s.ID, Name: s.Name, Kind: s.Kind, Url: s.Spec.URL, Command: s.Spec.Command, Env: s.Spec.Env, Dir: s.Spec.Dir,
		Headers: s.Spec.Headers, Transport: s.Spec.Transport, Disabled: s.Disabled, CallTimeoutSeconds: s.Spec.CallTimeout,
		Labels: s.Spec.Labels, Elicitation: s.Spec.Elicitation, ClientRequests: s.Spec.ClientRequests,
		SessionContext: s.Spec.SessionContext,
		State:          enum.Parse[registryv1.SourceState](s.State), LastError: s.LastError,
		SyncTime: timestamp.Of(s.SyncTime), ToolCount: uint32(s.ToolCount),
		Pin: s.Spec.Pin, DriftedCount: uint32(s.DriftedCount),
		ServerVersion: s.ServerVersion, ProtocolVersion: s.ProtocolVersion, CreateTime: timestamp.Of(s.CreateTime),
		UpdateTime: timestamp.Of(s.UpdateTime), Revision: s.Revision,
		Cache:        cacheToProto(s.Spec.Cache),
		TrustedTools: s.Spec.Trusted,
		Exclude:      s.Spec.Exclude, MaxCalls: s.Spec.MaxCalls, MaxCallsPerSecond: s.Spec.MaxRate,
		BaseUrl: s.Spec.BaseURL, Warnings: s.Warnings,
	}
	apiToProto(s, p)
	workflowsToProto(s.Spec, p)
	for tool, effect := range s.Spec.Effects {
		if p.Effects == nil {
			p.Effects = map[string]turnv1.EffectClass{}
		}
		p.Effects[tool] = turnv1.EffectClass(effect)
	}
	return p
}

func toolToProto(t store.Tool) *registryv1.Tool {
	p := definitionToProto(t.Definition, t.Effect)
	p.Available, p.Drifted = available(t), t.DriftedHash != ""
	if kinds.Facts(t.Source.Kind).Has("agents") {
		p.AgentId = t.OriginalName
	}
	p.Skill = t.Source.Kind == skills.Name
	p.CreateTime, p.UpdateTime = timestamp.Of(t.CreateTime), timestamp.Of(t.UpdateTime)
	return p
}

func available(t store.Tool) bool {
	return t.Source.State == store.Ready && !t.Source.Disabled && t.DriftedHash == ""
}

func definitionToProto(d store.Definition, effect store.Effect) *registryv1.Tool {
	return &registryv1.Tool{
		Name: d.Name, Source: d.Source, OriginalName: d.OriginalName, Title: d.Title, Description: d.Description,
		InputSchemaJson: string(d.InputSchema), OutputSchemaJson: string(d.OutputSchema), Effect: turnv1.EffectClass(effect),
		DefinitionHash: d.Hash, CreateTime: timestamp.Of(d.CreateTime), Tags: d.Tags, Deprecated: d.Deprecated,
	}
}

func executionToProto(e store.Execution) *registryv1.Execution {
	return &registryv1.Execution{
		Id: e.ID, Key: e.Key, Tool: e.Tool, TurnId: e.TurnID, CallId: e.CallID, Subject: e.Subject, Effect: turnv1.EffectClass(e.Effect),
		State: enum.Parse[registryv1.ExecutionState](e.State), Attempts: uint32(e.Attempts), ArgumentsHash: e.ArgumentsHash,
		IsError: e.IsError, Code: e.Code,
		LatencyMs: milliseconds(e.Latency), CreateTime: timestamp.Of(e.CreateTime), EndTime: timestamp.Of(e.EndTime),
		Resolution: e.Resolution.What, ResolvedBy: e.Resolution.By, ResolutionComment: e.Resolution.Comment,
		ResolveTime: timestamp.Of(e.Resolution.Time), ApprovalId: e.ApprovalID,
		SessionId: e.SessionID, Source: e.Source, Cache: enum.Parse[registryv1.CacheUse](e.Cache),
	}
}

func diffToProto(d store.Diff) *registryv1.SyncResult {
	return &registryv1.SyncResult{Added: d.Added, Removed: d.Removed, Changed: d.Changed, Drifted: d.Drifted, Total: uint32(d.Total)}
}

func milliseconds(d time.Duration) int32 { return int32(d.Round(time.Millisecond).Milliseconds()) }
