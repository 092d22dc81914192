package api

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/timestamp"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// timeCursor is the last row of a page of a list that is ordered by time.
type timeCursor struct {
	Us int64  `json:"us"`
	ID string `json:"id"`
}

// afterTime is the cursor behind a row.
func afterTime(at time.Time, id string) timeCursor { return timeCursor{Us: sqldb.Micros(at), ID: id} }

// time returns when the row was made; zero for the first page.
func (c timeCursor) time() time.Time { return sqldb.Time(c.Us) }

// timeList is a request for a list in order of time.
type timeList interface {
	GetPageSize() int32
	GetPageToken() string
	GetOrderBy() string
	GetStartTime() *timestamppb.Timestamp
	GetEndTime() *timestamppb.Timestamp
}

// oldestFirst is the order_by of a list that does not begin with the newest.
const oldestFirst = "create_time"

// timePage returns the page that a request asks for, with room for one row more, and the name of the list, which is the given one with the
// order and the bounds.
func timePage(list string, req timeList) (string, store.Page, error) {
	p := store.Page{
		Since: timestamp.Time(req.GetStartTime()), Until: timestamp.Time(req.GetEndTime()), OldestFirst: req.GetOrderBy() == oldestFirst,
	}
	if !p.Since.IsZero() && !p.Until.IsZero() && !p.Since.Before(p.Until) {
		return "", p, fault.Invalid("end_time", "must be after start_time")
	}
	list += fmt.Sprintf("|%t|%d|%d", p.OldestFirst, sqldb.Micros(p.Since), sqldb.Micros(p.Until))
	var at timeCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &at)
	p.After, p.AfterID, p.Limit = at.time(), at.ID, size+1
	return list, p, err
}
