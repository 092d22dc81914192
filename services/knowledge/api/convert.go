package api

import (
	"github.com/windlass-dev/windlass/libs/timestamp"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// mode says how a bank is, or was, searched.
func mode(hybrid bool) string {
	if hybrid {
		return "hybrid"
	}
	return "lexical"
}

func bankToProto(b store.Bank, hybrid bool) *knowledgev1.Bank {
	return &knowledgev1.Bank{
		Id: b.ID, DisplayName: b.DisplayName, Description: b.Description, Documents: b.Documents, Chunks: b.Chunks, Mode: mode(hybrid),
		Subject: b.Subject, CreateTime: timestamp.Of(b.CreateTime), UpdateTime: timestamp.Of(b.UpdateTime), Paused: b.Paused,
	}
}

func documentToProto(d store.Document) *knowledgev1.Document {
	return &knowledgev1.Document{
		Id: d.ID, BankId: d.Bank, Name: d.Name, MediaType: d.MediaType, Size: d.Size, Sha256: d.SHA256, State: stateToProto(d.State),
		Problem: d.Problem, Version: d.Version, LatestVersion: d.LatestVersion, TextBytes: d.TextBytes, Chunks: int32(d.Chunks), Title: d.Title,
		Labels: d.Labels, Attributes: d.Attributes, Subject: d.Subject, CreateTime: timestamp.Of(d.CreateTime),
		UpdateTime: timestamp.Of(d.UpdateTime),
	}
}

func stateToProto(s store.State) knowledgev1.DocumentState {
	switch s {
	case store.Queued:
		return knowledgev1.DocumentState_DOCUMENT_STATE_QUEUED
	case store.Ingesting:
		return knowledgev1.DocumentState_DOCUMENT_STATE_INGESTING
	case store.Ready:
		return knowledgev1.DocumentState_DOCUMENT_STATE_READY
	case store.Failed:
		return knowledgev1.DocumentState_DOCUMENT_STATE_FAILED
	case store.Cancelled:
		return knowledgev1.DocumentState_DOCUMENT_STATE_CANCELLED
	}
	return knowledgev1.DocumentState_DOCUMENT_STATE_UNSPECIFIED
}
