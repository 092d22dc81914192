package calc_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/examples/calculator/calc"
)

func TestEvaluate(t *testing.T) {
	for _, tt := range []struct{ name, expr, want string }{
		{"product before sum", "2 + 3 * 4", "14"},
		{"parentheses first", "(2 + 3) * 4", "20"},
		{"minus goes to the left", "10 - 4 - 3", "3"},
		{"division goes to the left", "100 / 10 / 2", "5"},
		{"power goes to the right", "2^3^2", "512"},
		{"power before sign", "-2^2", "-4"},
		{"sign in the exponent", "2^-2", "0.25"},
		{"several signs", "--+-3", "-3"},
		{"decimals are exact", "0.1 + 0.2", "0.3"},
		{"numbers without leading digit", ".5 + 2.", "2.5"},
		{"a leading zero is not octal", "010", "10"},
		{"exponents", "1.5e3 + 2E-1", "1500.2"},
		{"large whole numbers are exact", "123456789 * 987654321 * 1000003", "121932996910528606905807"},
		{"a third times three", "1 / 3 * 3", "1"},
		{"30 digits of what never ends", "2 / 3", "0.666666666666666666666666666667"},
		{"remainder", "17 % 5", "2"},
		{"remainder of decimals", "0.3 % 0.1", "0"},
		{"remainder has the sign of the left", "-7 % 3", "-1"},
		{"square root of a square", "sqrt(0.25)", "0.5"},
		{"square root", "sqrt(2)", "1.41421356237309504880168872421"},
		{"power of a half", "2^0.5", "1.41421356237309504880168872421"},
		{"other fractional power", "8^(1/3)", "2"},
		{"power of a negative base", "(-2)^3", "-8"},
		{"one to any power", "1^1000000", "1"},
		{"minus one to an odd power", "(-1)^1000001", "-1"},
		{"zero to the zero", "0^0", "1"},
		{"abs", "abs(2 - 5)", "3"},
		{"min of many", "min(3, 1, 2)", "1"},
		{"max of one", "max(7)", "7"},
		{"round half away from zero", "round(2.5)", "3"},
		{"round a negative half", "round(-2.5)", "-3"},
		{"round to places", "round(2.675, 2)", "2.68"},
		{"round to hundreds", "round(1250, -2)", "1300"},
		{"functions nest", "round(sqrt(abs(-16)) / 3, 3)", "1.333"},
		{"big numbers in short", "10^70 + 0.5", "1e+70"},
		{"no spaces", "1+2*(3-4)/5", "0.6"},
		{"white space of all kinds", " 1\n+\t1 ", "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, err := calc.Evaluate(tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			if got := calc.Format(value); got != tt.want {
				t.Errorf("%s = %s, want %s", tt.expr, got, tt.want)
			}
		})
	}
}

