package replay

import (
	"crypto/sha256"
	"encoding/binary"

	"callboard/events"
	"callboard/projector/fold"
)

// keyHash is the hash of a key. Two keys have different ones.
type keyHash [16]byte

func hashOf(parts ...string) (h keyHash) {
	var text []byte
	for _, part := range parts {
		text = append(append(text, part...), 0)
	}
	digest := sha256.Sum256(text)
	copy(h[:], digest[:])
	return h
}

// number is the part of the hash that decides in which slot a record is folded.
func (h keyHash) number() uint64 { return binary.BigEndian.Uint64(h[:]) }

// route says in which slot of a divided part an event is folded: in that of its call or voicemail. The zero route is the first slot.
type route struct {
	hash  uint64 // of the slot
	all   bool   // the event is folded in all slots
	facet bool   // the slot can turn out to be another one when the facet references are resolved
}

// routeOf routes a message. The event is that of a recording or an analysis. It doesn't matter where a message is folded that can't be
// decoded: it becomes a dead letter.
func routeOf(d *events.Decoder, m events.Message) (route, events.Event) {
	if entity, key, ok := d.DecodeKey(m); ok {
		return routeOfKey(entity, key), events.Event{}
	}
	e, err := d.Decode(m)
	if err != nil {
		return route{}, events.Event{}
	}
	return routeOfEvent(e), e
}

// routeOfKey routes the events of a call or voicemail, or of its transcript.
func routeOfKey(entity events.Entity, key string) route {
	if entity != events.EntityTranscript { // whose key names its call or voicemail
		key = string(entity) + "/" + key
	}
	return route{hash: hashOf(key).number()}
}

func routeOfEvent(e events.Event) route {
	switch e.Entity {
	case events.EntityCall, events.EntityVoicemail, events.EntityTranscript:
		return routeOfKey(e.Entity, e.Key)
	case events.EntityRecording, events.EntityAnalysis:
		return route{hash: facetOwner(e), facet: true}
	default:
		return route{all: fold.LookedUp(e.Entity)}
	}
}

// facetOwner returns the hash of the call or voicemail that an event of a facet names; 0: it names none.
func facetOwner(e events.Event) uint64 {
	switch state := e.State.(type) {
	case *events.Recording:
		return hashOf(state.OwnerRow().Key()).number()
	case *events.Analysis:
		return hashOf(events.OwnerRow{Entity: events.EntityCall, ID: state.CallID}.Key()).number()
	}
	return 0
}

// facetKey returns the hash of a facet's identity.
func facetKey(id events.Identity) keyHash {
	return hashOf(id.System.String(), string(id.Entity), id.Key)
}
