package model

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// AddCost adds to the usage of a model call what it has cost, unless that is known: the call was cut off, or failed.
func AddCost(price *turnv1.Price, u *turnv1.Usage) {
	if price == nil || u == nil || u.GetCostMicros() > 0 {
		return
	}
	u.CostMicros = contract.Cost(price, u)
}
