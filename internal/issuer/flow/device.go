package flow

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"
)

// Device is a request of a program that cannot show a browser (RFC 8628).
type Device struct {
	Client   string
	Scopes   []string
	Audience []string
	// Subject and AuthTime are set once the user has allowed it.
	Subject  string
	AuthTime time.Time
}

type device struct {
	Device
	secret  [sha256.Size]byte
	denied  bool
	polled  time.Time
	expires time.Time
}

// BeginDevice stores a request of a device. The device keeps one code, its user enters the other.
func (s *Store) BeginDevice(d Device) (deviceCode, userCode string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	if len(s.devices) >= maxPending {
		return "", "", ErrFull
	}
	for {
		if userCode, err = newUserCode(); err != nil {
			return "", "", err
		}
		if _, taken := s.devices[userCode]; !taken {
			break
		}
	}
	random := rand.Text()
	s.devices[userCode] = &device{Device: d, secret: sha256.Sum256([]byte(random)), expires: s.now().Add(DeviceTTL)}
	return userCode + "." + random, userCode, nil
}

// Device returns a request that waits for the user, or ErrUnknown.
func (s *Store) Device(userCode string) (Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.waiting(userCode)
	if err != nil {
		return Device{}, err
	}
	return d.Device, nil
}

// Decide lets the user with a code allow a request, or refuse it.
func (s *Store) Decide(userCode, subject string, allow bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.waiting(userCode)
	if err != nil {
		return err
	}
	d.denied = !allow
	if allow {
		d.Subject, d.AuthTime = subject, s.now()
	}
	return nil
}

// Poll returns the request of a device once, after its user has allowed it.
func (s *Store) Poll(deviceCode, client string) (Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	userCode, random, _ := strings.Cut(deviceCode, ".")
	d, ok := s.devices[userCode]
	now := s.now()
	if !ok || d.secret != sha256.Sum256([]byte(random)) || d.Client != client || !now.Before(d.expires) {
		return Device{}, ErrUnknown
	}
	early := now.Sub(d.polled) < Interval-tolerance
	d.polled = now
	switch {
	case early:
		return Device{}, ErrSlowDown
	case d.denied:
		delete(s.devices, userCode)
		return Device{}, ErrDenied
	case d.Subject == "":
		return Device{}, ErrPending
	}
	delete(s.devices, userCode)
	return d.Device, nil
}

// waiting returns an undecided request by what its user typed.
func (s *Store) waiting(userCode string) (*device, error) {
	d, ok := s.devices[canonical(userCode)]
	if !ok || d.denied || d.Subject != "" || !s.now().Before(d.expires) {
		return nil, ErrUnknown
	}
	return d, nil
}

// canonical is how a code is stored, however it was typed.
func canonical(typed string) string {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune(userCodeLetters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(typed))
	if len(letters) != 8 {
		return ""
	}
	return letters[:4] + "-" + letters[4:]
}
