package fold

import "callboard/events"

// foldVoicemail applies an event of a voicemail. Its end removes its transcript and recording; unlike a call, it may come back.
func (s *State) foldVoicemail(e events.Event) Outcome {
	outcome := define(s, &s.Voicemails, keyOf(e), e, voicemail)
	if outcome == Applied && e.Deleted() {
		s.endFacets(OwnerRowKey{e.System, events.OwnerRow{Entity: events.EntityVoicemail, ID: keyOf(e).ID}})
	}
	return outcome
}

func voicemail(v *events.Voicemail) Voicemail {
	return Voicemail{
		Key:          Key{v.PhoneSystemID, v.ID},
		Version:      v.Version,
		CallSid:      v.CallSid,
		From:         v.From,
		FromName:     v.FromName,
		Duration:     v.Duration,
		ExtensionID:  v.ExtensionID,
		CallGroupID:  v.CallGroupID,
		Listened:     v.Listened,
		Archived:     v.Archived,
		RecordingSid: v.RecordingSid,
		CreatedAt:    v.CreatedAt,
	}
}
