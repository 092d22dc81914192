package ids_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/ids"
)

func TestNew(t *testing.T) {
	seen := map[string]bool{}
	for range 10000 {
		id := ids.New(ids.Session)
		if !ids.Valid(ids.Session, id) {
			t.Fatalf("%q is not valid", id)
		}
		if seen[id] {
			t.Fatalf("%q came twice", id)
		}
		seen[id] = true
	}
}

func TestIDsSortByTime(t *testing.T) {
	var made []string
	start := time.UnixMilli(1)
	for i := range 1200 { // over all magnitudes up to 65 years
		made = append(made, ids.At(ids.Turn, start.Add(time.Duration(i*i*i*i)*time.Millisecond)))
	}
	if !slices.IsSorted(made) {
		t.Error("ids of later times sort before ids of earlier ones")
	}
}

// TestIDsOfOneMillisecondSortByTime: lists are in the order of ids, and two things can be made within a millisecond.
func TestIDsOfOneMillisecondSortByTime(t *testing.T) {
	var made []string
	start := time.UnixMilli(1795171200123)
	for i := range 4000 {
		made = append(made, ids.At(ids.File, start.Add(time.Duration(i)*250*time.Nanosecond)))
	}
	if !slices.IsSorted(made) {
		t.Error("ids of one millisecond do not sort by time")
	}
	if first, last := made[0], made[len(made)-1]; first[:len("fil_")+10] != last[:len("fil_")+10] {
		t.Errorf("%s and %s are not of one millisecond", first, last)
	}
}

func TestTime(t *testing.T) {
	want := time.UnixMilli(1795171200123)
	if got, ok := ids.Time(ids.At(ids.Step, want)); !ok || !got.Equal(want) {
		t.Errorf("Time = %v, %v; want %v", got, ok, want)
	}
	if _, ok := ids.Time("stp_short"); ok {
		t.Error("a malformed id has no time")
	}
}

// TestIDsOfEarlierVersions are of the encoder that this package had before it used a library: databases hold ids like these.
func TestIDsOfEarlierVersions(t *testing.T) {
	for id, want := range map[string]int64{
		"ses_01m7wtgf3vzw080zrh48sm8nb6": 0x01a1f9a83c7b,
		"ses_00000000000000000000000000": 0,
		"ses_7zzzzzzzzzzzzzzzzzzzzzzzzz": 1<<48 - 1,
	} {
		if got, ok := ids.Time(id); !ok || got.UnixMilli() != want || !ids.Valid(ids.Session, id) {
			t.Errorf("%s: %d, %v, want %d", id, got.UnixMilli(), ok, want)
		}
		if made := ids.At(ids.Session, time.UnixMilli(want)); made[:len("ses_")+10] != id[:len("ses_")+10] {
			t.Errorf("of the time of %s: %s", id, made)
		}
	}
}

func TestTimesThatNoIDHoldsWrap(t *testing.T) {
	for _, at := range []time.Time{time.UnixMilli(-1), time.UnixMilli(1 << 48), {}} {
		if id := ids.At(ids.Turn, at); !ids.Valid(ids.Turn, id) {
			t.Errorf("%v: %q", at, id)
		}
	}
}

func TestValid(t *testing.T) {
	good := ids.New(ids.Session)
	body := strings.TrimPrefix(good, "ses_")
	for _, tc := range []struct {
		name, id string
		want     bool
	}{
		{"fresh", good, true},
		{"another kind", "trn_" + body, false},
		{"no prefix", body, false},
		{"upper case", strings.ToUpper(good), false},
		{"too short", good[:len(good)-1], false},
		{"too long", good + "0", false},
		{"letter that is not in the alphabet", good[:len(good)-1] + "u", false},
		{"more than 128 bits", "ses_8" + body[1:], false},
		{"path", "ses_../../../../../../etc/pas", false},
		{"empty", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ids.Valid(ids.Session, tc.id); got != tc.want {
				t.Errorf("Valid(%q) = %v", tc.id, got)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		_ = ids.New(ids.Event)
	}
}
