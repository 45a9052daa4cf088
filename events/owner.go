package events

import (
	"strings"

	"github.com/google/uuid"
)

// OwnerRow is what a transcript or a recording hangs on: one call or one voicemail.
type OwnerRow struct {
	Entity Entity // EntityCall, EntityVoicemail, or empty where the owner isn't known
	ID     uuid.UUID
}

// Key is "call/<id>" or "voicemail/<id>".
func (o OwnerRow) Key() string { return string(o.Entity) + "/" + o.ID.String() }

// OwnerRowOf is the OwnerRow that a state's callId and voicemailId name.
func OwnerRowOf(callID, voicemailID Null[uuid.UUID]) OwnerRow {
	switch {
	case callID.Valid:
		return OwnerRow{EntityCall, callID.Value}
	case voicemailID.Valid:
		return OwnerRow{EntityVoicemail, voicemailID.Value}
	}
	return OwnerRow{}
}

// ParseOwnerRow reads what [OwnerRow.Key] writes; ok is false for anything else.
func ParseOwnerRow(key string) (owner OwnerRow, ok bool) {
	entity, id, _ := strings.Cut(key, "/")
	parsed, err := uuid.Parse(id)
	owner = OwnerRow{Entity(entity), parsed}
	return owner, err == nil && owner.Key() == key
}

func readOwner(o *object) OwnerRow {
	call, voicemail := nullable(o, "callId", identifier), nullable(o, "voicemailId", identifier)
	checkOwner(o, call, voicemail)
	return OwnerRowOf(call, voicemail)
}

func checkOwner(o *object, callID, voicemailID Null[uuid.UUID]) {
	if callID.Valid == voicemailID.Valid {
		o.problem("callId", "exactly one of callId and voicemailId is required")
	}
}