func TestEvaluateErrors(t *testing.T) {
	for _, tt := range []struct {
		name, expr string
		pos        int
		msg        string
	}{
		{"nothing", "", 1, "expected a number, found the end"},
		{"missing operand", "1 +", 4, "expected a number, found the end"},
		{"two operators", "1 * / 2", 5, `expected a number, found "/"`},
		{"missing operator", "2 (3)", 3, `expected an operator or the end, found "("`},
		{"open parenthesis", "(1 + 2", 7, `expected ")", found the end`},
		{"closed too often", "1 + 2)", 6, `expected an operator or the end, found ")"`},
		{"empty parentheses", "()", 2, `expected a number, found ")"`},
		{"strange character", "1 $ 2", 3, `unexpected character '$'`},
		{"positions count characters, not bytes", "1 × 2", 3, `unexpected character '×'`},
		{"two points", "1 + 1.2.3", 5, `bad number "1.2.3"`},
		{"a point alone", "1 + .", 5, `bad number "."`},
		{"no exponent", "2e", 1, "bad exponent"},
		{"an exponent that would fill the memory", "1e999999999", 1, "bad exponent"},
		{"unknown function", "1 + log(2)", 5, `unknown name "log"; the functions are abs, max, min, round, sqrt`},
		{"function without parentheses", "sqrt 2", 6, `expected "(", found "2"`},
		{"too many arguments", "1 + sqrt(1, 2)", 5, "sqrt takes one argument, got 2"},
		{"no arguments", "min()", 5, `expected a number, found ")"`},
		{"division by zero", "1 + 4 / (2 - 2)", 7, `"/": division by zero`},
		{"remainder by zero", "4 % 0", 3, `"%": division by zero`},
		{"zero to a negative power", "0 ^ -1", 3, `"^": division by zero`},
		{"root of a negative number", "sqrt(-1)", 1, "no real root"},
		{"fractional power of a negative number", "(-8)^0.5", 5, "no real root"},
		{"a power that would fill the memory", "9^9^9", 2, "too large"},
		{"a product that is too large", "10^9000 * 10^9000", 9, "too large"},
		{"a fractional power that is too large", "10^4000.5", 3, "too large"},
		{"bad places", "round(1, 0.5)", 1, "decimal places"},
		{"nested too deep", strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), 101, "nested more than 100 deep"},
		{"too long", strings.Repeat("1+", 1000) + "1", 2001, "at most 2000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, err := calc.Evaluate(tt.expr)
			var syntax *calc.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("value %v, error %v, want a SyntaxError", value, err)
			}
			if syntax.Pos != tt.pos || !strings.Contains(syntax.Msg, tt.msg) {
				t.Errorf("at %d: %s\nwant at %d: … %s …", syntax.Pos, syntax.Msg, tt.pos, tt.msg)
			}
		})
	}
}

// FuzzEvaluate looks for expressions that panic, and for errors without a place.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"1+2*3", "-(2^.5)%3", "round(sqrt(2),3)", "min(1,2", "1e4000^3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		value, err := calc.Evaluate(expr)
		var syntax *calc.SyntaxError
		switch {
		case err == nil:
			calc.Format(value)
		case !errors.As(err, &syntax) || syntax.Pos < 1:
			t.Errorf("%q: %v", expr, err)
		}
	})
}

func TestConvert(t *testing.T) {
	for _, tt := range []struct{ name, value, from, to, want string }{
		{"length", "5", "km", "mi", "3.10685596118666984808717092182 mi"},
		{"exact factors", "1", "mi", "m", "1609.344 m"},
		{"feet and inches", "6", "feet", "inches", "72 in"},
		{"mass", "1", "lb", "kg", "0.45359237 kg"},
		{"names and plurals in any case", "2", " Kilograms", "grams", "2000 g"},
		{"freezing", "0", "C", "F", "32 F"},
		{"body temperature", "98.6", "fahrenheit", "celsius", "37 C"},
		{"absolute zero", "0", "K", "C", "-273.15 C"},
		{"the same both ways", "-40", "°C", "°F", "-40 F"},
		{"to itself", "3", "t", "t", "3 t"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, _ := new(big.Rat).SetString(tt.value)
			c, err := calc.Convert(value, tt.from, tt.to)
			if err != nil {
				t.Fatal(err)
			}
			if got := calc.Format(c.Value) + " " + c.To; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestConvertErrors(t *testing.T) {
	for _, tt := range []struct{ name, value, from, to, want string }{
		{"other quantity", "1", "km", "kg", "cannot convert km (length) to kg (mass)"},
		{"unknown unit", "1", "parsec", "m", `unknown unit "parsec"; the units are length: mm`},
		{"milliseconds are not metres", "1", "ms", "m", `unknown unit "ms"`},
		{"colder than possible", "-300", "C", "K", "-300 C is below absolute zero"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, _ := new(big.Rat).SetString(tt.value)
			_, err := calc.Convert(value, tt.from, tt.to)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
