package e2e

// reach says how TestS13 calls an RPC from another tenant. Requests are JSON with {names} of the first tenant's objects.
type reach struct {
	// as is the role that calls; "" = an administrator of the other tenant.
	as string
	// want is what the call must answer.
	want answer
	// requests are sent one after the other.
	requests []string
	// owned is for objects of one user: other users of the same tenant do not find them either.
	owned bool
	// why the RPC is not called.
	why string
}

type answer int

const (
	// skipped RPCs name no object that belongs to a tenant, for the reason in why.
	skipped answer = iota
	// notFound is NOT_FOUND, as for an ID that never existed.
	notFound
	// same is another error, or success, but the same as for an ID that never existed.
	same
	// nothing is what a tenant gets that has nothing.
	nothing
)

func missing(requests ...string) reach { return reach{want: notFound, requests: requests} }
func ofOwner(requests ...string) reach { return reach{want: notFound, requests: requests, owned: true} }
func alike(requests ...string) reach   { return reach{want: same, requests: requests} }
func empty(requests ...string) reach   { return reach{want: nothing, requests: requests} }
func not(why string) reach             { return reach{why: why} }
func (r reach) by(role string) reach   { r.as = role; return r }

const (
	creates    = "it creates in the caller's tenant"
	namesIt    = "a role names the tenant in the request, of which the request is"
	noObject   = "it names no object of a tenant"
	ofSources  = "it has the whole definition of a source in its request"
	ticketed   = "a ticket or state that nobody can guess names the attempt"
	ofToken    = "a turn of the local user, who has no token, has no grant; the tests of grants have those of other users"
	ofCookie   = "the hash of a cookie that nobody can guess names the login"
	ofMesh     = "it is about the mesh"
	claimed    = `"ttl":"2s"`
	ofTurn     = `{"turn_id":"{turn}"}`
	ofSession  = `{"session_id":"{session}"}`
	ofSchedule = `{"schedule_id":"{schedule}"}`
	ofWebhook  = `{"webhook_id":"{webhook}"}`
	ofSource   = `{"source_id":"{source}"}`
	ofFile     = `{"file_id":"{file}"}`
	ofFact     = `{"fact_id":"{fact}"}`
	ofCaller   = "it is about the caller only"
	ofBank     = `{"bank_id":"{bank}"}`
	ofDocument = `{"bank_id":"{bank}","document_id":"{document}"}`
	ofBankSrc  = `{"bank_id":"{bank}","source_id":"{banksource}"}`
	ofUpload   = `{"upload_id":"{upload}"}`
	ofCall     = `{"turn_id":"{turn}","message_id":"msg_1","call_id":"call_1"}`
	ofStep     = `{"turn_id":"{waiting}","step":"infer-1","fence":1,`
	anAcme     = `"principal":{"tenant":"acme","subject":"dev:carol","kind":"PRINCIPAL_KIND_USER","roles":["admin"]}`
)

