package api

import (
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

func sourceToProto(s store.Source) *knowledgev1.BankSource {
	out := &knowledgev1.BankSource{
		Id: s.ID, BankId: s.Bank, Kind: s.Spec.Kind, Url: s.Spec.URL, Folder: s.Spec.Folder, McpSource: s.Spec.MCPSource,
		Uri: s.Spec.URI, Labels: s.Spec.Labels,
		Attributes: s.Spec.Attributes, IntervalSeconds: int32(s.Spec.Interval / time.Second), Paused: s.Paused,
		State: enum.Parse[knowledgev1.SyncState](string(s.State)), Problem: s.Problem, Progress: &knowledgev1.SyncProgress{
			Added: int32(s.Progress.Added), Updated: int32(s.Progress.Updated), Unchanged: int32(s.Progress.Unchanged),
			Removed: int32(s.Progress.Removed), Failed: int32(s.Progress.Failed), Total: int32(s.Progress.Total),
		},
		Subject: s.Subject, CreateTime: timestamp.Of(s.CreateTime), SyncTime: timestamp.Of(s.SyncTime), NextSyncTime: timestamp.Of(s.NextTime),
	}
	for _, p := range s.Problems {
		out.Problems = append(out.Problems, &knowledgev1.SyncProblem{Item: p.Item, Problem: p.Problem})
	}
	return out
}
