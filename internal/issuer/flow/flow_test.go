package flow

import (
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testwant"
)

// clock is a clock that the test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func newStore() (*Store, *clock) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	return New(c.now), c
}

// begun returns a request of the client web.
func begun(t *testing.T, s *Store) string {
	t.Helper()
	return testwant.Must(s.Begin(Request{Client: "web", State: "s", Redirect: "http://127.0.0.1/cb"}))
}

// allowed returns a code for alice.
func allowed(t *testing.T, s *Store) string {
	t.Helper()
	_, code, err := s.Allow(begun(t, s), "alice")
	testwant.Equal(t, "the error", err, nil)
	return code
}

func TestARequestBecomesOneCode(t *testing.T) {
	s, c := newStore()
	id := begun(t, s)
	r, err := s.Request(id)
	testwant.Equal(t, "the error", err, nil)
	testwant.Equal(t, "the client", r.Client, "web")
	c.pass(requestTTL - time.Second)
	r, code, err := s.Allow(id, "alice")
	testwant.Equal(t, "the error of Allow", err, nil)
	testwant.Equal(t, "the state", r.State, "s")
	if code == "" || code == id {
		t.Errorf("the code is %q", code)
	}
	for name, call := range map[string]func() error{
		"read":    func() error { _, err := s.Request(id); return err },
		"allowed": func() error { _, _, err := s.Allow(id, "bob"); return err },
		"ended":   func() error { _, err := s.Cancel(id); return err },
	} {
		testwant.Equal(t, name+" again", call(), ErrUnknown)
	}
	got, err := s.Redeem(code, "web")
	testwant.Equal(t, "the error of Redeem", err, nil)
	testwant.Equal(t, "the subject", got.Subject, "alice")
	testwant.Equal(t, "the time of the login", got.AuthTime, c.at)
}

func TestRequestsExpire(t *testing.T) {
	s, c := newStore()
	id := begun(t, s)
	c.pass(requestTTL)
	_, err := s.Request(id)
	testwant.Equal(t, "read", err, ErrUnknown)
	_, _, err = s.Allow(id, "alice")
	testwant.Equal(t, "allowed", err, ErrUnknown)
	other := begun(t, s)
	r, err := s.Cancel(other)
	testwant.Equal(t, "the error of Cancel", err, nil)
	testwant.Equal(t, "the redirect of the cancelled one", r.Redirect, "http://127.0.0.1/cb")
	_, err = s.Request(other)
	testwant.Equal(t, "the cancelled one", err, ErrUnknown)
}

func TestCodesThatAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		client string
		wait   time.Duration
		change func(code string) string
		want   error
	}{
		{name: "right", client: "web", wait: codeTTL - time.Second},
		{name: "expired", client: "web", wait: codeTTL, want: ErrUnknown},
		{name: "of another client", client: "cli", want: ErrUnknown},
		{name: "made up", client: "web", change: strings.ToLower, want: ErrUnknown},
		{name: "empty", client: "web", change: func(string) string { return "" }, want: ErrUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, c := newStore()
			code := allowed(t, s)
			if tc.change != nil {
				code = tc.change(code)
			}
			c.pass(tc.wait)
			_, err := s.Redeem(code, tc.client)
			testwant.Equal(t, "the error", err, tc.want)
		})
	}
}

func TestAReplayedCodeNamesItsLogin(t *testing.T) {
	s, _ := newStore()
	code := allowed(t, s)
	_, err := s.Redeem(code, "web")
	testwant.Equal(t, "the first use", err, nil)
	testwant.Equal(t, "the record of its login", s.Redeemed(code, "grt_1"), nil)
	again, err := s.Redeem(code, "web")
	testwant.Equal(t, "the second use", err, ErrReplayed)
	testwant.Equal(t, "the login to end", again.Grant, "grt_1")
	_, err = s.Redeem(code, "cli")
	testwant.Equal(t, "the use of another client", err, ErrUnknown) // it cannot end logins of others
}

// TestACodeThatIsReplayedBeforeItsLoginIsMade: the second use finds no login, so the first one learns of it.
func TestACodeThatIsReplayedBeforeItsLoginIsMade(t *testing.T) {
	s, _ := newStore()
	code := allowed(t, s)
	_, err := s.Redeem(code, "web")
	testwant.Equal(t, "the first use", err, nil)
	again, err := s.Redeem(code, "web")
	testwant.Equal(t, "the second use", err, ErrReplayed)
	testwant.Equal(t, "the login to end", again.Grant, "")
	testwant.Equal(t, "the record of the login", s.Redeemed(code, "grt_1"), ErrReplayed)
	testwant.Equal(t, "the record of an unknown code", s.Redeemed("x", "grt_1"), nil)
}

