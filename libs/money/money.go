// Package money parses and formats decimal amounts, and represents them as whole millionths of a currency.
package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Micros is an amount in millionths of a currency.
type Micros int64

// Unit is one whole unit of a currency.
const Unit = 1_000_000

// maxDigits limits the whole part, so that sums of many amounts do not overflow.
const maxDigits = 9

var errForm = errors.New(`want a decimal number with six decimals at most, such as "0.25"`)

// Parse reads a decimal number without a sign: "25", "0.5", "0.000001". Empty text is 0.
func Parse(text string) (Micros, error) {
	if text == "" {
		return 0, nil
	}
	whole, part, dot := strings.Cut(text, ".")
	if whole == "" || len(whole) > maxDigits || dot && part == "" || len(part) > 6 || !digits(whole) || !digits(part) {
		return 0, errForm
	}
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", 6-len(part)), 10, 64)
	if err != nil {
		return 0, errForm
	}
	return Micros(n), nil
}

func digits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// String formats an amount with as few decimals as it needs: "25", "0.5". Zero is "0".
func (m Micros) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	whole, part := m/Unit, m%Unit
	if part == 0 {
		return fmt.Sprintf("%s%d", sign, whole)
	}
	return sign + strings.TrimRight(fmt.Sprintf("%d.%06d", whole, part), "0")
}

// Text formats an amount as String does; zero is "".
func Text(micros int64) string {
	if micros == 0 {
		return ""
	}
	return Micros(micros).String()
}

// UnmarshalText reads an amount as Parse does.
func (m *Micros) UnmarshalText(text []byte) (err error) {
	*m, err = Parse(strings.TrimSpace(string(text)))
	return err
}

// MarshalText formats an amount as String does.
func (m Micros) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// PerMillion returns the cost of count items at a price per million, in millionths of that price's unit so that nothing is rounded yet. A
// result that does not fit is the largest int64.
func PerMillion(count, price int64) int64 {
	if count <= 0 || price <= 0 {
		return 0
	}
	if count > math.MaxInt64/4/price {
		return math.MaxInt64 / 4
	}
	return count * price
}

// Ceil rounds a sum of PerMillion up to whole micros: nothing that has a cost becomes free.
func Ceil(sum int64) int64 { return (sum + Unit - 1) / Unit }
