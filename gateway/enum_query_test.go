package gateway_test

import (
	"strings"
	"testing"
)

func TestEnumsInTheQueryHaveTheirShortNames(t *testing.T) {
	s := serve(t, nil)
	for query, want := range map[string]string{
		"?status=completed":             `"status":"completed"`,
		"?status=TURN_STATUS_FAILED":    `"status":"failed"`,
		"?status=&page_size=5":          `"turns":`,
		"?session_id=ses_1&status=done": "queued",
		"?status=COMPLETED":             "completed",
		"?status=failed&status=queued":  "is given twice",
	} {
		a := s.do("GET", "/v1/turns"+query, "")
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s, want %s", query, a.status, a.body, want)
		}
	}
}
