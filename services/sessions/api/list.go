package api

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
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

// byTurn are the orders of turns that are not by time.
var byTurn = map[string]string{"cost": store.ByCost, "duration": store.ByDuration}

// afterTurn is the cursor behind a turn in the order of a page.
func afterTurn(p store.Page, t store.Turn) timeCursor {
	switch {
	case p.By == store.ByCost:
		return timeCursor{Us: t.Cost, ID: t.ID}
	case p.By == store.ByDuration && !t.Ended():
		return timeCursor{ID: t.ID}
	case p.By == store.ByDuration:
		return timeCursor{Us: sqldb.Micros(t.EndTime) - sqldb.Micros(t.CreateTime), ID: t.ID}
	}
	return afterTime(t.CreateTime, t.ID)
}

// turnBounds is a request for turns with the bounds of time that it names in one way or the other.
type turnBounds struct {
	*sessionsv1.ListTurnsRequest
	start, end *timestamppb.Timestamp
}

func newTurnBounds(req *sessionsv1.ListTurnsRequest) (turnBounds, error) {
	b := turnBounds{req, req.GetStartTime(), req.GetEndTime()}
	for _, bound := range []struct {
		name string
		to   **timestamppb.Timestamp
		also *timestamppb.Timestamp
	}{{"since", &b.start, req.GetSince()}, {"until", &b.end, req.GetUntil()}} {
		if bound.also == nil {
			continue
		}
		if *bound.to != nil {
			return b, fault.Invalid(bound.name, "is given in two ways")
		}
		*bound.to = bound.also
	}
	return b, nil
}

// GetStartTime implements timeList.
func (b turnBounds) GetStartTime() *timestamppb.Timestamp { return b.start }

// GetEndTime implements timeList.
func (b turnBounds) GetEndTime() *timestamppb.Timestamp { return b.end }

// timePage returns the page that a request asks for, with room for one row more, and the name of the list, which is the given one with the
// order and the bounds.
func timePage(list string, req timeList) (string, store.Page, error) {
	by, descending := strings.CutSuffix(cmp.Or(req.GetOrderBy(), "create_time desc"), " desc")
	p := store.Page{
		Since: timestamp.Time(req.GetStartTime()), Until: timestamp.Time(req.GetEndTime()), By: byTurn[by], OldestFirst: !descending,
	}
	if !p.Since.IsZero() && !p.Until.IsZero() && !p.Since.Before(p.Until) {
		return "", p, fault.Invalid("end_time", "must be after start_time")
	}
	if p.By != "" {
		list += "|" + by
	}
	list += fmt.Sprintf("|%t|%d|%d", p.OldestFirst, sqldb.Micros(p.Since), sqldb.Micros(p.Until))
	var at timeCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &at)
	p.After, p.AfterID, p.Limit = at.time(), at.ID, size+1
	return list, p, err
}
