package fold

import "callboard/events"

func voicemailOwner(key Key) OwnerRowKey {
	return OwnerRowKey{key.System, events.OwnerRow{Entity: events.EntityVoicemail, ID: key.ID}}
}

// needVoicemail asks for a voicemail and its facets.
func (s *State) needVoicemail(e events.Event) {
	key := keyOf(e.Identity)
	s.Voicemails.need(key)
	s.needOwnerRow(voicemailOwner(key))
}

// applyVoicemail applies an event of a voicemail. Its deletion removes its transcript and recordings. Unlike a
// call, a deleted voicemail can be created again.
func (s *State) applyVoicemail(e events.Event, _ events.Time) (Outcome, error) {
	key := keyOf(e.Identity)
	outcome := replaceRow(s, &s.Voicemails, key, e, voicemail)
	if outcome == Applied && e.Deleted() {
		s.removeFacets(voicemailOwner(key))
	}
	return outcome, nil
}
