package sqldb_test

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

func TestATimeColumnReadsWhatMicrosWrote(t *testing.T) {
	for _, want := range []time.Time{{}, time.UnixMicro(1), time.Date(2026, 2, 3, 4, 5, 6, 7000, time.FixedZone("", 3600))} {
		got := time.UnixMicro(99) // of the row before
		if err := sqldb.TimeColumn(&got).Scan(sqldb.Micros(want)); err != nil || !got.Equal(want) || got.IsZero() != want.IsZero() {
			t.Errorf("%v becomes %v, %v", want, got, err)
		}
	}
	var at time.Time
	if err := sqldb.TimeColumn(&at).Scan("2026-02-03"); err == nil {
		t.Errorf("a text is read as %v", at)
	}
}
