package calc

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// unit relates a unit to the base unit of its quantity: base = (value + offset) * factor.
type unit struct {
	name, quantity string
	factor, offset *big.Rat
	aliases        []string
}

// UnitNames lists the units for people and models, one quantity after the other.
const UnitNames = "length: mm, cm, m, km, in, ft, yd, mi, nmi; mass: mg, g, kg, t, oz, lb, st; temperature: C, F, K"

var units = unitsByName(
	unit{"mm", "length", exact("0.001"), exact("0"), []string{"millimeter", "millimetre"}},
	unit{"cm", "length", exact("0.01"), exact("0"), []string{"centimeter", "centimetre"}},
	unit{"m", "length", exact("1"), exact("0"), []string{"meter", "metre"}},
	unit{"km", "length", exact("1000"), exact("0"), []string{"kilometer", "kilometre"}},
	unit{"in", "length", exact("0.0254"), exact("0"), []string{"inch", "inches", `"`}},
	unit{"ft", "length", exact("0.3048"), exact("0"), []string{"foot", "feet", "'"}},
	unit{"yd", "length", exact("0.9144"), exact("0"), []string{"yard"}},
	unit{"mi", "length", exact("1609.344"), exact("0"), []string{"mile"}},
	unit{"nmi", "length", exact("1852"), exact("0"), []string{"nautical mile"}},
	unit{"mg", "mass", exact("0.000001"), exact("0"), []string{"milligram"}},
	unit{"g", "mass", exact("0.001"), exact("0"), []string{"gram"}},
	unit{"kg", "mass", exact("1"), exact("0"), []string{"kilogram", "kilo"}},
	unit{"t", "mass", exact("1000"), exact("0"), []string{"tonne", "metric ton"}},
	unit{"oz", "mass", exact("0.028349523125"), exact("0"), []string{"ounce"}},
	unit{"lb", "mass", exact("0.45359237"), exact("0"), []string{"lbs", "pound"}},
	unit{"st", "mass", exact("6.35029318"), exact("0"), []string{"stone"}},
	unit{"C", "temperature", exact("1"), exact("273.15"), []string{"celsius", "°c", "degrees celsius"}},
	unit{"F", "temperature", exact("5/9"), exact("459.67"), []string{"fahrenheit", "°f", "degrees fahrenheit"}},
	unit{"K", "temperature", exact("1"), exact("0"), []string{"kelvin"}},
)

// Conversion is a converted value with the names of both units as UnitNames has them.
type Conversion struct {
	From, To string
	Value    *big.Rat
}

// Convert converts value. Units are known by symbol, name or plural, in any case.
func Convert(value *big.Rat, from, to string) (Conversion, error) {
	f, err := unitNamed(from)
	if err != nil {
		return Conversion{}, err
	}
	t, err := unitNamed(to)
	if err != nil {
		return Conversion{}, err
	}
	if f.quantity != t.quantity {
		return Conversion{}, fmt.Errorf("cannot convert %s (%s) to %s (%s)", f.name, f.quantity, t.name, t.quantity)
	}
	base := new(big.Rat).Add(value, f.offset)
	base.Mul(base, f.factor)
	if base.Sign() < 0 && f.quantity == "temperature" {
		return Conversion{}, fmt.Errorf("%s %s is below absolute zero", Format(value), f.name)
	}
	base.Quo(base, t.factor)
	return Conversion{From: f.name, To: t.name, Value: base.Sub(base, t.offset)}, nil
}

// exactFloat returns the decimal number that a caller wrote, not the binary fraction stored in a float64.
func exactFloat(f float64) *big.Rat {
	return exact(strconv.FormatFloat(f, 'g', -1, 64))
}

func unitNamed(name string) (unit, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	if u, ok := units[key]; ok {
		return u, nil
	}
	if singular := strings.TrimSuffix(key, "s"); len(singular) > 2 { // "ms" are not metres
		if u, ok := units[singular]; ok {
			return u, nil
		}
	}
	return unit{}, fmt.Errorf("unknown unit %q; the units are %s", name, UnitNames)
}

func unitsByName(all ...unit) map[string]unit {
	byName := make(map[string]unit)
	for _, u := range all {
		for _, key := range append(u.aliases, u.name) {
			byName[strings.ToLower(key)] = u
		}
	}
	return byName
}

// exact reads a number that is known to be one.
func exact(s string) *big.Rat {
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("not a number: " + s)
	}
	return x
}
