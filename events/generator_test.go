package events_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
)

// anyEvent generates valid events: any entity, changed or deleted.
func anyEvent() *rapid.Generator[events.Event] {
	return rapid.Custom(func(t *rapid.T) events.Event {
		e := events.Changed(anyState(rapid.SampledFrom(events.Entities()).Draw(t, "entity")).Draw(t, "state"))
		if rapid.IntRange(0, 9).Draw(t, "deleted") == 0 {
			e = events.Deleted(e.Identity)
		}
		e.ID = attribute().Draw(t, "id")
		e.Source = attribute().Draw(t, "source")
		e.Time = time.Unix(rapid.Int64Range(0, math.MaxUint32).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
		return e
	})
}

func attribute() *rapid.Generator[string] { return rapid.StringMatching(`[!-~][ -~]{0,60}[!-~]`) }

// anyState generates an entity's state. Each member is random within what its type and the tables below allow.
func anyState(entity events.Entity) *rapid.Generator[events.State] {
	return rapid.Custom(func(t *rapid.T) events.State {
		state := newState(entity)
		fill(t, reflect.ValueOf(state).Elem())
		return state
	})
}

// newState returns a pointer to the zero state of an entity.
func newState(entity events.Entity) events.State {
	states := []events.State{
		new(events.PhoneSystem), new(events.Group), new(events.AgentConfig), new(events.Extension), new(events.Phone), new(events.PhoneNumber),
		new(events.CallGroup), new(events.CallMenu), new(events.Representative), new(events.Classification),
		new(events.Call), new(events.Transcript), new(events.Recording), new(events.Analysis), new(events.Voicemail),
	}
	return states[slices.IndexFunc(states, func(s events.State) bool { return s.Identity().Entity == entity })]
}

// anyText generates any text without NUL.
func anyText() *rapid.Generator[string] {
	return rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 }))
}

// patterns returns the generators of strings that are not free text, by type and member.
func patterns() map[string]*rapid.Generator[string] {
	sid := rapid.StringMatching(`RE[A-Za-z0-9_-]{1,62}`)
	word := rapid.StringMatching(`[a-z_]{1,12}`)
	of := func(words ...string) *rapid.Generator[string] { return rapid.SampledFrom(words) }
	return map[string]*rapid.Generator[string]{
		"AgentConfig.Status":       of("active", "inactive", "paused", "archived", "testing"),
		"PhoneNumber.PhoneNumber":  rapid.StringMatching(`\+[1-9][0-9]{1,14}`),
		"PhoneNumber.Origin":       of("managed", "carrier_hosted"),
		"PhoneNumber.Country":      rapid.StringMatching(`[A-Z]{2}`),
		"Classification.Kind":      of("category", "overall_sentiment", "employee_sentiment", "customer_sentiment"),
		"Classification.Code":      rapid.StringMatching(`[a-z/ ]{1,12}`),
		"Choice.Digit":             of("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#"),
		"Call.CallSid":             word,
		"Call.ParentCallSid":       word,
		"Call.Direction":           of("inbound", "outbound", "internal"),
		"Call.Status":              word,
		"Call.ConversionValue":     rapid.StringMatching(`-?[0-9]{1,30}(\.[0-9]{1,30})?`),
		"Transcript.Status":        of("queued", "running", "completed", "failed", "skipped", "removed"),
		"Object.Bucket":            rapid.Just(events.TranscriptBucket),
		"Object.Name":              word,
		"Object.Digest":            rapid.StringMatching(`SHA-256=[A-Za-z0-9_-]{43}=?`),
		"Recording.RecordingSid":   sid,
		"Recording.Status":         of("processing", "ready", "unavailable"),
		"Audio.Key":                word,
		"Audio.ContentType":        word,
		"Analysis.CallSid":         word,
		"Analysis.Status":          of("pending", "processing", "completed", "failed"),
		"Analysis.Category":        word,
		"Sentiment.Code":           word,
		"RepresentativeRole.State": of("identified", "unknown", "not_analyzed"),
		"Voicemail.CallSid":        word,
		"Voicemail.RecordingSid":   sid,
		"Reference.Type":           of(fetchable()...),
		"Action.Type":              of(append([]string{"forward", "play-audio", "voicemail", "directory", "messaging", "hangup"}, fetchable()...)...),
	}
}

func fetchable() []string {
	return []string{"phone", "extension", "extension-voicemail", "agent-config", "call-group", "call-group-voicemail", "call-menu"}
}

