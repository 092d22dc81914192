package api

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store/usagedb"
)

const (
	// usageRows bounds the rows of one answer.
	usageRows = 1000
	// usagePeriod is the period without a beginning, maxUsagePeriod the longest, and maxHourlyPeriod the longest by hour.
	usagePeriod     = 30 * 24 * time.Hour
	maxUsagePeriod  = 400 * 24 * time.Hour
	maxHourlyPeriod = 31 * 24 * time.Hour
	// tenantUsage is the permission that shows what all users have used.
	tenantUsage = "sessions.analytics.get"
)

var usageGroups = map[sessionsv1.UsageGroup]usagedb.Group{
	sessionsv1.UsageGroup_USAGE_GROUP_UNSPECIFIED: usagedb.ByDay, sessionsv1.UsageGroup_USAGE_GROUP_AGENT: usagedb.ByAgent,
	sessionsv1.UsageGroup_USAGE_GROUP_MODEL: usagedb.ByModel, sessionsv1.UsageGroup_USAGE_GROUP_USER: usagedb.ByUser,
	sessionsv1.UsageGroup_USAGE_GROUP_TOOL: usagedb.ByTool, sessionsv1.UsageGroup_USAGE_GROUP_DAY: usagedb.ByDay,
	sessionsv1.UsageGroup_USAGE_GROUP_HOUR: usagedb.ByHour,
}

// GetUsage implements SessionAnalyticsService.
func (s *Analytics) GetUsage(ctx context.Context, req *sessionsv1.GetUsageRequest) (*sessionsv1.GetUsageResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, analysisTimeout)
	defer cancel()
	f, err := s.usageFilter(req)
	if err != nil {
		return nil, err
	}
	f.Tenant = authn.Tenant(ctx)
	all, err := access.Permissions(ctx, s.policy, authn.From(ctx))
	if err != nil {
		return nil, err
	}
	if !all.Decide(tenantUsage).Allowed {
		f.Owner = authn.From(ctx).GetSubject()
	}
	found, err := s.store.Usage(ctx, f)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.GetUsageResponse{
		Since: timestamp.Of(f.Since), Until: timestamp.Of(f.Until), Truncated: len(found) > usageRows, OwnOnly: f.Owner != "",
	}
	for _, u := range found[:min(len(found), usageRows)] {
		out.Rows = append(out.Rows, usageToProto(u, f.Group))
	}
	return out, nil
}

// usageFilter reads the group and the period of a request.
func (s *Analytics) usageFilter(req *sessionsv1.GetUsageRequest) (usagedb.Filter, error) {
	f := usagedb.Filter{AgentID: req.GetAgentId(), Group: usageGroups[req.GetGroupBy()], Limit: usageRows + 1, Until: s.store.Now()}
	if !access.Storable(f.AgentID) {
		return f, fault.Invalid("agent_id", "must not contain NUL")
	}
	if req.GetUntil() != nil {
		if !req.GetUntil().IsValid() {
			return f, fault.Invalid("until", "must be a time from the year 1 to 9999")
		}
		f.Until = req.GetUntil().AsTime()
	}
	f.Since = f.Until.Add(-usagePeriod)
	if req.GetSince() != nil {
		if !req.GetSince().IsValid() {
			return f, fault.Invalid("since", "must be a time from the year 1 to 9999")
		}
		f.Since = req.GetSince().AsTime()
	}
	longest := maxUsagePeriod
	if f.Group == usagedb.ByHour {
		longest = maxHourlyPeriod
	}
	switch {
	case !f.Since.Before(f.Until):
		return f, fault.Invalid("since", "must be before until")
	case f.Until.Sub(f.Since) > longest:
		return f, fault.Invalid("since", "the period has %d days, %d are possible", int(f.Until.Sub(f.Since).Hours()/24),
			int(longest.Hours()/24))
	}
	return f, nil
}

// usageToProto converts a row.
func usageToProto(u usagedb.Row, group usagedb.Group) *sessionsv1.UsageRow {
	row := &sessionsv1.UsageRow{
		Key: u.Key, Turns: u.Turns, InputTokens: u.Input, OutputTokens: u.Output, CostMicros: u.Cost, ModelCalls: u.ModelCalls,
		ToolCalls: u.ToolCalls, Failed: u.Failed,
	}
	switch group {
	case usagedb.ByDay:
		row.Key, row.Time = u.Time.UTC().Format(time.DateOnly), timestamp.Of(u.Time)
	case usagedb.ByHour:
		row.Key, row.Time = u.Time.UTC().Format(time.RFC3339), timestamp.Of(u.Time)
	}
	return row
}
