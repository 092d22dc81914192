package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as "1MiB", "64KiB", "10MB" or plain "1024". Units with an i are powers of 1024, the others of 1000.
type Size int64

// units is in the order in which String tries them.
func units() []struct {
	name string
	size int64
} {
	return []struct {
		name string
		size int64
	}{
		{"TiB", 1 << 40},
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1e12},
		{"GB", 1e9},
		{"MB", 1e6},
		{"KB", 1e3},
		{"B", 1},
	}
}

// UnmarshalText reads a size; the unit is case-insensitive.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	unit := int64(1)
	digits := in
	for _, u := range units() {
		if len(in) > len(u.name) && strings.EqualFold(in[len(in)-len(u.name):], u.name) {
			digits, unit = strings.TrimSpace(in[:len(in)-len(u.name)]), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n < 0 || math.IsNaN(n) || n*float64(unit) >= math.MaxInt64 {
		return fmt.Errorf("want a size such as 64KiB or 10MB, not %q", in)
	}
	*s = Size(math.Round(n * float64(unit)))
	return nil
}

// MarshalText formats the size as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String formats the size in the largest binary unit that divides it, else in bytes.
func (s Size) String() string {
	for _, u := range units()[:4] {
		if s != 0 && int64(s)%u.size == 0 {
			return strconv.FormatInt(int64(s)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}
