package sessions_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
)

func TestAReceiverMayAskForAPause(t *testing.T) {
	for name, row := range map[string]struct {
		later     func() string
		code      int
		low, high time.Duration
	}{
		"seconds": {func() string { return "7200" }, 503, 2 * time.Hour, 2*time.Hour + time.Minute},
		"a date": {
			func() string { return time.Now().Add(3 * time.Hour).UTC().Format(http.TimeFormat) }, 429,
			3*time.Hour - 2*time.Second, 3*time.Hour + time.Minute,
		},
		"longer than it is tried": {func() string { return "99999999999999999999" }, 503, 24*time.Hour - time.Minute, 24 * time.Hour},
		"a date after it is given up": {
			func() string { return "Fri, 31 Dec 2199 23:59:59 GMT" }, 503, 24*time.Hour - time.Minute,
			24 * time.Hour,
		},
		"less than our own pause":        {func() string { return "0" }, 503, time.Hour / 2, 2 * time.Hour},
		"a date that is past":            {func() string { return "Thu, 01 Jan 1970 00:00:00 GMT" }, 503, time.Hour / 2, 2 * time.Hour},
		"something that cannot be read":  {func() string { return "soon" }, 500, time.Hour / 2, 2 * time.Hour},
		"a negative number":              {func() string { return "-5" }, 500, time.Hour / 2, 2 * time.Hour},
		"with an answer that means gone": {func() string { return "5" }, 410, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := hooked()
			o.cfg.Webhooks.FirstRetry = time.Hour
			k := newKit(t, o)
			r := receive(t, row.code)
			r.asks(row.later)
			w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
			k.end(k.newTurn("hello"), completed, "an answer")
			d := k.deliveries(w.GetId(), func(all []*sessionsv1.WebhookDelivery) bool { return len(all) == 1 && all[0].GetResponseCode() > 0 })[0]
			if row.high == 0 {
				if enum.Name(d.GetStatus()) != "failed" || d.GetNextAttemptTime() != nil {
					t.Errorf("delivery %v", d)
				}
				return
			}
			pause := d.GetNextAttemptTime().AsTime().Sub(d.GetCreateTime().AsTime())
			if enum.Name(d.GetStatus()) != "pending" || pause < row.low || pause > row.high {
				t.Errorf("tried again after %s: %v", pause, d)
			}
		})
	}
}

func TestThePauseThatWasAskedForIsKept(t *testing.T) {
	k := newKit(t, hooked())
	r := receive(t, 503)
	r.asks(func() string { return "1" })
	w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
	k.end(k.newTurn("hello"), completed, "an answer")
	first := r.next(t)
	begin := time.Now()
	if second := r.next(t); second.id() != first.id() || time.Since(begin) < 900*time.Millisecond {
		t.Errorf("tried again after %s", time.Since(begin))
	}
	k.deliveries(w.GetId(), settled(1))
}

// The key is changed as the documentation says: it is known to all before it seals, and the old one stays until all is sealed
// with the new one.
func TestTheSealKeyIsChangedInPlace(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		o := hooked()
		o.postgres, o.idle = postgres, true
		k := newKit(t, o)
		r := receive(t)
		old, fresh := o.cfg.SealKey, secret.New(strings.Repeat("n", 32))
		w := k.webhook(&sessionsv1.Webhook{Url: r.URL})
		rotated, err := k.webhooks().RotateWebhook(t.Context(), &sessionsv1.RotateWebhookRequest{WebhookId: w.GetId()})
		must(t, err)
		lost := o
		lost.db, lost.bus, lost.cfg.SealKey = k.db, k.bus, secret.New(strings.Repeat("l", 32))
		gone := newKit(t, lost).webhook(&sessionsv1.Webhook{Url: r.URL, Events: []string{"turn.failed"}})

		sealed := func() [][]byte {
			rows, err := sqldb.All(t.Context(), k.db.Reader(), func(s sqldb.Scanner) (pair [2][]byte, err error) {
				err = s.Scan(&pair[0], &pair[1])
				return pair, err
			}, "SELECT secret, old_secret FROM webhooks ORDER BY id")
			must(t, err)
			return [][]byte{rows[0][0], rows[0][1], rows[1][0]}
		}
		before, log := sealed(), &buffer{}
		o.db, o.bus, o.idle, o.log, o.cfg.SealKey, o.cfg.OldSealKeys = k.db, k.bus, false, log, fresh, []secret.Value{old}
		t.Run("both keys", func(t *testing.T) {
			newKit(t, o).deliveries(w.GetId(), func([]*sessionsv1.WebhookDelivery) bool {
				return strings.Contains(log.String(), "resealed=1 unreadable=1")
			})
		})
		for i, now := range sealed() {
			if resealed := !bytes.Equal(now, before[i]); resealed != (i < 2) {
				t.Errorf("secret %d was sealed again: %v", i, resealed)
			}
		}
		if text := log.String(); !strings.Contains(text, gone.GetId()) || strings.Contains(text, fresh.Reveal()) ||
			strings.Contains(text, old.Reveal()) {
			t.Errorf("log: %s", text)
		}
		o.cfg.OldSealKeys = nil
		alone := newKit(t, o)
		alone.end(alone.newTurn("hello"), completed, "an answer")
		if a := r.next(t); !a.genuine(w.GetSecret()) || !a.genuine(rotated.GetSecret()) {
			t.Errorf("signed with another secret: %v", a.header)
		}
	})
}

func TestSealKeysAreChecked(t *testing.T) {
	good := secret.New(strings.Repeat("k", 32))
	for name, cfg := range map[string]sessions.Config{
		"without the newest": {OldSealKeys: []secret.Value{good}},
		"a short one":        {SealKey: secret.New("short")},
		"a short old one":    {SealKey: good, OldSealKeys: []secret.Value{secret.New("short")}},
	} {
		out, err := egress.New(egress.Config{Profile: egress.Local})
		must(t, err)
		_, err = sessions.New(cfg, sessions.Deps{
			DB: openDB(t, false, 0), Bus: openBus(t, bus.Config{URL: bus.Embedded}), Dispatcher: &dispatcher{}, Registry: &sources{},
			Policy: &policyFake{},
			Ledger: &ledgerFake{}, Events: &sessionstest.Registry{}, PolicyEvents: &sessionstest.Registry{},
			Egress: out, Getenv: options{}.getenv(), Log: slog.New(slog.DiscardHandler),
		})
		if err == nil || !strings.Contains(err.Error(), "seal_key") || strings.Contains(err.Error(), "short") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