// ranges returns the bounds of integers, by type and member.
func ranges() map[string][2]int64 {
	return map[string][2]int64{
		"AgentConfig.AgentNumber":   {1, 9},
		"Analysis.OverallScore":     {0, 100},
		"Phone.Slot":                {math.MinInt32, math.MaxInt32},
		"Speaker.Ordinal":           {math.MinInt32, math.MaxInt32},
		"Call.Duration":             {0, math.MaxInt32},
		"Voicemail.Duration":        {0, math.MaxInt32},
		"Recording.DurationSeconds": {0, math.MaxInt32},
		"Audio.Bytes":               {0, math.MaxInt64},
		"Object.Bytes":              {0, events.MaxBodyBytes},
	}
}

func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		fillMember(t, v.Type().Name()+"."+v.Type().Field(i).Name, v.Field(i))
	}
	makeConsistent(t, v.Addr().Interface())
}

func fillMember(t *rapid.T, at string, v reflect.Value) {
	switch member := v.Addr().Interface().(type) {
	case *uuid.UUID:
		*member = uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, at))
		member[0] |= 1
		return
	case *events.Time:
		const first, last = -62135596800000, 253402300799999 // years 1 to 9999
		*member = events.Time(rapid.Int64Range(first, last).Draw(t, at))
		return
	}
	switch v.Kind() {
	case reflect.String:
		generator := anyText()
		if pattern, ok := patterns()[at]; ok {
			generator = pattern
		}
		v.SetString(generator.Draw(t, at))
	case reflect.Int64:
		bounds, ok := ranges()[at]
		if !ok {
			bounds = [2]int64{1, math.MaxInt64}
		}
		v.SetInt(rapid.Int64Range(bounds[0], bounds[1]).Draw(t, at))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, at))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, at))
	default:
		fillComposite(t, at, v)
	}
}

func fillComposite(t *rapid.T, at string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Slice:
		n := rapid.IntRange(0, 4).Draw(t, at)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fillMember(t, at, v.Index(i))
		}
	case v.Kind() == reflect.Pointer:
		if rapid.Bool().Draw(t, at) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case strings.HasPrefix(v.Type().Name(), "Null["):
		if rapid.Bool().Draw(t, at) {
			fillMember(t, at, v.FieldByName("Value"))
			v.FieldByName("Valid").SetBool(true)
		}
	default:
		fill(t, v)
	}
}

// makeConsistent changes members that contradict each other.
func makeConsistent(t *rapid.T, state any) {
	switch s := state.(type) {
	case *events.Action:
		makeActionConsistent(s)
	case *events.Classification:
		s.Score.Valid = s.Score.Valid && s.Kind != events.KindCategory
		if !s.Score.Valid {
			s.Score.Value = 0
		}
	case *events.Transcript:
		fillOwnerRow(t, &s.CallID, &s.VoicemailID)
		if s.Object != nil {
			s.Text, s.Turns = events.Null[string]{}, nil
		}
	case *events.Speaker:
		fillSpeaker(t, s)
	case *events.Recording:
		fillOwnerRow(t, &s.CallID, &s.VoicemailID)
		if s.Status == events.RecordingReady && s.Audio == nil {
			s.Status = events.RecordingProcessing
		}
	case *events.RepresentativeRole:
		if s.State == "identified" && !s.ID.Valid {
			s.State = "unknown"
		}
	}
}

func makeActionConsistent(a *events.Action) {
	a.Reference = nil
	if slices.Contains(fetchable(), a.Type) {
		a.Reference = &events.Reference{Type: a.Type, ID: uuid.Max, PhoneSystemID: uuid.Max}
	}
}

func fillOwnerRow(t *rapid.T, call, voicemail *events.Null[uuid.UUID]) {
	id := events.Some(uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "owner")))
	*call, *voicemail = id, events.Null[uuid.UUID]{}
	if rapid.Bool().Draw(t, "of a voicemail") {
		*call, *voicemail = *voicemail, *call
	}
}

func fillSpeaker(t *rapid.T, s *events.Speaker) {
	number := rapid.Int64Range(math.MinInt32, math.MaxInt32).Draw(t, "ordinal")
	*s = rapid.SampledFrom([]events.Speaker{
		{Kind: "role", Role: "agent"}, {Kind: "role", Role: "customer"}, {Kind: "numbered", Ordinal: events.Some(number)}, {Kind: "unattributed"},
	}).Draw(t, "speaker")
}
