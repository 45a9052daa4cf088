package events

import (
	"strings"

	"github.com/google/uuid"
)

// Owner is what a transcript or a recording hangs on: one call or one voicemail.
type Owner struct {
	Entity Entity // EntityCall, EntityVoicemail, or empty where the owner isn't known
	ID     uuid.UUID
}

// Key is "call/<id>" or "voicemail/<id>".
func (o Owner) Key() string { return string(o.Entity) + "/" + o.ID.String() }

// OwnerOf is the Owner that a state's callId and voicemailId name.
func OwnerOf(callID, voicemailID Null[uuid.UUID]) Owner {
	switch {
	case callID.Valid:
		return Owner{EntityCall, callID.Value}
	case voicemailID.Valid:
		return Owner{EntityVoicemail, voicemailID.Value}
	}
	return Owner{}
}

// ParseOwner reads what [Owner.Key] writes; ok is false for anything else.
func ParseOwner(key string) (owner Owner, ok bool) {
	entity, id, _ := strings.Cut(key, "/")
	parsed, err := uuid.Parse(id)
	owner = Owner{Entity(entity), parsed}
	return owner, err == nil && owner.Key() == key
}

func readOwner(o *object) Owner {
	call, voicemail := nullable(o, "callId", identifier), nullable(o, "voicemailId", identifier)
	checkOwner(o, call, voicemail)
	return OwnerOf(call, voicemail)
}

func checkOwner(o *object, callID, voicemailID Null[uuid.UUID]) {
	if callID.Valid == voicemailID.Valid {
		o.problem("callId", "exactly one of callId and voicemailId is required")
	}
}