// reaches lists all RPCs that the mesh serves. A new one fails TestS13 until it is here.
var reaches = map[string]reach{
	"AgentService.CreateAgent": not(creates), "AgentService.ApplyBundle": not(creates), "AgentService.ListAgents": empty(`{}`),
	"AgentService.ExplainModels": missing(`{"agent_id":"{agent}"}`),
	"AgentService.GetAgent":      missing(`{"agent_id":"{agent}"}`, `{"agent_id":"{agent}","revision":1}`),
	"AgentService.DeleteAgent":   missing(`{"agent_id":"{agent}"}`), "AgentService.ListAgentRevisions": missing(`{"agent_id":"{agent}"}`),
	"AgentService.UpdateAgent": missing(`{"agent":{"id":"{agent}","instructions":"x"},"update_mask":"instructions"}`),

	"SessionService.CreateSession": missing(`{"agent_id":"{agent}"}`), "SessionService.GetSession": ofOwner(ofSession),
	"SessionService.ListSessions":  empty(`{}`, `{"agent_id":"{agent}"}`, `{"active":true}`, `{"q":"x"}`),
	"SessionService.UpdateSession": ofOwner(`{"session":{"id":"{session}","title":"x"},"update_mask":"title"}`),
	"SessionService.DeleteSession": ofOwner(ofSession), "SessionService.ListMessages": ofOwner(ofSession),
	"SessionService.RestoreSession": missing(ofSession),
	"SessionService.ImportSession":  missing(`{"agent_id":"{agent}","messages":[{"role":"ROLE_USER","content":[{"text":"x"}]}]}`),
	"SessionService.ForkSession":    ofOwner(ofSession), "SessionService.ExportSession": ofOwner(ofSession),
	"ShareService.CreateShare": ofOwner(`{"session_id":"{session}","audience":"anyone"}`), "ShareService.ListShares": ofOwner(ofSession),
	"ShareService.RevokeShare":                    ofOwner(`{"session_id":"{session}","share_id":"shr_1"}`),
	"ShareService.GetShared":                      missing(`{"token":"{session}"}`),
	"ShareService.WatchShared":                    missing(`{"token":"{session}"}`),
	"ShareService.ContinueShared":                 missing(`{"token":"{session}","message":"x"}`),
	"SessionAnalyticsService.GetSessionAnalytics": empty(`{}`), "SessionAnalyticsService.GetUsage": empty(`{}`, `{"group_by":"USAGE_GROUP_USER"}`),

	"TurnService.CreateTurn": ofOwner(`{"session_id":"{session}","input":"x"}`),
	"TurnService.GetTurn":    ofOwner(ofTurn), "TurnService.CancelTurn": ofOwner(`{"turn_id":"{waiting}"}`),
	"TurnService.ListTurns": empty(`{}`, `{"agent_id":"{agent}"}`, `{"q":"x"}`), "TurnService.GetTurnTree": ofOwner(ofTurn),
	"TurnService.RerunTurn":       ofOwner(ofTurn),
	"TurnService.GetTurnContext":  ofOwner(ofTurn),
	"TurnService.ListTurnEvents":  ofOwner(ofTurn),
	"TurnService.CompareTurns":    ofOwner(`{"turn_id":"{turn}","with":"{waiting}"}`),
	"TurnService.SteerTurn":       ofOwner(`{"turn_id":"{waiting}","input":"x"}`),
	"TurnService.ResolveToolCall": ofOwner(`{"turn_id":"{waiting}","call_id":"call_1","outcome":"done"}`),
	"TurnService.Chat":            missing(`{"session_id":"{session}","message":"x"}`, `{"agent_id":"{agent}","message":"x"}`),
	"TurnService.WatchTurn":       ofOwner(ofTurn, ofSession),

	"ApprovalService.ListApprovals":  empty(`{}`, `{"session_id":"{session}"}`, `{"turn_id":"{waiting}"}`),
	"ApprovalService.WatchApprovals": empty(`{}`),
	"ApprovalService.GetApproval":    ofOwner(`{"approval_id":"{approval}"}`),
	"ApprovalService.DecideApproval": ofOwner(`{"approval_id":"{approval}","decision":"approve"}`),
	"ApprovalService.BatchDecideApprovals": alike(
		`{"decisions":[{"approval_id":"{approval}","decision":"approve"}]}`),
	"ApprovalService.AnswerApproval": ofOwner(`{"approval_id":"{approval}","result":"x"}`),

	"ArtifactService.ListArtifacts":       missing(ofSession),
	"ArtifactService.ReadArtifact":        ofOwner(`{"artifact_id":"{artifact}"}`),
	"FileService.UploadFile":              not(creates),
	"FileService.ListFiles":               empty(`{}`),
	"FileService.GetFile":                 ofOwner(ofFile),
	"FileService.ReadFile":                ofOwner(ofFile),
	"FileService.DeleteFile":              ofOwner(ofFile),
	"FileService.CreateUpload":            not(creates),
	"FileService.AppendUpload":            ofOwner(`{"position":` + ofUpload + `}`),
	"FileService.GetUpload":               ofOwner(ofUpload),
	"FileService.DeleteUpload":            ofOwner(ofUpload),
	"MemoryService.CreateFact":            not(creates),
	"MemoryService.ListFacts":             empty(`{}`),
	"MemoryService.ExportMemory":          empty(`{}`),
	"MemoryService.GetFact":               ofOwner(ofFact),
	"MemoryService.DeleteFact":            ofOwner(ofFact),
	"MemoryService.UpdateFact":            ofOwner(`{"fact":{"id":"{fact}","text":"x"}}`),
	"MemoryService.ForgetAll":             not(ofCaller),
	"MemoryService.GetMemorySettings":     not(ofCaller),
	"MemoryService.GetMemoryDocument":     not(ofCaller),
	"MemoryService.UpdateMemoryDocument":  not(ofCaller),
	"MemoryService.ListMemoryVersions":    empty(`{}`),
	"MemoryService.CompareMemoryVersions": empty(`{}`),
	"MemoryService.UpdateMemorySettings":  not(ofCaller),
	"RecallService.Recall":                not(namesIt),
	"RecallService.ReadFacts":             not(namesIt),
	"RecallService.FindPassages":          not(namesIt),
	"RecallService.ReadPassages":          not(namesIt),
	"RecallService.Remember":              not(namesIt),

	"BankService.CreateBank": not(creates), "BankService.ListBanks": empty(`{}`),
	"BankService.GetBank": missing(ofBank), "BankService.DeleteBank": missing(ofBank),
	"BankService.UpdateBank": missing(`{"bank":{"id":"{bank}","description":"x"}}`),
	"BankService.PauseBank":  missing(ofBank), "BankService.ResumeBank": missing(ofBank),
	"BankSourceService.CreateBankSource": missing(`{"bank_id":"{bank}","source":{"kind":"docs"}}`),
	"BankSourceService.ListBankSources":  missing(ofBank), "BankSourceService.GetBankSource": missing(ofBankSrc),
	"BankSourceService.SyncBankSource": missing(ofBankSrc), "BankSourceService.PauseBankSource": missing(ofBankSrc),
	"BankSourceService.ResumeBankSource": missing(ofBankSrc), "BankSourceService.DeleteBankSource": missing(ofBankSrc),
	"DocumentService.CreateDocument": missing(`{"bank_id":"{bank}","name":"x","text":"x"}`),
	"DocumentService.UploadDocument": missing(`{"spec":{"bank_id":"{bank}","document":{"name":"x"}}}`),
	"DocumentService.ListDocuments":  missing(ofBank), "DocumentService.GetDocument": missing(ofDocument),
	"DocumentService.ReadDocument": missing(ofDocument), "DocumentService.RetryDocument": missing(ofDocument),
	"DocumentService.CancelDocument": missing(ofDocument), "DocumentService.DeleteDocument": missing(ofDocument),
	"SearchService.SearchBank":  missing(`{"bank_id":"{bank}","query":"x"}`),
	"SearchService.SearchBanks": alike(`{"bank_ids":["{bank}"],"query":"x"}`),

	"BudgetService.CreateBudget": not(creates), "BudgetService.ListBudgets": empty(`{}`), "BudgetService.GetBudgetTree": empty(`{}`),
	"BudgetService.GetBudget":    missing(`{"budget_id":"{budget}"}`),
	"BudgetService.UpdateBudget": missing(`{"budget":{"id":"{budget}","max_tokens":7},"update_mask":"maxTokens"}`),
	"BudgetService.DeleteBudget": missing(`{"budget_id":"{budget}"}`),

	"EventService.ListEvents":  empty(`{}`, `{"subject":"{session}"}`, `{"source":"registry"}`),
	"EventService.WatchEvents": empty(`{"since":"2020-01-01T00:00:00Z"}`),

	"ScheduleService.CreateSchedule": missing(`{"schedule":{"id":"s13-mine","agent_id":"{agent}","input":"x","cron":"0 0 1 1 *"}}`),
	"ScheduleService.GetSchedule":    missing(ofSchedule), "ScheduleService.ListSchedules": empty(`{}`),
	"ScheduleService.UpdateSchedule": missing(`{"schedule":{"id":"{schedule}","input":"y"},"update_mask":"input"}`),
	"ScheduleService.DeleteSchedule": missing(ofSchedule), "ScheduleService.PauseSchedule": missing(ofSchedule),
	"ScheduleService.ResumeSchedule": missing(ofSchedule), "ScheduleService.RunSchedule": missing(ofSchedule),

	"WebhookService.CreateWebhook": not(creates), "WebhookService.ListWebhooks": empty(`{}`), "WebhookService.GetWebhook": missing(ofWebhook),
	"WebhookService.UpdateWebhook": missing(`{"webhook":{"id":"{webhook}","description":"x"},"update_mask":"description"}`),
	"WebhookService.DeleteWebhook": missing(ofWebhook), "WebhookService.RotateWebhook": missing(ofWebhook),
	"WebhookService.ListWebhookDeliveries": missing(ofWebhook),
	"WebhookService.RedeliverWebhook":      missing(`{"webhook_id":"{webhook}","delivery_id":"dlv_01k0example"}`),

	"ExecutionService.LoadTurn": missing(ofTurn, `{"turn_id":"{turn}","with_context":true}`).by("worker"),
	"ExecutionService.ClaimStep": missing(`{"turn_id":"{waiting}","step":{"key":"begin","kind":"STEP_KIND_BEGIN"},"owner":"w",` + claimed + `}`).
		by("worker"),
	"ExecutionService.RenewStep":  missing(ofStep + claimed + `}`).by("worker"),
	"ExecutionService.CommitStep": missing(`{"turn_id":"{waiting}","fence":1,"outcome":{"key":"begin","kind":"STEP_KIND_BEGIN"}}`).by("worker"),
	"ExecutionService.AppendEvents": missing(ofStep + `"events":[{"turn_id":"{waiting}"}]}`).
		by("worker"),
	"ExecutionService.ReleaseStep":           missing(ofStep + `"backoff":"0s"}`).by("worker"),
	"ExecutionService.GetOutcomes":           missing(ofTurn).by("worker"),
	"ExecutionService.RequestCancel":         missing(`{"turn_id":"{waiting}"}`).by("worker"),
	"ExecutionService.GetContext":            missing(ofTurn).by("worker"),
	"ExecutionService.CreateChild":           missing(ofStep + `"agent_id":"{agent}","input":"x"}`).by("worker"),
	"ExecutionService.GetWait":               missing(`{"turn_id":"{waiting}","wait_id":"{approval}"}`).by("worker"),
	"ExecutionService.ExpireWaits":           missing(`{"turn_id":"{waiting}"}`).by("worker"),
	"ExecutionService.GetRecording":          missing(ofCall).by("worker"),
	"ExecutionService.GetToolCall":           missing(ofCall).by("worker"),
	"ExecutionService.ReadTurnFile":          missing(`{"turn_id":"{turn}","file_id":"{file}","length":"1"}`).by("worker"),
	"ExecutionService.FireSchedule":          not(namesIt),
	"ExecutionService.ResolveAuthorizations": not(namesIt),
	"ExecutionService.GetQuotaUse":           not(namesIt),
	"IngestionService.IngestVersion":         not(namesIt),
	"IngestionService.RunSync":               not(namesIt),

	"SourceService.CreateSource": not(creates), "SourceService.ListSources": empty(`{}`), "SourceService.GetSource": missing(ofSource),
	"SourceService.UpdateSource": missing(`{"source":{"id":"{source}","disabled":true},"update_mask":"disabled"}`),
	"SourceService.DeleteSource": missing(ofSource), "SourceService.SyncSource": missing(ofSource),
	"SourceService.DiffSource":   missing(ofSource),
	"SourceService.AcceptSource": missing(ofSource),

	"SourceService.GetLogin": not(namesIt),

	"ToolService.ListTools":   empty(`{}`, `{"source":"{source}"}`),
	"ToolService.SearchTools": empty(`{"query":"evaluate"}`, `{"query":"evaluate","source":"{source}"}`),
	"ToolService.GetTool":     missing(`{"name":"{tool}"}`), "ToolService.InvokeTool": missing(`{"name":"{tool}"}`),
	"ToolService.RunTool":      alike(`{"name":"{tool}","idempotency_key":"k"}`),
	"ToolService.StopTool":     alike(`{"idempotency_key":"{key}"}`),
	"ToolService.WatchTools":   empty(`{}`),
	"ToolService.RefreshTools": not("it synchronizes the caller's sources"),
	"ToolService.ListExecutions": empty(`{}`, `{"turn_id":"{turn}"}`, `{"session_id":"{session}"}`, `{"tool":"{tool}"}`,
		`{"source":"{source}"}`),

	"ToolGroupService.CreateToolGroup": not(creates), "ToolGroupService.ListToolGroups": empty(`{}`),
	"ToolGroupService.GetToolGroup":       missing(`{"name":"{group}"}`),
	"ToolGroupService.UpdateToolGroup":    missing(`{"tool_group":{"name":"{group}","description":"x"},"update_mask":"description"}`),
	"ToolGroupService.DeleteToolGroup":    missing(`{"name":"{group}"}`),
	"ToolGroupService.ExplainToolGroup":   missing(`{"name":"{group}","tool":"{tool}"}`),
	"ToolGroupService.EvaluateToolGroups": not(namesIt),

	"ToolCacheService.GetToolCacheStats": empty(`{}`),
	"ToolCacheService.ClearToolCache":    alike(`{"tool":"{tool}"}`, `{"source":"{source}"}`),
	"ToolAnalyticsService.GetToolAnalytics": empty(`{}`,
		`{"tool":"{tool}"}`, `{"source":"{source}"}`),
	"ToolAnalyticsService.ListRecentExecutions": empty(`{}`, `{"tool":"{tool}"}`),
	"ToolAnalyticsService.GetExecution":         missing(`{"execution_id":"{execution}"}`),

	"ServerService.ListServers":    empty(`{}`),
	"ServerService.ForwardRequest": missing(`{"source":"{source}","method":"resources/list"}`),
	"ServerService.WatchResources": alike(`{"source":"{source}","resource_list":true}`),

	"ToolExecutionService.ResolveTools":   empty(`{"globs":["*"],` + anAcme + `}`).by("worker"),
	"ToolExecutionService.FindTools":      empty(`{"globs":["*"],"query":"evaluate",` + anAcme + `}`).by("worker"),
	"ToolExecutionService.GetDefinitions": not("definitions are found by their hash, which only their tenant has"),
	"ToolExecutionService.CheckCall": not(
		"it has the definition in its request"),
	"ToolExecutionService.CallTool": alike(`{"tool":"{tool}","definition_hash":"x","turn_id":"{turn}","call_id":"c","key":"k",` + anAcme + `}`).
		by("worker"),
	"ToolExecutionService.StopCall":    alike(`{"key":"{key}"}`).by("worker"),
	"ToolExecutionService.ForgetTurns": not(namesIt),
	"EventLogService.ReadEvents":       not(namesIt),

	"AccessPolicyService.CreateAccessPolicy": not(creates), "AccessPolicyService.ListAccessPolicies": empty(`{}`),
	"AccessPolicyService.GetAccessPolicy":     missing(`{"name":"{policy}"}`),
	"AccessPolicyService.UpdateAccessPolicy":  missing(`{"access_policy":{"name":"{policy}","disabled":true},"update_mask":"disabled"}`),
	"AccessPolicyService.DeleteAccessPolicy":  missing(`{"name":"{policy}"}`),
	"AccessPolicyService.ExplainAccess":       alike(`{"tool":"{tool}"}`, `{"tool":"{tool}","subject":"{subject}"}`),
	"AccessPolicyService.ExplainAccessMatrix": alike(`{"tools":["{tool}"]}`, `{"tools":["{tool}"],"subjects":["{subject}"]}`),
	"AccessPolicyService.ReplayDecisions":     missing(`{"without":"{policy}","start_time":"2020-01-01T00:00:00Z"}`),

	"PolicyService.GetDecision":        missing(`{"decision_id":"{decision}"}`),
	"PolicyService.ListDecisions":      empty(`{"turn_id":"{turn}"}`, `{"turn_id":"{waiting}"}`),
	"PolicyService.GetCaller":          not("it is about the caller"),
	"PolicyService.DecideTool":         not(namesIt),
	"PolicyService.FilterTools":        not(namesIt),
	"PolicyService.GetPermissions":     not(namesIt),
	"PolicyService.RecordDenial":       not(namesIt),
	"PolicyService.ForgetTurns":        not(namesIt),
	"PolicyService.RecordDecisions":    not(namesIt),
	"PolicyService.CheckApprovalRules": not(noObject),
	"PolicyService.CheckText":          not(noObject),

	"QuotaService.SetQuota": not(creates), "QuotaService.ListQuotas": empty(`{}`), "QuotaService.GetQuota": missing(`{"quota_id":"{quota}"}`),
	"QuotaService.DeleteQuota": missing(`{"quota_id":"{quota}"}`), "QuotaService.GetQuotaUsage": not("it is about the caller's tenant, whatever user it names"),
	"QuotaService.CountToolCall": not(namesIt), "QuotaService.LeaseRequests": not(namesIt),

	"SecretService.CreateSecret": not(creates), "SecretService.ListSecrets": empty(`{}`), "SecretService.GetSecret": missing(`{"name":"{secret}"}`),
	"SecretService.UpdateSecret":  missing(`{"name":"{secret}","value":"x"}`),
	"SecretService.DeleteSecret":  missing(`{"name":"{secret}"}`),
	"SecretService.RotateSecrets": not("it encrypts all secrets again, and tells none"),
	"SecretService.ResolveSecret": not(namesIt),

	"ConnectionService.ListConnections": empty(`{}`),
	"ConnectionService.BeginConnection": missing(`{"source":"{source}"}`), "ConnectionService.GetConnection": missing(`{"source":"{source}"}`),
	"ConnectionService.DeleteConnection":          missing(`{"source":"{source}"}`),
	"ConnectionService.GetConnectionAttempt":      not("its test has attempts of several users"),
	"ConnectionService.DescribeConnectionAttempt": not(ticketed), "ConnectionService.DecideConnectionAttempt": not(ticketed),
	"ConnectionService.CompleteConnectionAttempt": not(ticketed), "ConnectionService.ResolveConnection": not(namesIt),

	"AuditService.ListAuditRecords": empty(`{"turn_id":"{turn}"}`, `{"subject":"local"}`), "AuditService.RecordAudit": not(namesIt),
	"AuditService.VerifyAudit": not("it is about the chain of the caller's tenant"),

	"LoginService.CreateLogin": not(ofCookie), "LoginService.GetLogin": not(ofCookie), "LoginService.LeaseLogin": not(ofCookie),
	"LoginService.UpdateLogin": not(ofCookie), "LoginService.DeleteLogin": not(ofCookie),

	"GrantService.ListGrants": empty(`{}`), "GrantService.GetGrant": not(ofToken), "GrantService.RevokeGrant": not(ofToken),
	"GrantService.RenewGrants": not("it is about the caller's grants"), "GrantService.CreateGrant": not(namesIt),
	"GrantService.EndGrants": not(namesIt), "GrantService.RedeemGrant": not(namesIt),

	"InferenceService.Generate": not(noObject), "InferenceService.Moderate": not(noObject),
	"InferenceService.ListModels": not(ofMesh), "InferenceService.ResolveModel": not(ofMesh),
	"InferenceService.Embed": not(noObject), "InferenceService.Rerank": not(noObject), "InferenceService.CountTokens": not(noObject),
	"InferenceService.TryModel": not(noObject), "InferenceService.ListModelHealth": not(ofMesh),
	"InferenceService.ResetModelHealth": not(ofMesh),
	"InferenceService.ResolveChain":     not(namesIt), "InferenceService.ListRoutes": empty(`{}`),
	"InferenceService.CreateRoute": not(creates), "InferenceService.GetRoute": missing(`{"name":"{route}"}`),
	"InferenceService.UpdateRoute": missing(`{"route":{"name":"{route}","disabled":true},"update_mask":"disabled"}`),
	"InferenceService.DeleteRoute": missing(`{"name":"{route}"}`),
	"HealthService.GetHealth":      not(ofMesh),
	"BridgeService.CallTool":       not(ofSources), "BridgeService.Discover": not(ofSources), "BridgeService.Forward": not(ofSources),
	"BridgeService.Watch": not(ofSources), "BridgeService.WatchResources": not(ofSources), "BridgeService.Release": not(ofSources),
}

// further lists RPCs that answer in two ways.
var further = map[string]reach{"TurnService.ListTurns": ofOwner(ofSession)}
