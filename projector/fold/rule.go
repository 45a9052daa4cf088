package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// rule is how the events of an entity change the rows.
type rule struct {
	want      func(events.Event)                               // asks for the rows that fold reads
	fold      func(events.Event, events.Time) (Outcome, error) // applies an event at a time of the partition's clock
	fetchable func(events.Identity) []Notice                   // what an event can make fetchable; nil: nothing
}

// rules is the table of the rules of all entities.
func (s *State) rules() map[events.Entity]rule {
	if s.byEntity == nil {
		s.byEntity = map[events.Entity]rule{
			events.EntityPhoneSystem:    replaced(s, &s.PhoneSystems, idOf, s.phoneSystem),
			events.EntityGroup:          {want: replaced(s, &s.Groups, idOf, group).want, fold: s.foldGroup},
			events.EntityExtension:      replaced(s, &s.Topology, topologyKeyOf, extension),
			events.EntityPhone:          replaced(s, &s.Topology, topologyKeyOf, phone),
			events.EntityPhoneNumber:    replaced(s, &s.Topology, topologyKeyOf, phoneNumber),
			events.EntityAgentConfig:    replaced(s, &s.Topology, topologyKeyOf, agentConfig),
			events.EntityCallGroup:      replaced(s, &s.Topology, topologyKeyOf, callGroup),
			events.EntityCallMenu:       replaced(s, &s.Topology, topologyKeyOf, callMenu),
			events.EntityRepresentative: replaced(s, &s.Representatives, keyOf, representative),
			events.EntityClassification: replaced(s, &s.Classifications, classificationKeyOf, classification),
			events.EntityCall:           {s.wantCall, s.foldCall, s.fetchableOfCall},
			events.EntityTranscript:     {s.wantTranscript, s.foldTranscript, of(transcriptOwner, s.fetchableTranscript)},
			events.EntityRecording:      {s.wantRecording, s.foldRecording, of(recordingKeyOf, s.fetchableRecording)},
			events.EntityAnalysis:       {s.wantAnalysis, s.foldAnalysis, of(keyOf, s.fetchableAnalysis)},
			events.EntityVoicemail:      {s.wantVoicemail, s.foldVoicemail, s.fetchableOfVoicemail},
		}
	}
	return s.byEntity
}

func of[K any](key func(events.Identity) K, fetchable func(K) []Notice) func(events.Identity) []Notice {
	return func(id events.Identity) []Notice { return fetchable(key(id)) }
}

// Want asks the tables for the rows that folding the events reads. The deletion of a facet asks for the facet only,
// because it does not name the call or voicemail: see [FacetDeletions].
func (s *State) Want(batch []events.Event) {
	rules := s.rules()
	for _, e := range batch {
		s.Tombstones.want(tombstoneKey(e.Identity))
		if r, ok := rules[e.Entity]; ok {
			r.want(e)
		}
	}
}

// FacetDeletions returns the events of a batch that delete a recording or an analysis. The caller loads what these
// events want before it asks for the rows of the whole batch, and then calls [State.WantOwnerRows].
func FacetDeletions(batch []events.Event) (deletions []events.Event) {
	for _, e := range batch {
		if e.Deleted() && (e.Entity == events.EntityRecording || e.Entity == events.EntityAnalysis) {
			deletions = append(deletions, e)
		}
	}
	return deletions
}

// WantOwnerRows asks for the calls and voicemails of all recordings and analyses that are loaded.
func (s *State) WantOwnerRows() {
	for row := range s.Recordings.Rows() {
		s.wantOwnerRow(row.owner())
	}
	for row := range s.Analyses.Rows() {
		s.wantOwnerRow(row.owner())
	}
}

// wantOwnerRow asks for a call or voicemail with its transcript and, since a deleted call is final, its tombstone.
func (s *State) wantOwnerRow(owner OwnerRowKey) {
	added := s.Transcripts.want(owner)
	if added && owner.Entity == events.EntityCall {
		s.CallLogs.want(Key{owner.System, owner.ID})
		s.Tombstones.want(TombstoneKey{owner.System, owner.Entity, owner.ID.String()})
	}
}

// wantReference asks for the tombstone of what a call refers to.
func (s *State) wantReference(system uuid.UUID, entity events.Entity, id events.Null[uuid.UUID]) {
	if id.Valid {
		s.Tombstones.want(TombstoneKey{system, entity, id.Value.String()})
	}
}
