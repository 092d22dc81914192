package calc

import (
	"context"
	"math"
	"math/big"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

const evaluateDescription = `Compute an arithmetic expression exactly and return the number. ` +
	`Use it for any calculation instead of computing yourself. ` +
	`Supports + - * / % ^ (power), parentheses, decimals such as 0.1 or 1.5e3, and the functions ` +
	`sqrt(x), abs(x), min(a, b, ...), max(a, b, ...), round(x) and round(x, decimal_places). ` +
	`No variables, no thousands separators, no units (see convert). Errors name the position in the expression.`

const convertDescription = `Convert a value from one unit to another of the same quantity. Units: ` + UnitNames +
	`. Common English names such as "miles" or "celsius" are understood too.`

type evaluateInput struct {
	Expression string `json:"expression" jsonschema:"arithmetic expression, for example (2 + 3) * 4 or round(sqrt(2), 3)"`
}

type evaluateOutput struct {
	Expression string   `json:"expression" jsonschema:"the expression as it was received"`
	Result     string   `json:"result" jsonschema:"the result in decimal, exact up to 30 significant digits"`
	Value      *float64 `json:"value,omitempty" jsonschema:"the result as a number; missing when a 64-bit float cannot hold it"`
}

func (o evaluateOutput) String() string { return o.Expression + " = " + o.Result }

type convertInput struct {
	Value float64 `json:"value" jsonschema:"the number to convert"`
	From  string  `json:"from" jsonschema:"unit of the value, for example km, lb or C"`
	To    string  `json:"to" jsonschema:"wanted unit, for example mi, kg or F"`
}

type convertOutput struct {
	Input  string   `json:"input" jsonschema:"value and unit that were converted"`
	Result string   `json:"result" jsonschema:"the converted value in decimal, exact up to 30 significant digits"`
	Unit   string   `json:"unit" jsonschema:"symbol of the unit of the result"`
	Value  *float64 `json:"value,omitempty" jsonschema:"the result as a number; missing when a 64-bit float cannot hold it"`
}

func (o convertOutput) String() string { return o.Input + " = " + o.Result + " " + o.Unit }

// NewServer returns the calculator's tool server.
func NewServer() *server.MCPServer {
	s := toolserver.New("calculator", "Exact arithmetic and unit conversion.")
	toolserver.Add(s, "evaluate", evaluateDescription, toolserver.ReadOnly("Evaluate an expression"), evaluate)
	toolserver.Add(s, "convert", convertDescription, toolserver.ReadOnly("Convert units"), convert)
	toolserver.AddHealthCheck(s, "calculator", nil)
	return s
}

func evaluate(_ context.Context, _ mcp.CallToolRequest, in evaluateInput) (evaluateOutput, error) {
	value, err := Evaluate(in.Expression)
	if err != nil {
		return evaluateOutput{}, err
	}
	return evaluateOutput{Expression: in.Expression, Result: Format(value), Value: float(value)}, nil
}

func convert(_ context.Context, _ mcp.CallToolRequest, in convertInput) (convertOutput, error) {
	value := exactFloat(in.Value) // JSON has no infinities and no NaN
	c, err := Convert(value, in.From, in.To)
	if err != nil {
		return convertOutput{}, err
	}
	input := Format(value) + " " + c.From
	return convertOutput{Input: input, Result: Format(c.Value), Unit: c.To, Value: float(c.Value)}, nil
}

// float returns nil for what JSON cannot represent as a number.
func float(x *big.Rat) *float64 {
	f, _ := x.Float64()
	if math.IsInf(f, 0) {
		return nil
	}
	return &f
}
