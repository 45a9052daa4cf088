package fold

import (
	"slices"

	"github.com/google/uuid"

	"callboard/events"
)

// CallLog is a row of call_log: everything reported of one call, save display names and transcript text.
type CallLog struct {
	Key
	Version   int64
	UpdatedAt events.Time
	CallFacet
	Transcription     Transcription
	RecordingSid      events.Null[string]
	RecordingDuration events.Null[int64]
	Findings
}

// CallFacet is what the call's own event says.
type CallFacet struct {
	CallSid               string
	ParentCallSid         events.Null[string]
	Direction             string
	Status                string
	Outcome               events.Null[string]
	From                  string
	FromDisplay           events.Null[string]
	FromNumber            events.Null[string]
	FromName              events.Null[string]
	To                    string
	ToDisplay             events.Null[string]
	ToNumber              events.Null[string]
	ForwardedFrom         events.Null[string]
	CreatedAt             events.Time
	StartTime             events.Null[events.Time]
	EndTime               events.Null[events.Time]
	Duration              events.Null[int64]
	CallGroupID           events.Null[uuid.UUID]
	AnsweredByExtensionID events.Null[uuid.UUID]
	FromExtensionID       events.Null[uuid.UUID]
	IsEmergency           bool
	RouteSummary          events.Null[string]
	CallOutcomeCode       events.Null[string]
	IsConverted           bool
	ConversionValue       events.Null[string]
	OutcomeSource         events.Null[string]
	IsEdited              bool
	Tags                  string // JSON text
}

func callFacet(c *events.Call) CallFacet {
	return CallFacet{
		CallSid:               c.CallSid,
		ParentCallSid:         c.ParentCallSid,
		Direction:             c.Direction,
		Status:                c.Status,
		Outcome:               c.Outcome,
		From:                  c.From,
		FromDisplay:           c.FromDisplay,
		FromNumber:            c.FromNumber,
		FromName:              c.FromName,
		To:                    c.To,
		ToDisplay:             c.ToDisplay,
		ToNumber:              c.ToNumber,
		ForwardedFrom:         c.ForwardedFrom,
		CreatedAt:             c.CreatedAt,
		StartTime:             c.StartTime,
		EndTime:               c.EndTime,
		Duration:              c.Duration,
		CallGroupID:           c.CallGroupID,
		AnsweredByExtensionID: c.AnsweredByExtensionID,
		FromExtensionID:       c.FromExtensionID,
		IsEmergency:           c.IsEmergency,
		RouteSummary:          c.RouteSummary,
		CallOutcomeCode:       c.CallOutcomeCode,
		IsConverted:           c.IsConverted,
		ConversionValue:       c.ConversionValue,
		OutcomeSource:         c.OutcomeSource,
		IsEdited:              c.IsEdited,
		Tags:                  array(c.Tags),
	}
}

// parties are the extensions whose narrowed keys see the call, each once.
func (c CallFacet) parties() []uuid.UUID {
	answered, from := c.AnsweredByExtensionID, c.FromExtensionID
	switch {
	case answered.Valid && from.Valid && answered != from:
		return []uuid.UUID{answered.Value, from.Value}
	case answered.Valid:
		return []uuid.UUID{answered.Value}
	case from.Valid:
		return []uuid.UUID{from.Value}
	}
	return nil
}

// foldCall applies an event of the call itself.
func (s *State) foldCall(e events.Event, at events.Time) Outcome {
	key := keyOf(e)
	if s.final(e.System, key.ID) {
		return Ignored
	}
	before, existed := s.CallLogs.Get(key)
	if e.Version <= before.Version {
		return Stale
	}
	if e.Deleted() {
		s.endCall(key, before, existed, e)
		return Applied
	}
	next := before
	next.Key, next.Version, next.CallFacet = key, e.Version, callFacet(e.State.(*events.Call))
	owner := callOwner(key)
	moved := !existed || !slices.Equal(before.parties(), next.parties())
	if moved {
		s.hideAnalyses(owner)
	}
	s.settleCall(next, at)
	if moved {
		s.showAnalyses(owner)
	}
	s.showRecordings(owner, next.CallSid)
	return Applied
}

func callOwner(call Key) OwnerRowKey {
	return OwnerRowKey{call.System, events.OwnerRow{Entity: events.EntityCall, ID: call.ID}}
}

// endCall removes a call with all that hangs on it, for good.
func (s *State) endCall(key Key, before CallLog, existed bool, e events.Event) {
	s.endFacets(callOwner(key))
	if existed {
		s.listCall(before, -1)
		s.References.add(-1, before.references()...)
		s.CallLogs.Delete(key)
	}
	s.bury(e.Identity, events.OwnerRow{})
}

// settleCall writes a call's row with its facets as they are now. UpdatedAt moves if a reported value does.
func (s *State) settleCall(next CallLog, at events.Time) {
	owner := callOwner(next.Key)
	transcript, _ := s.Transcripts.Get(owner)
	next.Transcription = transcript.orUnavailable()
	recording, _ := s.newestRecording(owner)
	next.RecordingSid = events.Null[string]{Value: recording.Sid, Valid: recording.Sid != ""}
	next.RecordingDuration = recording.Duration
	next.Findings = s.newestFindings(owner)

	before, existed := s.CallLogs.Get(next.Key)
	if !existed || s.reported(next) != s.reported(before) {
		next.UpdatedAt = at
	}
	s.place(before, existed, next)
	s.CallLogs.Put(next.Key, next)
}

// place keeps a call in the lists that it belongs to, and counts what it refers to.
func (s *State) place(before CallLog, existed bool, next CallLog) {
	if existed {
		s.References.add(-1, before.references()...)
	}
	s.References.add(+1, next.references()...)
	if existed && before.CreatedAt == next.CreatedAt && slices.Equal(before.parties(), next.parties()) {
		return
	}
	if existed {
		s.listCall(before, -1)
	}
	s.listCall(next, +1)
}

func (s *State) listCall(row CallLog, by int64) {
	s.listOwn(own{ListCallLog, &s.ExtensionCalls}, row.Key, row.CreatedAt, row.parties(), by)
}

// settleOwner brings a facet's change to the call it hangs on, if that has arrived.
func (s *State) settleOwner(owner OwnerRowKey, at events.Time) {
	if owner.Entity != events.EntityCall {
		return
	}
	if row, ok := s.CallLogs.Get(Key{owner.System, owner.ID}); ok {
		s.settleCall(row, at)
	}
}

// reported is the row with only what a report shows of it: a reference to what is not there is null, whatever the row holds,
// so that a publisher clearing references to a deleted extension moves nothing.
func (s *State) reported(row CallLog) CallLog {
	row.Version, row.UpdatedAt = 0, 0
	if _, live := s.CallGroups.Get(Key{row.System, row.CallGroupID.Value}); !live {
		row.CallGroupID = events.Null[uuid.UUID]{}
	}
	for _, extension := range []*events.Null[uuid.UUID]{&row.AnsweredByExtensionID, &row.FromExtensionID} {
		if _, live := s.Extensions.Get(Key{row.System, extension.Value}); !live {
			*extension = events.Null[uuid.UUID]{}
		}
	}
	if _, live := s.Representatives.Get(Key{row.System, row.RepresentativeID.Value}); row.RepresentativeID.Valid && !live {
		row.RepresentativeState, row.RepresentativeID = "", events.Null[uuid.UUID]{}
		row.RepresentativeConfidence, row.RepresentativeSource = events.Null[float64]{}, events.Null[string]{}
	}
	return row
}
