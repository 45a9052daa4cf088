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
	CallSid               string          `json:"callSid"` // CA...
	ParentCallSid         Null[string]    `json:"parentCallSid"`
	Direction             string          `json:"direction"` // inbound, outbound, internal
	Status                string          `json:"status"`    // completed, no-answer, busy, failed, canceled; others pass through
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
	Duration              Null[int64]     `json:"duration"` // seconds
	CallGroupID           Null[uuid.UUID] `json:"callGroupId"`
	AnsweredByExtensionID Null[uuid.UUID] `json:"answeredByExtensionId"`
	FromExtensionID       Null[uuid.UUID] `json:"fromExtensionId"`
	IsEmergency           bool            `json:"isEmergency"`
	RouteSummary          Null[string]    `json:"routeSummary"`
	CallOutcomeCode       Null[string]    `json:"callOutcomeCode"`
	IsConverted           bool            `json:"isConverted"`
	ConversionValue       Null[string]    `json:"conversionValue"` // decimal
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

func readCall(o *object) State {
	c := &Call{
		ID:                    required(o, "id", identifier),
		PhoneSystemID:         required(o, "phoneSystemId", identifier),
		Version:               readVersion(o),
		CallSid:               required(o, "callSid", callSid),
		ParentCallSid:         nullable(o, "parentCallSid", callSid),
		Direction:             required(o, "direction", oneOf("inbound", "outbound", "internal")),
		Status:                required(o, "status", name),
		Outcome:               nullable(o, "outcome", text),
		From:                  nullable(o, "from", text),
		FromDisplay:           nullable(o, "fromDisplay", text),
		FromNumber:            nullable(o, "fromNumber", text),
		FromName:              nullable(o, "fromName", text),
		To:                    nullable(o, "to", text),
		ToDisplay:             nullable(o, "toDisplay", text),
		ToNumber:              nullable(o, "toNumber", text),
		ForwardedFrom:         nullable(o, "forwardedFrom", text),
		CreatedAt:             required(o, "createdAt", instant),
		StartTime:             nullable(o, "startTime", instant),
		EndTime:               nullable(o, "endTime", instant),
		Duration:              nullable(o, "duration", seconds),
		CallGroupID:           nullable(o, "callGroupId", identifier),
		AnsweredByExtensionID: nullable(o, "answeredByExtensionId", identifier),
		FromExtensionID:       nullable(o, "fromExtensionId", identifier),
		IsEmergency:           required(o, "isEmergency", boolean),
		RouteSummary:          nullable(o, "routeSummary", routeSummary),
		CallOutcomeCode:       nullable(o, "callOutcomeCode", text),
		IsConverted:           required(o, "isConverted", boolean),
		ConversionValue:       nullable(o, "conversionValue", decimal),
		OutcomeSource:         nullable(o, "outcomeSource", text),
		IsEdited:              required(o, "isEdited", boolean),
		Tags:                  list(o, "tags", maxTags, readTag),
	}

	size := 0
	for _, tag := range c.Tags {
		size += jsonSize(tag.Name) + jsonSize(tag.Group) + jsonSize(tag.Color) + jsonSize(tag.Source)
	}
	if size > maxTagTexts {
		o.problem("tags", "texts "+atMost(maxTagTexts, "bytes as JSON"))
	}
	return c
}

func readTag(o *object) Tag {
	return Tag{
		ID:         required(o, "id", identifier),
		Name:       required(o, "name", text),
		Group:      required(o, "group", text),
		Color:      required(o, "color", text),
		Source:     required(o, "source", text),
		Confidence: nullable(o, "confidence", number),
	}
}

func decimal(v value) (string, string) {
	return matching(isDecimal, `must be a decimal number in a string, such as "149.90"`)(v)
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
	CallSid       string          `json:"callSid"`
	From          Null[string]    `json:"from"`
	FromName      Null[string]    `json:"fromName"`
	Duration      int64           `json:"duration"` // seconds
	ExtensionID   Null[uuid.UUID] `json:"extensionId"`
	CallGroupID   Null[uuid.UUID] `json:"callGroupId"`
	Listened      bool            `json:"listened"`
	Archived      bool            `json:"archived"`
	RecordingSid  string          `json:"recordingSid"`
	CreatedAt     Time            `json:"createdAt"`
}

// Identity implements [State].
func (v *Voicemail) Identity() Identity {
	return Identity{EntityVoicemail, v.PhoneSystemID, v.ID.String(), v.Version}
}

func readVoicemail(o *object) State {
	return &Voicemail{
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		CallSid:       required(o, "callSid", callSid),
		From:          nullable(o, "from", text),
		FromName:      nullable(o, "fromName", text),
		Duration:      required(o, "duration", seconds),
		ExtensionID:   nullable(o, "extensionId", identifier),
		CallGroupID:   nullable(o, "callGroupId", identifier),
		Listened:      required(o, "listened", boolean),
		Archived:      required(o, "archived", boolean),
		RecordingSid:  required(o, "recordingSid", recordingSid),
		CreatedAt:     required(o, "createdAt", instant),
	}
}
