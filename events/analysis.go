package events

import "github.com/google/uuid"

// Analysis is one analysis of a call.
type Analysis struct {
	ID                uuid.UUID           `json:"id"`
	PhoneSystemID     uuid.UUID           `json:"phoneSystemId"`
	Version           int64               `json:"version"`
	CallID            uuid.UUID           `json:"callId"`
	CallSid           string              `json:"callSid" is:"callSid"`
	Status            string              `json:"status" is:"pending|processing|completed|failed"`
	OverallScore      Null[int64]         `json:"overallScore" is:"0..100"`
	AnalyzedAt        Null[Time]          `json:"analyzedAt"`
	CreatedAt         Time                `json:"createdAt"`
	CoachingTips      []string            `json:"coachingTips" is:"any text"`
	Category          Null[string]        `json:"category" is:"name"` // a code
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
	Code  string        `json:"code" is:"name"`
	Score Null[float64] `json:"score"`
}

// RepresentativeRole is what an analysis found about the person who handled the call.
type RepresentativeRole struct {
	State      string          `json:"state" is:"identified|unknown|not_analyzed"`
	ID         Null[uuid.UUID] `json:"id"` // required when identified
	Confidence Null[float64]   `json:"confidence"`
	Source     Null[string]    `json:"source"`
}

// Identity implements [State].
func (a *Analysis) Identity() Identity {
	return Identity{EntityAnalysis, a.PhoneSystemID, a.ID.String(), a.Version}
}

// check implements [checked].
func (a *Analysis) check(o *object) {
	size := 0
	for _, tip := range a.CoachingTips {
		size += jsonSize(tip)
	}
	if size > maxTipTexts {
		o.problem("coachingTips", atMost(maxTipTexts, "bytes as JSON"))
	}
}

// check implements [checked].
func (r *RepresentativeRole) check(o *object) {
	if r.State == "identified" && !r.ID.Valid {
		o.problem("id", "is required when state is identified")
	}
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

// Classification defines a code of one kind: for one phone system, or globally where PhoneSystemID is null.
type Classification struct {
	PhoneSystemID Null[uuid.UUID] `json:"phoneSystemId" is:"not nil"`
	Version       int64           `json:"version"`
	Kind          string          `json:"kind" is:"code kind"` // category, overall_sentiment, employee_sentiment, customer_sentiment
	Code          string          `json:"code" is:"name"`
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

// check implements [checked].
func (c *Classification) check(o *object) {
	if c.Kind == KindCategory && c.Score.Valid {
		o.problem("score", "must be null for a category")
	}
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
