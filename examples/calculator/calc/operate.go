package calc

import (
	"errors"
	"math"
	"math/big"
	"strconv"
)

const (
	maxExponent = 4000    // of a decimal number
	maxBits     = 1 << 15 // of a numerator or denominator: some 9800 digits
	digits      = 30      // of what has no exact decimal form, and of a shown result
	precision   = 256     // bits for roots and for showing
	maxPlaces   = 1000    // of round
)

var (
	errTooLarge = errors.New("the result is too large or too small")
	errZero     = errors.New("division by zero")
	errRoot     = errors.New("a negative number has no real root")
)

// function is something that can be called in an expression.
type function struct {
	min, max int    // number of arguments
	takes    string // the same in words
	apply    func(args []*big.Rat) (*big.Rat, error)
}

const functionNames = "abs, max, min, round, sqrt"

var functions = map[string]function{
	"abs":   {1, 1, "one argument", func(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Abs(a[0]), nil }},
	"max":   {1, maxLength, "one or more arguments", func(a []*big.Rat) (*big.Rat, error) { return extreme(a, 1), nil }},
	"min":   {1, maxLength, "one or more arguments", func(a []*big.Rat) (*big.Rat, error) { return extreme(a, -1), nil }},
	"round": {1, 2, "a number and optionally the decimal places", round},
	"sqrt":  {1, 1, "one argument", func(a []*big.Rat) (*big.Rat, error) { return sqrt(a[0]) }},
}

var operators = map[string]func(a []*big.Rat) (*big.Rat, error){
	"+": func(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Add(a[0], a[1]), nil },
	"-": func(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Sub(a[0], a[1]), nil },
	"*": func(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Mul(a[0], a[1]), nil },
	"/": func(a []*big.Rat) (*big.Rat, error) { return quotient(a[0], a[1]) },
	"%": func(a []*big.Rat) (*big.Rat, error) { return remainder(a[0], a[1]) },
	"^": func(a []*big.Rat) (*big.Rat, error) { return power(a[0], a[1]) },
}

func binary(op token, left, right *big.Rat) (*big.Rat, error) {
	return checked(op, operators[op.text], []*big.Rat{left, right})
}

// checked applies f, and points at t if it fails or if its result would make the next operation slow.
func checked(t token, f func([]*big.Rat) (*big.Rat, error), args []*big.Rat) (*big.Rat, error) {
	value, err := f(args)
	if err == nil && (value.Num().BitLen() > maxBits || value.Denom().BitLen() > maxBits) {
		err = errTooLarge
	}
	if err != nil {
		return nil, errorAt(t.pos, "%v: %v", t, err)
	}
	return value, nil
}

func quotient(x, y *big.Rat) (*big.Rat, error) {
	if y.Sign() == 0 {
		return nil, errZero
	}
	return new(big.Rat).Quo(x, y), nil
}

// remainder has the sign of x, as in Go and C.
func remainder(x, y *big.Rat) (*big.Rat, error) {
	q, err := quotient(x, y)
	if err != nil {
		return nil, err
	}
	whole := new(big.Rat).SetInt(new(big.Int).Quo(q.Num(), q.Denom()))
	return whole.Sub(x, whole.Mul(whole, y)), nil
}

// power is exact for whole exponents and for square roots; other powers are as precise as a float64.
func power(base, exponent *big.Rat) (*big.Rat, error) {
	switch {
	case base.Sign() == 0 && exponent.Sign() < 0:
		return nil, errZero
	case exponent.IsInt():
		return wholePower(base, exponent.Num())
	case base.Sign() < 0:
		return nil, errRoot
	case exponent.Cmp(big.NewRat(1, 2)) == 0:
		return sqrt(base)
	}
	b, _ := base.Float64()
	e, _ := exponent.Float64()
	value := math.Pow(b, e)
	if math.IsInf(value, 0) || value == 0 && b != 0 {
		return nil, errTooLarge
	}
	// Digits beyond the 15th are noise.
	rounded, _ := new(big.Rat).SetString(strconv.FormatFloat(value, 'g', 15, 64))
	return rounded, nil
}

// wholePower requires a base other than 0 for a negative exponent.
func wholePower(base *big.Rat, exponent *big.Int) (*big.Rat, error) {
	n := new(big.Int).Abs(exponent)
	bits := max(base.Num().BitLen(), base.Denom().BitLen()) - 1
	switch {
	case bits == 0: // 0, 1 and -1 never grow: only 0, odd or even matters
		if n.Sign() > 0 {
			n.SetUint64(2 - uint64(n.Bit(0)))
		}
	case n.Cmp(big.NewInt(int64(maxBits/bits))) > 0: // estimated first: the power itself might not fit into memory
		return nil, errTooLarge
	}
	value := new(big.Rat).SetFrac(
		new(big.Int).Exp(base.Num(), n, nil),
		new(big.Int).Exp(base.Denom(), n, nil))
	if exponent.Sign() < 0 {
		value.Inv(value)
	}
	return value, nil
}

// sqrt is exact for the squares of fractions, and otherwise precise beyond the shown digits.
func sqrt(x *big.Rat) (*big.Rat, error) {
	if x.Sign() < 0 {
		return nil, errRoot
	}
	num, denom := new(big.Int).Sqrt(x.Num()), new(big.Int).Sqrt(x.Denom())
	if root := new(big.Rat).SetFrac(num, denom); new(big.Rat).Mul(root, root).Cmp(x) == 0 {
		return root, nil
	}
	f := new(big.Float).SetPrec(precision).SetRat(x)
	root, _ := f.Sqrt(f).Rat(nil)
	return root, nil
}

// round goes to the nearest, halves away from zero.
func round(args []*big.Rat) (*big.Rat, error) {
	places := int64(0)
	if len(args) == 2 {
		n := args[1]
		if !n.IsInt() || n.Cmp(big.NewRat(maxPlaces, 1)) > 0 || n.Cmp(big.NewRat(-maxPlaces, 1)) < 0 {
			return nil, errors.New("decimal places must be a whole number from -1000 to 1000")
		}
		places = n.Num().Int64()
	}
	scale, err := wholePower(big.NewRat(10, 1), big.NewInt(places))
	if err != nil {
		return nil, err
	}
	scaled := new(big.Rat).Mul(args[0], scale)
	half := big.NewRat(int64(scaled.Sign()), 2)
	scaled.Add(scaled, half)
	whole := new(big.Rat).SetInt(new(big.Int).Quo(scaled.Num(), scaled.Denom()))
	return whole.Quo(whole, scale), nil
}

// extreme is the largest of values for direction 1, the smallest for -1.
func extreme(values []*big.Rat, direction int) *big.Rat {
	best := values[0]
	for _, v := range values[1:] {
		if v.Cmp(best) == direction {
			best = v
		}
	}
	return best
}

// Format formats whole numbers of up to 60 digits in full and others with 30 significant digits.
func Format(x *big.Rat) string {
	if x.IsInt() && x.Num().BitLen() < 200 {
		return x.Num().String()
	}
	return new(big.Float).SetPrec(precision).SetRat(x).Text('g', digits)
}
