package sessions

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/metrics"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// TestMetricsOutliveAFailedReading: a query that fails takes no other metric with it.
func TestMetricsOutliveAFailedReading(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "x.db"), Schema: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	from, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(t.Context(), tx, "DROP TABLE webhook_deliveries")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	got, err := readMetrics(t.Context(), from, time.Now())
	if err == nil || !strings.Contains(err.Error(), "count deliveries: ") {
		t.Errorf("the failed reading is reported as %v", err)
	}
	for m, want := range map[*metrics.Metric]bool{metrics.SessionsActive: true, metrics.Deliveries: false, metrics.FiresOldest: true} {
		if found := slices.ContainsFunc(got, func(v metrics.Value) bool { return v.Metric == m }); found != want {
			t.Errorf("%s is read: %t, want %t", m.Name, found, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := readMetrics(ended, from, time.Now()); err == nil || len(got) != 0 {
		t.Errorf("without time, %d values are read, and the error is %v", len(got), err)
	}
}
