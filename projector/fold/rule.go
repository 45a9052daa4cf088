package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// rule is how the events of an entity change the rows.
type rule struct {
	need      func(events.Event)                               // asks for the rows that apply reads
	apply     func(events.Event, events.Time) (Outcome, error) // applies an event at a time of the partition's clock
	fetchable func(events.Identity) []Notice                   // what an event can make fetchable; nil: nothing
}

// rules is the table of the rules of all entities.
func (s *State) rules() map[events.Entity]rule {
	if s.byEntity == nil {
		s.byEntity = map[events.Entity]rule{
			events.EntityPhoneSystem: replaced(s, &s.PhoneSystems, idOf, s.phoneSystem),
			events.EntityGroup:       {need: replaced(s, &s.Groups, idOf, group).need, apply: s.applyGroup},

			events.EntityExtension:   replaced(s, &s.Topology, topologyKeyOf, extension),
			events.EntityPhone:       replaced(s, &s.Topology, topologyKeyOf, phone),
			events.EntityPhoneNumber: replaced(s, &s.Topology, topologyKeyOf, phoneNumber),
			events.EntityAgentConfig: replaced(s, &s.Topology, topologyKeyOf, agentConfig),
			events.EntityCallGroup:   replaced(s, &s.Topology, topologyKeyOf, callGroup),
			events.EntityCallMenu:    replaced(s, &s.Topology, topologyKeyOf, callMenu),

			events.EntityRepresentative: replaced(s, &s.Representatives, keyOf, representative),
			events.EntityClassification: replaced(s, &s.Classifications, classificationKeyOf, classification),

			// Webhooks tell what these events make fetchable.
			events.EntityCall:       {s.needCall, s.applyCall, s.fetchableOfCall},
			events.EntityTranscript: {s.needTranscript, s.applyTranscript, of(transcriptOwner, s.fetchableTranscript)},
			events.EntityRecording:  {s.needRecording, s.applyRecording, of(recordingKeyOf, s.fetchableRecording)},
			events.EntityAnalysis:   {s.needAnalysis, s.applyAnalysis, of(keyOf, s.fetchableAnalysis)},
			events.EntityVoicemail:  {s.needVoicemail, s.applyVoicemail, s.fetchableOfVoicemail},
		}
	}
	return s.byEntity
}

func of[K any](key func(events.Identity) K, fetchable func(K) []Notice) func(events.Identity) []Notice {
	return func(id events.Identity) []Notice { return fetchable(key(id)) }
}

// Need asks the tables for the rows that folding the events reads. The deletion of a facet asks for the facet only,
// because it does not name the call or voicemail: see [FacetDeletions].
func (s *State) Need(list []events.Event) {
	rules := s.rules()
	for _, e := range list {
		s.Tombstones.need(tombstoneKey(e.Identity))
		if r, ok := rules[e.Entity]; ok {
			r.need(e)
		}
	}
}

// FacetDeletions returns the events of a list that delete a recording or an analysis. The caller loads what these
// events need before it asks for the rows of the whole list, and then calls [State.NeedOwnerRows].
func FacetDeletions(list []events.Event) (deletions []events.Event) {
	for _, e := range list {
		if e.Deleted() && (e.Entity == events.EntityRecording || e.Entity == events.EntityAnalysis) {
			deletions = append(deletions, e)
		}
	}
	return deletions
}

// NeedOwnerRows asks for the calls and voicemails of all recordings and analyses that are loaded.
func (s *State) NeedOwnerRows() {
	for row := range s.Recordings.Rows() {
		s.needOwnerRow(row.owner())
	}
	for row := range s.Analyses.Rows() {
		s.needOwnerRow(row.owner())
	}
}

// needOwnerRow asks for a call or voicemail with its transcript and, since a deleted call is final, its tombstone.
func (s *State) needOwnerRow(owner OwnerRowKey) {
	added := s.Transcripts.need(owner)
	if added && owner.Entity == events.EntityCall {
		s.CallLogs.need(Key{owner.System, owner.ID})
		s.Tombstones.need(TombstoneKey{owner.System, owner.Entity, owner.ID.String()})
	}
}

// needReference asks for the tombstone of what a call refers to.
func (s *State) needReference(system uuid.UUID, entity events.Entity, id events.Null[uuid.UUID]) {
	if id.Valid {
		s.Tombstones.need(TombstoneKey{system, entity, id.Value.String()})
	}
}
