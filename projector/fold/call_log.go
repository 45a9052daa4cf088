package fold

import (
	"slices"

	"github.com/google/uuid"

	"callboard/events"
)

// CallLog is a row of call_log: everything that a report shows of one call, except display names and transcript text.
type CallLog struct {
	Key
	Version   int64       `db:"version"`
	UpdatedAt events.Time `db:"updated_at"`
	CallDetails
	Transcription     Transcription       `db:"transcription_status,transcript_digest,transcript_text_bytes,transcript_turns_bytes"`
	RecordingSid      events.Null[string] `db:"recording_sid"`
	RecordingDuration events.Null[int64]  `db:"recording_duration"`
	Findings
}

// CallDetails is the part of a call's row that comes from the call's own events.
type CallDetails struct {
	CallSid               string                   `db:"call_sid"`
	ParentCallSid         events.Null[string]      `db:"parent_call_sid"`
	Direction             string                   `db:"direction"`
	Status                string                   `db:"status"`
	Outcome               events.Null[string]      `db:"outcome"`
	From                  events.Null[string]      `db:"from_party"`
	FromDisplay           events.Null[string]      `db:"from_display"`
	FromNumber            events.Null[string]      `db:"from_number"`
	FromName              events.Null[string]      `db:"from_name"`
	To                    events.Null[string]      `db:"to_party"`
	ToDisplay             events.Null[string]      `db:"to_display"`
	ToNumber              events.Null[string]      `db:"to_number"`
	ForwardedFrom         events.Null[string]      `db:"forwarded_from"`
	CreatedAt             events.Time              `db:"created_at"`
	StartTime             events.Null[events.Time] `db:"start_time"`
	EndTime               events.Null[events.Time] `db:"end_time"`
	Duration              events.Null[int64]       `db:"duration"`
	CallGroupID           events.Null[uuid.UUID]   `db:"call_group_id"`
	AnsweredByExtensionID events.Null[uuid.UUID]   `db:"answered_by_extension_id"`
	FromExtensionID       events.Null[uuid.UUID]   `db:"from_extension_id"`
	IsEmergency           bool                     `db:"is_emergency"`
	RouteSummary          events.Null[string]      `db:"route_summary"`
	CallOutcomeCode       events.Null[string]      `db:"call_outcome_code"`
	IsConverted           bool                     `db:"is_converted"`
	ConversionValue       events.Null[string]      `db:"conversion_value"`
	OutcomeSource         events.Null[string]      `db:"outcome_source"`
	IsEdited              bool                     `db:"is_edited"`
	Tags                  JSON                     `db:"tags"`
}

func callDetails(c *events.Call) CallDetails {
	return CallDetails{
		CallSid:       c.CallSid,
		ParentCallSid: c.ParentCallSid,

		Direction: c.Direction,
		Status:    c.Status,
		Outcome:   c.Outcome,

		From:          c.From,
		FromDisplay:   c.FromDisplay,
		FromNumber:    c.FromNumber,
		FromName:      c.FromName,
		To:            c.To,
		ToDisplay:     c.ToDisplay,
		ToNumber:      c.ToNumber,
		ForwardedFrom: c.ForwardedFrom,

		CreatedAt: c.CreatedAt,
		StartTime: c.StartTime,
		EndTime:   c.EndTime,
		Duration:  c.Duration,

		CallGroupID:           c.CallGroupID,
		AnsweredByExtensionID: c.AnsweredByExtensionID,
		FromExtensionID:       c.FromExtensionID,

		IsEmergency:  c.IsEmergency,
		RouteSummary: c.RouteSummary,

		CallOutcomeCode: c.CallOutcomeCode,
		IsConverted:     c.IsConverted,
		ConversionValue: c.ConversionValue,
		OutcomeSource:   c.OutcomeSource,

		IsEdited: c.IsEdited,
		Tags:     jsonArray(c.Tags),
	}
}

