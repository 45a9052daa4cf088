package events

import (
	"strings"

	"github.com/google/uuid"
)

// Call is one call log: one leg of a call.
type Call struct {
	ID                    uuid.UUID       `json:"id"`
	PhoneSystemID         uuid.UUID       `json:"phoneSystemId"`
	Version               int64           `json:"version"`
	CallSid               string          `json:"callSid" is:"callSid"` // CA...
	ParentCallSid         Null[string]    `json:"parentCallSid" is:"callSid"`
	Direction             string          `json:"direction" is:"inbound|outbound|internal"`
	Status                string          `json:"status" is:"name"` // completed, no-answer, busy, failed, canceled; others pass through
	Outcome               Null[string]    `json:"outcome"`
	From                  Null[string]    `json:"from"` // null: withheld; lists show ""
	FromDisplay           Null[string]    `json:"fromDisplay"`
	FromNumber            Null[string]    `json:"fromNumber"`
	FromName              Null[string]    `json:"fromName"`
	To                    Null[string]    `json:"to"`
	ToDisplay             Null[string]    `json:"toDisplay"`
	ToNumber              Null[string]    `json:"toNumber"`
	ForwardedFrom         Null[string]    `json:"forwardedFrom"`
	CreatedAt             Time            `json:"createdAt"`
	StartTime             Null[Time]      `json:"startTime"`
	EndTime               Null[Time]      `json:"endTime"`
	Duration              Null[int64]     `json:"duration" is:"seconds"`
	CallGroupID           Null[uuid.UUID] `json:"callGroupId"`
	AnsweredByExtensionID Null[uuid.UUID] `json:"answeredByExtensionId"`
	FromExtensionID       Null[uuid.UUID] `json:"fromExtensionId"`
	IsEmergency           bool            `json:"isEmergency"`
	RouteSummary          Null[string]    `json:"routeSummary" is:"routeSummary"`
	CallOutcomeCode       Null[string]    `json:"callOutcomeCode"`
	IsConverted           bool            `json:"isConverted"`
	ConversionValue       Null[string]    `json:"conversionValue" is:"decimal"`
	OutcomeSource         Null[string]    `json:"outcomeSource"`
	IsEdited              bool            `json:"isEdited"`
	Tags                  []Tag           `json:"tags"` // as they were when they were applied
}

// Tag is a tag as it was when it was applied to a call.
type Tag struct {
	ID         uuid.UUID     `json:"id"`
	Name       string        `json:"name"`
	Group      string        `json:"group"`
	Color      string        `json:"color"`
	Source     string        `json:"source"`
	Confidence Null[float64] `json:"confidence"`
}

// Identity implements [State].
func (c *Call) Identity() Identity {
	return Identity{EntityCall, c.PhoneSystemID, c.ID.String(), c.Version}
}

// check implements [checked].
func (c *Call) check(o *object) {
	size := 0
	for _, tag := range c.Tags {
		size += jsonSize(tag.Name) + jsonSize(tag.Group) + jsonSize(tag.Color) + jsonSize(tag.Source)
	}
	if size > maxTagTexts {
		o.problem("tags", "texts "+atMost(maxTagTexts, "bytes as JSON"))
	}
}

// isDecimal reports whether s is a number of up to 30 digits before and up to 30 after a point.
func isDecimal(s string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return consists(whole, 1, 30, isDigit) && (!point || consists(fraction, 1, 30, isDigit))
}

// Voicemail is one message left by a caller.
type Voicemail struct {
	ID            uuid.UUID       `json:"id"`
	PhoneSystemID uuid.UUID       `json:"phoneSystemId"`
	Version       int64           `json:"version"`
	CallSid       string          `json:"callSid" is:"callSid"`
	From          Null[string]    `json:"from"`
	FromName      Null[string]    `json:"fromName"`
	Duration      int64           `json:"duration" is:"seconds"`
	ExtensionID   Null[uuid.UUID] `json:"extensionId"`
	CallGroupID   Null[uuid.UUID] `json:"callGroupId"`
	Listened      bool            `json:"listened"`
	Archived      bool            `json:"archived"`
	RecordingSid  string          `json:"recordingSid" is:"recordingSid"`
	CreatedAt     Time            `json:"createdAt"`
}

// Identity implements [State].
func (v *Voicemail) Identity() Identity {
	return Identity{EntityVoicemail, v.PhoneSystemID, v.ID.String(), v.Version}
}
