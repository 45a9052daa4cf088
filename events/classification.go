package events

import (
	"strings"

	"github.com/google/uuid"
)

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
		Code:          required(o, "code", indexed(name)),
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

// systemOrGlobal reads a phone system that may be left out: the nil UUID would be a second way to say global.
func systemOrGlobal(v value) (uuid.UUID, string) {
	system, problem := identifier(v)
	if problem == "" && system == uuid.Nil {
		problem = "must not be the nil UUID"
	}
	return system, problem
}

func classificationKey(kind, code string) string { return kind + "/" + code }

func cutKey(key string) (kind, code string, ok bool) { return strings.Cut(key, "/") }
