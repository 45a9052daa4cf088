package projectortest

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

// PhoneSystem returns version 1 of a phone system.
func PhoneSystem(id uuid.UUID) *events.PhoneSystem {
	return &events.PhoneSystem{ID: id, Version: 1, Name: "Harbour Dental"}
}

// Call returns version 1 of a completed call that begins now.
func Call(system, id uuid.UUID) *events.Call {
	return &events.Call{
		ID: id, PhoneSystemID: system, Version: 1, CallSid: "CA" + strings.ReplaceAll(id.String(), "-", ""), Direction: "inbound",
		Status: "completed", From: "+14155550123", To: "+14155550100", CreatedAt: events.TimeOf(time.Now()),
	}
}
