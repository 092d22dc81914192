package page_test

import (
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/libs/page"
)

type cursor struct {
	Created int64  `json:"c"`
	ID      string `json:"i"`
}

func TestTokenRoundTrip(t *testing.T) {
	want := cursor{Created: 1795171200123456, ID: "ses_x"}
	var got cursor
	if err := page.Decode("sessions|agent=a", page.Encode("sessions|agent=a", want), &got); err != nil || got != want {
		t.Errorf("Decode = %+v, %v", got, err)
	}
}

func TestEmptyTokenIsTheFirstPage(t *testing.T) {
	got := cursor{ID: "kept"}
	if err := page.Decode("sessions", "", &got); err != nil || got.ID != "kept" {
		t.Errorf("Decode = %+v, %v", got, err)
	}
}

func TestBadTokens(t *testing.T) {
	good := page.Encode("sessions|agent=a", cursor{ID: "x"})
	for _, tc := range []struct{ name, list, token string }{
		{"another list", "turns|agent=a", good},
		{"another filter", "sessions|agent=b", good},
		{"not base64", "sessions|agent=a", "!!"},
		{"cut", "sessions|agent=a", good[:len(good)-4]},
		{"changed", "sessions|agent=a", "A" + good[1:] + "A"},
		{"too short", "sessions|agent=a", "AAAA"},
		{"another cursor type", "sessions|agent=a", page.Encode("sessions|agent=a", 7)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c cursor
			if err := page.Decode(tc.list, tc.token, &c); !errors.Is(err, page.ErrInvalid) {
				t.Errorf("Decode = %v, want ErrInvalid", err)
			}
		})
	}
}

func TestSize(t *testing.T) {
	for _, tc := range []struct {
		name      string
		requested int32
		want      int
		bad       bool
	}{
		{"none asked for", 0, 50, false},
		{"one", 1, 1, false},
		{"within bounds", 200, 200, false},
		{"too many", 201, 200, false},
		{"negative", -1, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := page.Size(tc.requested, 50, 200)
			if got != tc.want || errors.Is(err, page.ErrInvalid) != tc.bad {
				t.Errorf("Size = %d, %v", got, err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("sessions", page.Encode("sessions", cursor{ID: "x"}))
	f.Fuzz(func(t *testing.T, list, token string) {
		var c cursor
		if err := page.Decode(list, token, &c); err != nil && !errors.Is(err, page.ErrInvalid) {
			t.Errorf("Decode = %v", err)
		}
	})
}
