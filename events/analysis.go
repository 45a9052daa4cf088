package events

import "github.com/google/uuid"

// Analysis is one analysis of a call.
type Analysis struct {
	ID                uuid.UUID           `json:"id"`
	PhoneSystemID     uuid.UUID           `json:"phoneSystemId"`
	Version           int64               `json:"version"`
	CallID            uuid.UUID           `json:"callId"`
	CallSid           string              `json:"callSid"`
	Status            string              `json:"status"`       // pending, processing, completed, failed
	OverallScore      Null[int64]         `json:"overallScore"` // 0 to 100
	AnalyzedAt        Null[Time]          `json:"analyzedAt"`
	CreatedAt         Time                `json:"createdAt"`
	CoachingTips      []string            `json:"coachingTips"`
	Category          Null[string]        `json:"category"` // a code
	OverallSentiment  *Sentiment          `json:"overallSentiment"`
	EmployeeSentiment *Sentiment          `json:"employeeSentiment"`
	CustomerSentiment *Sentiment          `json:"customerSentiment"`
	SentimentSource   Null[string]        `json:"sentimentSource"`
	ScorecardScore    Null[float64]       `json:"scorecardScore"`
	Representative    *RepresentativeRole `json:"representative"`
}

// AnalysisCompleted is the status of an analysis whose findings a call can show.
const AnalysisCompleted = "completed"

// Sentiment is a classification code with the score that the analysis gave it.
type Sentiment struct {
	Code  string        `json:"code"`
	Score Null[float64] `json:"score"`
}

// RepresentativeRole is what an analysis found about the person who handled the call.
type RepresentativeRole struct {
	State      string          `json:"state"` // identified, unknown, not_analyzed
	ID         Null[uuid.UUID] `json:"id"`    // required when identified
	Confidence Null[float64]   `json:"confidence"`
	Source     Null[string]    `json:"source"`
}

// Identity implements [State].
func (a *Analysis) Identity() Identity {
	return Identity{EntityAnalysis, a.PhoneSystemID, a.ID.String(), a.Version}
}

func readAnalysis(o *object) State {
	a := &Analysis{
		ID:                required(o, "id", identifier),
		PhoneSystemID:     required(o, "phoneSystemId", identifier),
		Version:           readVersion(o),
		CallID:            required(o, "callId", identifier),
		CallSid:           required(o, "callSid", callSid),
		Status:            required(o, "status", oneOf("pending", "processing", AnalysisCompleted, "failed")),
		OverallScore:      nullable(o, "overallScore", integer(0, 100)),
		AnalyzedAt:        nullable(o, "analyzedAt", instant),
		CreatedAt:         required(o, "createdAt", instant),
		CoachingTips:      values(o, "coachingTips", maxTips, storable),
		Category:          nullable(o, "category", name),
		OverallSentiment:  nested(o, "overallSentiment", readSentiment),
		EmployeeSentiment: nested(o, "employeeSentiment", readSentiment),
		CustomerSentiment: nested(o, "customerSentiment", readSentiment),
		SentimentSource:   nullable(o, "sentimentSource", text),
		ScorecardScore:    nullable(o, "scorecardScore", number),
		Representative:    nested(o, "representative", readRepresentativeRole),
	}

	size := 0
	for _, tip := range a.CoachingTips {
		size += jsonSize(tip)
	}
	if size > maxTipTexts {
		o.problem("coachingTips", atMost(maxTipTexts, "bytes as JSON"))
	}
	return a
}

func readSentiment(o *object) Sentiment {
	return Sentiment{Code: required(o, "code", name), Score: nullable(o, "score", number)}
}

func readRepresentativeRole(o *object) RepresentativeRole {
	r := RepresentativeRole{
		State:      required(o, "state", oneOf("identified", "unknown", "not_analyzed")),
		ID:         nullable(o, "id", identifier),
		Confidence: nullable(o, "confidence", number),
		Source:     nullable(o, "source", text),
	}
	if r.State == "identified" && !r.ID.Valid {
		o.problem("id", "is required when state is identified")
	}
	return r
}

// Representative is a person to whom calls are attributed.
type Representative struct {
	ID            uuid.UUID `json:"id"`
	PhoneSystemID uuid.UUID `json:"phoneSystemId"`
	Version       int64     `json:"version"`
	Name          string    `json:"name"`
	Status        string    `json:"status"`
	UpdatedAt     Time      `json:"updatedAt"`
}

// Identity implements [State].
func (r *Representative) Identity() Identity {
	return Identity{EntityRepresentative, r.PhoneSystemID, r.ID.String(), r.Version}
}

func readRepresentative(o *object) State {
	return &Representative{
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		Name:          required(o, "name", text),
		Status:        required(o, "status", text),
		UpdatedAt:     required(o, "updatedAt", instant),
	}
}

// Classification defines a code of one kind: for one phone system, or globally where PhoneSystemID is null.
type Classification struct {
	PhoneSystemID Null[uuid.UUID] `json:"phoneSystemId"`
	Version       int64           `json:"version"`
	Kind          string          `json:"kind"` // category, overall_sentiment, employee_sentiment, customer_sentiment
	Code          string          `json:"code"`
	Label         string          `json:"label"`
	Status        string          `json:"status"`
	Score         Null[float64]   `json:"score"` // null for a category
	UpdatedAt     Time            `json:"updatedAt"`
}

// KindCategory is the kind of classification that has no score.
const KindCategory = "category"

// Identity implements [State].
func (c *Classification) Identity() Identity {
	return Identity{EntityClassification, c.PhoneSystemID.Value, classificationKey(c.Kind, c.Code), c.Version}
}

func readClassification(o *object) State {
	c := &Classification{
		PhoneSystemID: nullable(o, "phoneSystemId", systemOrGlobal),
		Version:       readVersion(o),
		Kind:          required(o, "kind", classificationKind),
		Code:          required(o, "code", name),
		Label:         required(o, "label", text),
		Status:        required(o, "status", text),
		Score:         nullable(o, "score", number),
		UpdatedAt:     required(o, "updatedAt", instant),
	}
	if c.Kind == KindCategory && c.Score.Valid {
		o.problem("score", "must be null for a category")
	}
	return c
}

func classificationKind(v value) (string, string) {
	return oneOf(KindCategory, "overall_sentiment", "employee_sentiment", "customer_sentiment")(v)
}

// systemOrGlobal parses an optional phone system. It refuses the nil UUID, which would be a second form of global.
func systemOrGlobal(v value) (uuid.UUID, string) {
	system, problem := identifier(v)
	if problem == "" && system == uuid.Nil {
		problem = "must not be the nil UUID"
	}
	return system, problem
}

func classificationKey(kind, code string) string { return kind + "/" + code }