func TestAsMuchIsKeptAsIsUnderWay(t *testing.T) {
	s, c := newStore()
	for range maxPending {
		begun(t, s)
		if _, _, err := s.BeginDevice(Device{Client: "cli"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Begin(Request{Client: "web"})
	testwant.Equal(t, "one request more", err, ErrFull)
	_, _, err = s.BeginDevice(Device{Client: "cli"})
	testwant.Equal(t, "one device more", err, ErrFull)
	c.pass(requestTTL)
	begun(t, s)
	testwant.Equal(t, "requests once the others expired", len(s.requests), 1)
	testwant.Equal(t, "devices once they expired", len(s.devices), 0)
}

// device returns the codes of a device of the client cli.
func newDevice(t *testing.T, s *Store) (deviceCode, userCode string) {
	t.Helper()
	deviceCode, userCode, err := s.BeginDevice(Device{Client: "cli", Scopes: []string{"openid"}})
	testwant.Equal(t, "the error of BeginDevice", err, nil)
	return deviceCode, userCode
}

func TestADeviceIsAllowed(t *testing.T) {
	s, c := newStore()
	deviceCode, userCode := newDevice(t, s)
	_, err := s.Poll(deviceCode, "cli")
	testwant.Equal(t, "polled at once", err, ErrPending)
	_, err = s.Poll(deviceCode, "cli")
	testwant.Equal(t, "polled too soon", err, ErrSlowDown)
	c.pass(Interval - tolerance)
	_, err = s.Poll(deviceCode, "cli")
	testwant.Equal(t, "polled nearly in time", err, ErrPending)
	d, err := s.Device(userCode)
	testwant.Equal(t, "the error of Device", err, nil)
	testwant.Equal(t, "the scopes", d.Scopes, []string{"openid"})
	testwant.Equal(t, "the decision", s.Decide(userCode, "alice", true), nil)
	testwant.Equal(t, "a second decision", s.Decide(userCode, "bob", true), ErrUnknown)
	decided := c.at
	c.pass(Interval)
	d, err = s.Poll(deviceCode, "cli")
	testwant.Equal(t, "the error of the last poll", err, nil)
	testwant.Equal(t, "the subject", d.Subject, "alice")
	testwant.Equal(t, "the time of the login", d.AuthTime, decided)
	c.pass(Interval)
	_, err = s.Poll(deviceCode, "cli")
	testwant.Equal(t, "polled afterwards", err, ErrUnknown)
}

func TestADeviceIsRefused(t *testing.T) {
	s, c := newStore()
	deviceCode, userCode := newDevice(t, s)
	testwant.Equal(t, "the decision", s.Decide(userCode, "", false), nil)
	testwant.Equal(t, "another decision", s.Decide(userCode, "alice", true), ErrUnknown)
	_, err := s.Poll(deviceCode, "cli")
	testwant.Equal(t, "polled", err, ErrDenied)
	c.pass(Interval)
	_, err = s.Poll(deviceCode, "cli")
	testwant.Equal(t, "polled afterwards", err, ErrUnknown)
}

func TestDeviceCodesThatAreRefused(t *testing.T) {
	s, c := newStore()
	deviceCode, userCode := newDevice(t, s)
	for name, code := range map[string]string{
		"the user's code alone": userCode, "another secret": deviceCode + "A", "nothing": "", "the secret alone": deviceCode[len(userCode):],
	} {
		_, err := s.Poll(code, "cli")
		testwant.Equal(t, name, err, ErrUnknown)
	}
	_, err := s.Poll(deviceCode, "web")
	testwant.Equal(t, "another client", err, ErrUnknown)
	_, err = s.Poll(deviceCode, "cli")
	testwant.Equal(t, "the right one, which the others did not slow down", err, ErrPending)
	c.pass(DeviceTTL)
	_, err = s.Poll(deviceCode, "cli")
	testwant.Equal(t, "an expired one", err, ErrUnknown)
	testwant.Equal(t, "a decision about it", s.Decide(userCode, "alice", true), ErrUnknown)
}

func TestCodesMayBeTypedInAnyForm(t *testing.T) {
	for typed, want := range map[string]string{
		"BCDF-GHJK": "BCDF-GHJK", "bcdfghjk": "BCDF-GHJK", " b c d f . g h j k ": "BCDF-GHJK", "BCDF-GHJ": "", "BCDF-GHJKL": "", "": "",
		"ACDF-GHJK": "", // vowels are not in codes
	} {
		testwant.Equal(t, typed, canonical(typed), want)
	}
	for range 100 {
		code := testwant.Must(newUserCode())
		if canonical(code) != code {
			t.Errorf("%q cannot be typed", code)
		}
	}
}
