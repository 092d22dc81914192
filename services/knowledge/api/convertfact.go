package api

import (
	"github.com/windlass-dev/windlass/libs/timestamp"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// factStates are the states of facts, as the API names them.
var factStates = map[string]knowledgev1.FactState{
	store.FactActive:     knowledgev1.FactState_FACT_STATE_ACTIVE,
	store.FactProposed:   knowledgev1.FactState_FACT_STATE_PROPOSED,
	store.FactSuperseded: knowledgev1.FactState_FACT_STATE_SUPERSEDED,
	store.FactRejected:   knowledgev1.FactState_FACT_STATE_REJECTED,
}

func factStateOf(state knowledgev1.FactState) string {
	for name, s := range factStates {
		if s == state {
			return name
		}
	}
	return ""
}

// factTrusts are the levels of trust, as the API names them.
var factTrusts = map[store.Trust]knowledgev1.FactTrust{
	store.OfTools: knowledgev1.FactTrust_FACT_TRUST_PROPOSAL,
	store.OfModel: knowledgev1.FactTrust_FACT_TRUST_MODEL,
	store.OfUser:  knowledgev1.FactTrust_FACT_TRUST_USER,
}

func factToProto(f store.Fact) *knowledgev1.Fact {
	out := &knowledgev1.Fact{
		Id: f.ID, Text: f.Text, Entity: f.Entity, Attribute: f.Attribute, Value: f.Value, AgentId: f.AgentID,
		ValidFrom: timestamp.Of(f.ValidFrom), ValidTo: timestamp.Of(f.ValidTo), State: factStates[f.State], Trust: factTrusts[f.Trust],
		SupersededBy: f.SupersededBy, CreateTime: timestamp.Of(f.CreateTime), UpdateTime: timestamp.Of(f.UpdateTime),
	}
	if f.TurnID != "" {
		out.Source = &knowledgev1.FactSource{SessionId: f.SessionID, TurnId: f.TurnID, CallId: f.CallID, Tainted: f.Tainted}
	}
	return out
}

func factsToProto(rows []store.Fact) []*knowledgev1.Fact {
	out := make([]*knowledgev1.Fact, 0, len(rows))
	for _, f := range rows {
		out = append(out, factToProto(f))
	}
	return out
}

func draftOf(f *knowledgev1.Fact) factbook.Draft {
	return factbook.Draft{
		AgentID: f.GetAgentId(), Entity: f.GetEntity(), Attribute: f.GetAttribute(), Value: f.GetValue(), Text: f.GetText(),
		ValidFrom: timestamp.Time(f.GetValidFrom()), ValidTo: timestamp.Time(f.GetValidTo()),
	}
}
