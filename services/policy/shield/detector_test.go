package shield_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/policy/shield"
)

// TestFindings says what is found. Keys are split, so that secret scanners do not report them.
func TestFindings(t *testing.T) {
	for _, row := range []struct{ detector, text, want string }{
		{"secrets", "glpat" + "-abcdefghij0123456789 ok", "[redacted:gitlab_token] ok"},
		{"secrets", "https://hooks.slack" + ".com/services/T00000000/B00000000/XXXXXXXXXXXX", "https://[redacted:slack_webhook]"},
		{"secrets", "npm" + "_0123456789abcdefghijABCDEFGHIJ012345", "[redacted:npm_token]"},
		{"secrets", "postgres://app:s3cret@db:5432/x", "postgres://app:[redacted:url_password]@db:5432/x"},
		{"secrets", "SG" + ".0123456789abcdefghijkl.0123456789abcdefghijABCDEFGHIJ0123456789abc", "[redacted:sendgrid_key]"},
		{"secrets", "ｇｈｐ" + "_0123456789abcdefghijABCDEFGHIJ012345!", "[redacted:github_token]!"},             // full width
		{"secrets", "gh\u200bp_0123456789abcdef" + "\u2060ghijABCDEFGHIJ012345!", "[redacted:github_token]!"}, // split by zero width
		{"secrets", "AKIA" + "\u00adIOSFODNN7EXAMPLE", "[redacted:aws_key]"},                                  // a soft hyphen
		{
			"email", "schreib müller@beispiel.de, ann＠b．co und 请写信给ann@b.cn谢谢",
			"schreib [redacted:email], [redacted:email] und 请写信给[redacted:email]谢谢",
		},
		{"email", "почта@пример.рф!", "[redacted:email]!"},
		{"card", "4111 1111 1111 1111 12/29, cvc 123", "[redacted:card] 12/29, cvc 123"},
		{"card", "order 12 4111-1111-1111-1111", "order 12 [redacted:card]"},
		{"card", "４１１１ １１１１ １１１１ １１１１", "[redacted:card]"},
		{"card", "٤١١١١١١١١١١١١١١١", "[redacted:card]"}, // Arabic digits
		{"card", "4111\u00a01111\u20111111 1111 und 378282246310005", "[redacted:card] und [redacted:card]"},
		{"card", "41\u200b11 1111 1111 1111", "[redacted:card]"},
		{"iban", "BE68 5390 0754 7034 PAID TODAY", "[redacted:iban] PAID TODAY"},
		{"iban", "gb82west12345698765432", "[redacted:iban]"},
		{"iban", "GB82-WEST-1234-5698-7654-32.", "[redacted:iban]."},
		{"phone", "call +1 (415) 555-0132 x", "call [redacted:phone] x"},
		{"links", "see https://evil.example/x?a=1, or https://docs.example.org/a.", "see [redacted:url], or https://docs.example.org/a."},
		{
			"links", "https://DOCS.example.org./ https://a.b.wild.example https://wild.example",
			"https://DOCS.example.org./ https://a.b.wild.example [redacted:url]",
		},
		{"links", "![x](//evil.example/p.png) <img src=//evil.example>", "![x]([redacted:url]) <img src=[redacted:url]>"},
		{"links", "https://docs.example.org@evil.example/ https://evil.example\\@docs.example.org", "[redacted:url] [redacted:url]"},
		{"links", "https:\\\\evil.example https:evil.example ftp://evil.example", "[redacted:url] [redacted:url] [redacted:url]"},
		{"links", "https://evildocs.example.org https://docs.example.org.evil.example", "[redacted:url] [redacted:url]"},
		{"links", "ｈｔｔｐｓ://evil.example https://dоcs.example.org", "[redacted:url] [redacted:url]"}, // the second has a Cyrillic letter
		{"links", "https://%65vil.example https://[::1]/ https://2130706433/", "[redacted:url] [redacted:url]]/ [redacted:url]"},
		{"size", "0123456789abcdeü", "0123456789abcde[redacted:size]"},
	} {
		if got := redact(t, row.detector, row.text); got != row.want {
			t.Errorf("%s of %q:\n got %q\nwant %q", row.detector, row.text, got, row.want)
		}
	}
}

// TestNoFindings has what looks like something and is not.
func TestNoFindings(t *testing.T) {
	for _, row := range []struct{ detector, text string }{
		{"secrets", "the password is in the vault; token: see the handbook; secret=changeme"},
		{"secrets", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
		{"secrets", "7c9e6679-7425-40de-944b-e07fc1f90ae7 and AKIAshort and sk-short"},
		{"secrets", "https://user@host/x, https://host:8080/a@b, postgres://app:${PASSWORD}@db/x"},
		{"email", "@handle, a@b, 5 @ 3.50, name@localhost, git@ host"},
		{"card", "4111 1111 1111 1112, 1234567890123456, 0000 0000 0000 0000, 2026-11-25 09:49:25"},
		{"card", "id 41111111111111110000000000 and a4111111111111111 and 4111111111111111b"},
		{"iban", "DE89 3704 0044 0532 0130 01, XX89370400440532013000, DE89370400440532013000X, at20 words in a sentence"},
		{"phone", "version 1.2.3.4, 10.0.0.12, 2026-11-25, 19.99, 1/2/3, 12:30:59, § 1234567"},
		{"invisible", "नमस्ते 👩‍🚀 é שלום"},
		{"links", "docs.example.org has http: and a ratio of 3://4, http:404 and C://x no //comment"},
		{"size", "0123456789abcdef"},
	} {
		if got := redact(t, row.detector, row.text); got != row.text {
			t.Errorf("%s of %q: %q", row.detector, row.text, got)
		}
	}
}

func redact(t testing.TB, detector, text string) string {
	t.Helper()
	c := shield.Config{Name: "s", Detector: detector, Action: "redact"}
	switch detector {
	case "links":
		c.Hosts = []string{"Docs.example.org", "*.wild.example"}
	case "size":
		c.MaxBytes = 16
	}
	s, err := shield.New(c)
	if err != nil {
		t.Fatal(err)
	}
	_, got := s.Check(text)
	return got
}

// BenchmarkCheck checks 4 KiB of prose without findings, in ASCII and with other letters.
func BenchmarkCheck(b *testing.B) {
	ascii := strings.Repeat("The quick brown fox jumps over 13 lazy dogs; see chapter 4.2 of the handbook. ", 52)
	for _, text := range []struct{ name, text string }{{"ascii", ascii}, {"unicode", strings.ReplaceAll(ascii, "o", "ö")}} {
		for _, detector := range []string{"secrets", "pii", "invisible", "links", "size"} {
			b.Run(detector+"/"+text.name, func(b *testing.B) {
				c := shield.Config{Name: "s", Detector: detector}
				if detector == "size" {
					c.MaxBytes = 1 << 20
				}
				s, err := shield.New(c)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text.text)))
				for b.Loop() {
					if found, _ := s.Check(text.text); len(found) > 0 {
						b.Fatal(found)
					}
				}
			})
		}
	}
}
