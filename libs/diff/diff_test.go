package diff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/diff"
)

func TestAlign(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"", "", ""},
		{"abc", "abc", "aa bb cc"},
		{"abc", "ac", "aa b- cc"},
		{"ac", "abc", "aa -b cc"},
		{"ab", "cd", "a- b- -c -d"},
		{"", "ab", "-a -b"},
		{"xaby", "xbay", "xx a- bb -a yy"},
	} {
		var got []string
		for _, p := range diff.Align(len(tt.a), len(tt.b), func(i, j int) bool { return tt.a[i] == tt.b[j] }) {
			row := []byte("--")
			if p.A != diff.Only {
				row[0] = tt.a[p.A]
			}
			if p.B != diff.Only {
				row[1] = tt.b[p.B]
			}
			got = append(got, string(row))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q and %q: %s, want %s", tt.a, tt.b, s, tt.want)
		}
	}
}

// Every element appears in exactly one row, in order, and only equal elements share a row.
func TestAlignLeavesNothingOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := make([]int, random.IntN(12)), make([]int, random.IntN(12))
		for i := range a {
			a[i] = random.IntN(4)
		}
		for i := range b {
			b[i] = random.IntN(4)
		}
		i, j := 0, 0
		for _, p := range diff.Align(len(a), len(b), func(i, j int) bool { return a[i] == b[j] }) {
			if p.A != diff.Only && p.B != diff.Only && a[p.A] != b[p.B] || p.A == diff.Only && p.B == diff.Only {
				t.Fatalf("%v and %v: row %v", a, b, p)
			}
			if p.A != diff.Only {
				if p.A != i {
					t.Fatalf("%v and %v: row %v", a, b, p)
				}
				i++
			}
			if p.B != diff.Only {
				if p.B != j {
					t.Fatalf("%v and %v: row %v", a, b, p)
				}
				j++
			}
		}
		if i != len(a) || j != len(b) {
			t.Fatalf("%v and %v: %d and %d elements", a, b, i, j)
		}
	}
}

func TestUnified(t *testing.T) {
	count := func(n int, change map[int]string) string {
		var out []string
		for i := range n {
			line, ok := change[i]
			if !ok {
				line = fmt.Sprint("l", i)
			}
			out = append(out, line)
		}
		return strings.Join(out, "\n")
	}
	for _, tt := range []struct{ name, a, b, want string }{
		{"equal", "one\ntwo", "one\ntwo", ""},
		{"one line", "old", "new", "@@ -1,1 +1,1 @@\n-old\n+new\n"},
		{"from nothing", "", "new", "@@ -0,0 +1,1 @@\n+new\n"},
		{"a line end", "a", "a\n", "@@ -1,1 +1,2 @@\n a\n+\n"},
		{
			"two hunks", count(20, nil), count(20, map[int]string{2: "x", 17: "y"}),
			"@@ -1,6 +1,6 @@\n l0\n l1\n-l2\n+x\n l3\n l4\n l5\n@@ -15,6 +15,6 @@\n l14\n l15\n l16\n-l17\n+y\n l18\n l19\n",
		},
		{
			"near ones share a hunk", count(9, nil), count(9, map[int]string{1: "x", 7: "y"}),
			"@@ -1,9 +1,9 @@\n l0\n-l1\n+x\n l2\n l3\n l4\n l5\n l6\n-l7\n+y\n l8\n",
		},
	} {
		if got := diff.Unified(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestLargeTextsAreNotSearched(t *testing.T) {
	a, b := strings.Repeat("a\n", 3000)+"end", strings.Repeat("b\n", 3000)+"end"
	if got := diff.Unified(a, b); strings.Count(got, "\n-a") != 3000 || !strings.HasSuffix(got, "+b\n end\n") {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}
