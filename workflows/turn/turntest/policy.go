package turntest

import (
	"context"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// policy is a PolicyService whose shields are defined by their names: STAGE-ACTION-WORD, for example "input-block-secret". Such a shield
// blocks, redacts, flags or asks about texts of the stage that contain the word.
type policy struct {
	policyv1.UnimplementedPolicyServiceServer
	mesh *Mesh
}

func (p *policy) CheckText(_ context.Context, req *policyv1.CheckTextRequest) (*policyv1.CheckTextResponse, error) {
	if err := p.mesh.fault("CheckText"); err != nil {
		return nil, err
	}
	resp := &policyv1.CheckTextResponse{Texts: make([]*policyv1.CheckedText, len(req.GetTexts()))}
	for i := range resp.GetTexts() {
		resp.Texts[i] = &policyv1.CheckedText{}
	}
	if req.GetPartial() {
		for i, text := range req.GetTexts() {
			resp.Texts[i].Text = text
			for _, name := range req.GetShields() {
				resp.Texts[i].Text = settled(resp.GetTexts()[i].GetText(), name)
			}
		}
	}
	for _, name := range req.GetShields() {
		parts := strings.SplitN(name, "-", 3)
		if len(parts) != 3 {
			return nil, fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "there is no shield %q", name)
		}
		resp.Stages = append(resp.Stages, parts[0])
		for i, text := range req.GetTexts() {
			if parts[0] != req.GetStage() || !strings.Contains(text, parts[2]) {
				continue
			}
			if req.GetPartial() {
				continue
			}
			out := resp.GetTexts()[i]
			hit := &policyv1.ShieldHit{Shield: name, Action: parts[1], Categories: []string{"word"}}
			if parts[1] == "ask" {
				hit.Approval = &policyv1.ApprovalRule{Name: "shield:" + name}
			}
			out.Hits = append(out.Hits, hit)
			if out.Blocked = out.GetBlocked() || parts[1] == "block"; parts[1] == "redact" {
				out.Redacted, out.Text = true, strings.ReplaceAll(text, parts[2], "***")
			}
		}
	}
	return resp, nil
}

// settled returns what a shield lets pass of the beginning of a text: not what may become its word, and nothing after a word that it
// blocks.
func settled(text, name string) string {
	parts := strings.SplitN(name, "-", 3)
	if parts[0] != "output" {
		return text
	}
	word := parts[2]
	if at := strings.Index(text, word); at >= 0 && parts[1] == "block" {
		return text[:at]
	}
	for n := min(len(word)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, word[:n]) {
			text = text[:len(text)-n]
			break
		}
	}
	if parts[1] == "redact" {
		text = strings.ReplaceAll(text, word, "***")
	}
	return text
}
