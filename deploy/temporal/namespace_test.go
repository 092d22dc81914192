package main

import (
	"testing"
	"time"

	persistencespb "go.temporal.io/server/api/persistence/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestHistoriesAreKeptForAMonth, also in namespaces that an earlier version made, unless somebody chose another time.
func TestHistoriesAreKeptForAMonth(t *testing.T) {
	for before, want := range map[time.Duration]time.Duration{
		formerRetention: retention, retention: retention, 7 * 24 * time.Hour: 7 * 24 * time.Hour,
	} {
		d := &persistencespb.NamespaceDetail{Config: &persistencespb.NamespaceConfig{Retention: durationpb.New(before)}}
		changed := shortenRetention(d)
		if got := d.GetConfig().GetRetention().AsDuration(); got != want || changed != (got != before) {
			t.Errorf("%s becomes %s, changed: %t", before, got, changed)
		}
	}
}
