package shield_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/services/policy/shield"
)

func TestDetectors(t *testing.T) {
	// Split, so that secret scanners do not report them.
	const jwt, aws, hub = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "SflKxwRJSMeKKF2QT4fw", "AKIA" + "IOSFODNN7EXAMPLE",
		"ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	const pem = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nabc+/=\n-----END RSA " + "PRIVATE KEY-----"
	for _, row := range []struct{ name, detector, text, want, categories string }{
		{"a JWT", "secrets", "use " + jwt + " now", "use [redacted:jwt] now", "jwt"},
		{"a key of a cloud", "secrets", "id=" + aws, "id=[redacted:aws_key]", "aws_key"},
		{"a token of GitHub", "secrets", hub, "[redacted:github_token]", "github_token"},
		{"a private key", "secrets", "a\n" + pem + "\nb", "a\n[redacted:private_key]\nb", "private_key"},
		{"a password behind its name", "secrets", `{"password": "x9$Kq2!vLm3P"}`, `{"password": "[redacted:secret]"}`, "secret"},
		{"a bearer token", "secrets", "Authorization: Bearer a8Zk3Lq0Xv5Tn7Rw", "Authorization: Bearer [redacted:secret]", "secret"},
		{"words behind such a name", "secrets", "token: international-organisation", "", ""},
		{"a placeholder behind such a name", "secrets", "api_key=${env.API_KEY_2}", "", ""},
		{"a hash is none", "secrets", "commit 3f786850e387550fdab836ed7e6dc881de23001b", "", ""},
		{"an address", "pii", "write to ann.b+c@mail.example.org.", "write to [redacted:email].", "email"},
		{"phones", "pii", "+49 (0)151 2345678, 089 1234567 or (212) 555-0199", "[redacted:phone], [redacted:phone] or [redacted:phone]", "phone"},
		{"an IBAN", "pii", "pay DE89 3704 0044 0532 0130 00 today", "pay [redacted:iban] today", "iban"},
		{"an IBAN whose check digits are wrong", "pii", "DE88370400440532013000", "", ""},
		{"a card", "pii", "card 4111 1111 1111 1111.", "card [redacted:card].", "card"},
		{"a card whose check digit is wrong", "pii", "card 4111111111111112", "", ""},
		{"numbers that are no phones", "pii", "In 2024 we sold 1234567 for 19.99; version 1.2.3", "", ""},
		{"zero width and direction", "invisible", "pay\u200bpal \u202eevil\u202c", "paypal evil", "bidi,zero_width"},
		{"hidden tags", "invisible", "hi\U000E0068\U000E0069", "hi", "tag"},
		{"many selectors", "invisible", "x\uFE0F\U000E0101\U000E0102", "x\uFE0F", "selector"},
		{
			"emoji and scripts", "invisible", "👨\u200d👩 ❤️ می\u200cخواهم \U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", "",
			"",
		},
		{"a pattern", "pattern", "Project Falcon and project falcon", "[redacted:pattern] and [redacted:pattern]", "pattern"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := shield.Config{Name: "s", Detector: row.detector}
			if row.detector == "pattern" {
				c.Pattern = `(?i)project (falcon)`
			}
			s, err := shield.New(c)
			if err != nil {
				t.Fatal(err)
			}
			categories, got := s.Check(row.text)
			want := row.want
			if row.categories == "" {
				want = row.text
			}
			if got != want || strings.Join(categories, ",") != row.categories {
				t.Errorf("%q %q, want %q %q", got, categories, want, row.categories)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, c := range map[string]shield.Config{
		"no name":               {Detector: "pii"},
		`no detector "magic"`:   {Name: "s", Detector: "magic"},
		`no stage "begin"`:      {Name: "s", Detector: "pii", Stage: []string{"begin"}},
		`no action "warn"`:      {Name: "s", Detector: "pii", Action: "warn"},
		"give a pattern":        {Name: "s", Detector: "pattern"},
		"give a pattern with":   {Name: "s", Detector: "pii", Pattern: "x"},
		"missing closing ]":     {Name: "s", Detector: "pattern", Pattern: "[a"},
		`shield "s": there is `: {Name: "s"},
		"give max_bytes":        {Name: "s", Detector: "size"},
		"give hosts":            {Name: "s", Detector: "pii", Hosts: []string{"a"}},
		`"a/b" is no host`:      {Name: "s", Detector: "links", Hosts: []string{"a/b"}},
		"stage tool only":       {Name: "s", Detector: "pii", Action: "ask", Stage: []string{"tool_arguments", "input"}},
		"give approver_roles":   {Name: "s", Detector: "pii", ApproverRoles: []string{"a"}},
		"give timeout and":      {Name: "s", Detector: "pii", OnError: "open"},
		"give url, headers":     {Name: "s", Detector: "pii", URL: "https://a"},
		`url: want https://`:    {Name: "s", Detector: "webhook", URL: "https://me:secret@a/b"},
		"HOST/PATH":             {Name: "s", Detector: "webhook", URL: "file:///etc/passwd"},
		"give no action":        {Name: "s", Detector: "webhook", URL: "https://a", Action: "block"},
		`on_error "maybe"`:      {Name: "s", Detector: "webhook", URL: "https://a", OnError: "maybe"},
		"timeout 2m0s":          {Name: "s", Detector: "webhook", URL: "https://a", Timeout: 2 * time.Minute},
		"want PROVIDER/MODEL":   {Name: "s", Detector: "guard", Model: "llama"},
		"what to redact":        {Name: "s", Detector: "moderation", Model: "a/b", Action: "redact"},
		"give model and":        {Name: "s", Detector: "webhook", URL: "https://a", Model: "a/b"},
		"for other detectors":   {Name: "s", Detector: "webhook", URL: "https://a", Pattern: "x"},
	} {
		if _, err := shield.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("mail a@b.cd, key=Ab3dEf6hIj9kLm2, +49 151 2345678, DE89370400440532013000 \u202e\U0001F3F4\U000E0067")
	var all []*shield.Shield
	for _, d := range []string{"secrets", "pii", "invisible"} {
		s, err := shield.New(shield.Config{Name: d, Detector: d})
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range all {
			categories, got := s.Check(text)
			if len(categories) == 0 != (got == text) {
				t.Fatalf("%s of %q: %q, %q", s.Name, text, categories, got)
			}
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Fatalf("%s of %q: %q is no UTF-8", s.Name, text, got)
			}
		}
	})
}
