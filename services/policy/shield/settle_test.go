package shield_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/services/policy/shield"
)

// streamed are shields of every detector, redacting and blocking.
func streamed(t testing.TB) []*shield.Shield {
	t.Helper()
	var out []*shield.Shield
	for _, action := range []string{shield.Redact, shield.Block} {
		for _, c := range []shield.Config{
			{Detector: "secrets"},
			{Detector: "pii"},
			{Detector: "email"},
			{Detector: "iban"},
			{Detector: "card"},
			{Detector: "phone"},
			{Detector: "invisible"},
			{Detector: "links", Hosts: []string{"ok.example"}},
			{Detector: "size", MaxBytes: 40},
			{Detector: "pattern", Pattern: `(?i)project\s+falcon`},
			{Detector: "pattern", Pattern: `\bkey-\w+\b`},
			{Detector: "pattern", Pattern: `(?m)^secret: .*$`},
			{Detector: "pattern", Pattern: `(?s)<think>.*?</think>`},
			{Detector: "pattern", Pattern: `ab|abcdef|cde`},
			{Detector: "pattern", Pattern: `a*\b`},
		} {
			c.Name, c.Action = c.Detector, action
			s, err := shield.New(c)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
	}
	return out
}

// pieces of texts: what detectors look for, whole and in parts, and what surrounds it.
var pieces = []string{
	"4111 1111 1111 1111", "4111", " 1111", "1111-1111-1111", "9", " ", "\n", ".", ",", "hello", "x", "ann@",
	"example", ".org", "@b.cd", "DE89 3704 0044 ",
	"0532 0130 00", "ghp_", "0123456789abcdefghijABCDEFGHIJ012345", "-----BEGIN RSA ", "PRIVATE KEY-----", "MIIEow", "-----END RSA ",
	"password=", "x9$Kq2!vLm3P", "Bearer ", "token: ", "https://", "evil.example", "/a?b=c", "ok.example", "](", "//", "href=", "sk-", "AKIA",
	"IOSFODNN7EXAMPLE", "+49 151 2345678",
	"089 ", "1234567", "(212) 555-0199", "\u200b", "\u200d", "\U0001F3F4\U000E0067\U000E0062", "\U000E0065",
	"\U000E007F", "\uFE0F", "ｅｖｉｌ", "４１１１", "é", "世界",
	"project", "Falcon", "key-", "abc", "secret: ", "<think>", "</think>", "ab", "cde", "f", "a", "\u00a0",
}

// TestNothingLeavesThatIsRedactedLater: however a text is cut into pieces, what settles of its beginnings is a beginning of what is left of
// the whole, only grows, and settles at the same time for all.
func TestNothingLeavesThatIsRedactedLater(t *testing.T) {
	shields := streamed(t)
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 14).Draw(r, "text"), "")
		for _, s := range shields {
			_, whole := s.Check(text)
			before := ""
			for end := range text {
				got := s.Settled(text[:end])
				switch {
				case !strings.HasPrefix(got, before):
					r.Fatalf("%s %s %q: %q after %q", s.Detector, s.Pattern, text[:end], got, before)
				case s.Action == shield.Redact && !strings.HasPrefix(whole, got):
					r.Fatalf("%s %s %q: settled %q, left %q", s.Detector, s.Pattern, text[:end], got, whole)
				case s.Action == shield.Block && !strings.HasPrefix(text[:same(text, whole)], got):
					r.Fatalf("%s %s %q: settled %q, found %q", s.Detector, s.Pattern, text[:end], got, whole)
				}
				before = got
			}
		}
	})
}

// same is the length of what two texts begin with.
func same(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TestWhatIsHeldBack: only what may become part of a finding waits.
func TestWhatIsHeldBack(t *testing.T) {
	for _, row := range []struct{ detector, action, pattern, text, want string }{
		{"card", "redact", "", "the card is 4111 1111 11", "the card is "},
		{"card", "redact", "", "the card is 4111 1111 1111 1111, ok", "the card is [redacted:card], ok"},
		{"secrets", "redact", "", "take AKIA" + "IOSFODNN7EXAMPLE now, and then ", "take [redacted:aws_key] now, and then "},
		{"secrets", "redact", "", "a\n-----BEGIN PRIVATE KEY-----\nMIIE", "a\n"},
		{"secrets", "block", "", "take AKIA" + "IOSFODNN7EXAMPLE now", "take "},
		{"email", "redact", "", "write to ann", "write to "},
		{"email", "redact", "", "write to ann now and ", "write to ann now and "},
		{"pattern", "redact", "falcon", "the fal", "the "},
		{"pattern", "redact", "(?s).*falcon", "the f", ""},
		{"pattern", "flag", "falcon", "the fal", "the fal"},
		{"size", "redact", "", strings.Repeat("x", 50), strings.Repeat("x", 40) + "[redacted:size]"},
	} {
		c := shield.Config{Name: "s", Detector: row.detector, Action: row.action, Pattern: row.pattern}
		if row.detector == "size" {
			c.MaxBytes = 40
		}
		s, err := shield.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Settled(row.text); got != row.want {
			t.Errorf("%s %s %q: %q, want %q", row.detector, row.action, row.text, got, row.want)
		}
	}
}

func BenchmarkSettled(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog and says hello. ", 80)
	for _, s := range streamed(b)[:2] {
		b.Run(s.Name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Settled(text)
			}
		})
	}
}