// extensions returns the extensions whose narrowed keys read the call, each once.
func (c CallDetails) extensions() []uuid.UUID {
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

// needCall asks for a call, and for the tombstones of what it refers to.
func (s *State) needCall(e events.Event) {
	s.needOwnerRow(callOwnerRow(keyOf(e.Identity)))
	if call, ok := e.State.(*events.Call); ok {
		s.needReference(e.System, events.EntityCallGroup, call.CallGroupID)
		s.needReference(e.System, events.EntityExtension, call.AnsweredByExtensionID)
		s.needReference(e.System, events.EntityExtension, call.FromExtensionID)
	}
}

// applyCall applies an event of the call itself.
func (s *State) applyCall(e events.Event, at events.Time) (Outcome, error) {
	key := keyOf(e.Identity)
	if s.callDeleted(e.System, key.ID) {
		return Ignored, nil
	}

	// An event that is not newer is stale, and conflicting where the version has other content.
	before, existed := s.CallLogs.Get(key)
	if e.Version <= before.Version {
		changed := e.Version == before.Version && (e.Deleted() || callDetails(e.State.(*events.Call)) != before.CallDetails)
		return staleOr(changed), nil
	}

	if e.Deleted() {
		s.removeCall(key, before, existed, e)
		return Applied, nil
	}

	// The row keeps what its facets have given.
	next := before
	next.Key, next.Version, next.CallDetails = key, e.Version, callDetails(e.State.(*events.Call))
	s.replaceCall(before, existed, next, at)
	s.setCallSid(callOwnerRow(key), next.CallSid)
	return Applied, nil
}

func callOwnerRow(call Key) OwnerRowKey {
	return OwnerRowKey{call.System, events.OwnerRow{Entity: events.EntityCall, ID: call.ID}}
}

// removeCall removes a call and all its facets. The deletion is final.
func (s *State) removeCall(key Key, before CallLog, existed bool, e events.Event) {
	s.removeFacets(callOwnerRow(key))
	if existed {
		s.countCall(before, -1)
		s.countReferences(before, -1)
		s.CallLogs.Delete(key)
	}
	s.addTombstone(e.Identity, events.OwnerRow{})
}

// replaceCall writes a call's row. Where its extensions change, it counts the call's analyses under the new ones.
func (s *State) replaceCall(before CallLog, existed bool, next CallLog, at events.Time) {
	if existed && slices.Equal(before.extensions(), next.extensions()) {
		s.recomputeCall(next, at)
		return
	}

	// The stored row has the extensions that countAnalysis counts: the old ones here, the new ones after the next call.
	analyses := s.analyses().of(callOwnerRow(next.Key))
	for _, row := range analyses {
		s.countAnalysis(row, -1)
	}

	s.recomputeCall(next, at)

	// Analyses that arrived before their call enter the lists now.
	for key, row := range analyses {
		row.Listed = true
		s.Analyses.Put(key, row)
		s.countAnalysis(row, +1)
	}
}

// recomputeCall writes a call's row with the current values of its facets. UpdatedAt changes if a reported value does.
func (s *State) recomputeCall(next CallLog, at events.Time) {
	owner := callOwnerRow(next.Key)
	transcript, _ := s.Transcripts.Get(owner)
	next.Transcription = transcript.orUnavailable()
	recording, ok := s.newestRecording(owner)
	next.RecordingSid = events.Null[string]{Value: recording.Sid, Valid: ok}
	next.RecordingDuration = recording.Duration
	next.Findings = s.newestFindings(owner)

	// A client that walks by updatedAt reads the call again only where a report shows something new.
	before, existed := s.CallLogs.Get(next.Key)
	next.UpdatedAt = before.UpdatedAt
	if !existed || !s.sameReport(before, next) {
		next.UpdatedAt = at
	}

	s.updateIndexes(before, existed, next)
	s.CallLogs.Put(next.Key, next)
}

// updateIndexes brings the counters, the index by extension and the references of a call to its next row.
func (s *State) updateIndexes(before CallLog, existed bool, next CallLog) {
	if !existed || !before.refersLike(next) {
		if existed {
			s.countReferences(before, -1)
		}
		s.countReferences(next, +1)
	}

	// Counters and entries of extensions depend on the call's time and its extensions alone.
	if existed && before.CreatedAt == next.CreatedAt && slices.Equal(before.extensions(), next.extensions()) {
		return
	}

	if existed {
		s.countCall(before, -1)
	}
	s.countCall(next, +1)
}

func (s *State) countCall(row CallLog, by int64) {
	s.countPerExtension(ListCallLog, row.Key, row.CreatedAt, row.extensions(), by)
}

// recomputeOwner recomputes the call to which a changed facet belongs, if the call has arrived. A voicemail's row
// has no values of its facets.
func (s *State) recomputeOwner(owner OwnerRowKey, at events.Time) {
	if owner.Entity != events.EntityCall {
		return
	}
	if row, ok := s.CallLogs.Get(Key{owner.System, owner.ID}); ok {
		s.recomputeCall(row, at)
	}
}

// sameReport tells whether a report shows the same of a call's rows before and after an event. An event that only clears
// references to deleted rows changes no report.
func (s *State) sameReport(before, after CallLog) bool {
	// Values that depend on no other row are compared first: they differ most often.
	if before.withoutReferences() != after.withoutReferences() {
		return false
	}

	// In both reports, a reference to a deleted row is null.
	reportBefore, reportAfter := s.reported(before), s.reported(after)

	// An event clears the reference to a deleted representative by any state without an id. The first report has null and
	// the second one has that state, which is no difference. A confidence or a source that the row did not have is one.
	deleted := before.RepresentativeID.Valid && !reportBefore.RepresentativeID.Valid
	if deleted && !after.RepresentativeID.Valid && !after.addsToRepresentative(before.Findings) {
		reportAfter.removeRepresentative()
	}
	return reportBefore == reportAfter
}

// addsToRepresentative tells whether the findings have a confidence or a source of the representative that others lack.
func (f Findings) addsToRepresentative(others Findings) bool {
	confidence, source := f.RepresentativeConfidence, f.RepresentativeSource
	return confidence.Valid && confidence != others.RepresentativeConfidence || source.Valid &&
		source != others.RepresentativeSource
}

// withoutReferences returns the row with only the values that a report shows whichever other rows exist.
func (c CallLog) withoutReferences() CallLog {
	c.Version, c.UpdatedAt = 0, 0
	c.CallGroupID, c.AnsweredByExtensionID, c.FromExtensionID = events.Null[uuid.UUID]{}, events.Null[uuid.UUID]{}, events.Null[uuid.UUID]{}
	c.removeRepresentative()
	return c
}

func (f *Findings) removeRepresentative() {
	f.RepresentativeState, f.RepresentativeID = "", events.Null[uuid.UUID]{}
	f.RepresentativeConfidence, f.RepresentativeSource = events.Null[float64]{}, events.Null[string]{}
}

// reported returns the row with only the values that a report shows. A reference to a deleted row is null, so that
// a publisher that clears references to a deleted extension does not change UpdatedAt. A reference to a row that no
// event has defined yet is shown.
func (s *State) reported(row CallLog) CallLog {
	row.Version, row.UpdatedAt = 0, 0

	if s.isDeleted(row.System, events.EntityCallGroup, row.CallGroupID) {
		row.CallGroupID = events.Null[uuid.UUID]{}
	}

	for _, extension := range []*events.Null[uuid.UUID]{&row.AnsweredByExtensionID, &row.FromExtensionID} {
		if s.isDeleted(row.System, events.EntityExtension, *extension) {
			*extension = events.Null[uuid.UUID]{}
		}
	}

	if s.isDeleted(row.System, events.EntityRepresentative, row.RepresentativeID) {
		row.removeRepresentative()
	}
	return row
}

// isDeleted tells whether a reference has a target that was deleted, and was not defined again.
func (s *State) isDeleted(system uuid.UUID, entity events.Entity, id events.Null[uuid.UUID]) bool {
	return id.Valid && s.Tombstones.has(TombstoneKey{system, entity, id.Value.String()})
}
