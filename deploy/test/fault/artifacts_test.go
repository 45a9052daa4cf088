package fault_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
)

// artifactsPerSecond is how many artifacts are published: a call's four and a voicemail's two at every interval.
const artifactsPerSecond = 6 * int(time.Second/loadInterval)

// artifacts publishes calls and voicemails with all that belongs to them, until it is stopped.
type artifacts struct {
	tb        testing.TB
	publisher *events.Publisher
	random    *rand.Rand
	systems   []uuid.UUID

	publishing sync.Mutex                            // held while artifacts are published
	number     int64                                 // of the last call and voicemail
	fired      map[uuid.UUID]map[string]webhook.Kind // the events that follow, by phone system and id
	stop       func()                                // the end of the test calls it too
}

func newArtifacts(tb testing.TB, seed uint64, publisher *events.Publisher) *artifacts {
	tb.Helper()
	a := &artifacts{tb: tb, publisher: publisher, random: rand.New(rand.NewPCG(seed, 3)), stop: func() {}}
	a.fired = map[uuid.UUID]map[string]webhook.Kind{}
	for range webhookSystems {
		system := uuid.New()
		a.systems = append(a.systems, system)
		a.fired[system] = map[string]webhook.Kind{}
	}
	return a
}

func (a *artifacts) publishSystems() {
	a.tb.Helper()
	for _, system := range a.systems {
		if err := a.publisher.Publish(a.tb.Context(), events.Changed(&events.PhoneSystem{ID: system, Version: 1, Name: "Office"})); err != nil {
			a.tb.Fatal(err)
		}
	}
}

// start publishes a call and a voicemail at an interval, in the background.
func (a *artifacts) start() {
	a.stop = eventstest.Run(a.tb, a.run)
}

func (a *artifacts) run(ctx context.Context) error {
	tick := time.NewTicker(loadInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := a.publish(1); err != nil {
			return err
		}
	}
}

// publish returns when the stream has stored more calls and voicemails, with all that belongs to them in random order.
func (a *artifacts) publish(count int) error {
	a.publishing.Lock()
	defer a.publishing.Unlock()
	var list []events.Event
	for range count {
		for _, state := range a.next() {
			list = append(list, events.Changed(state))
		}
	}
	return a.publisher.Publish(a.tb.Context(), list...)
}

// next returns a call and a voicemail of the next phone system, and notes which events follow.
func (a *artifacts) next() []events.State {
	a.number++
	system, version := a.systems[a.number%webhookSystems], 1+a.number%5
	list := append(a.call(system, version), a.voicemail(system, version)...)
	a.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// note notes that an event follows.
func (a *artifacts) note(kind webhook.Kind, system uuid.UUID, key string, version int64) {
	a.fired[system][webhook.ID(kind, system, key, version)] = kind
}

func (a *artifacts) sid(prefix string) string { return fmt.Sprintf("%s%032d", prefix, a.number) }

func (a *artifacts) call(system uuid.UUID, version int64) []events.State {
	id, analysis, sid, recording, at := uuid.New(), uuid.New(), a.sid("CA"), a.sid("RE"), events.TimeOf(historyEnd())
	a.note(webhook.CallEnded, system, id.String(), 0)
	a.note(webhook.RecordingAvailable, system, recording, version)
	a.note(webhook.TranscriptionCompleted, system, "call/"+id.String(), version)
	a.note(webhook.AnalysisCompleted, system, analysis.String(), version)
	return []events.State{
		&events.Call{
			ID: id, PhoneSystemID: system, Version: version, CallSid: sid, Direction: "inbound", Status: "completed",
			From: events.Some("+14155550123"), To: events.Some("+14155550100"), CreatedAt: at,
		},
		&events.Recording{
			RecordingSid: recording, PhoneSystemID: system, CallID: events.Some(id), Version: version, Status: events.RecordingReady,
			CreatedAt: at, Audio: &events.Audio{Key: "audio", ContentType: "audio/wav", Bytes: 1},
		},
		&events.Transcript{
			PhoneSystemID: system, CallID: events.Some(id), Version: version, Status: events.TranscriptCompleted, Text: events.Some("Hello."),
		},
		&events.Analysis{
			ID: analysis, PhoneSystemID: system, Version: version, CallID: id, CallSid: sid, Status: events.AnalysisCompleted, CreatedAt: at,
		},
	}
}

func (a *artifacts) voicemail(system uuid.UUID, version int64) []events.State {
	id := uuid.New()
	a.note(webhook.VoicemailCreated, system, id.String(), version)
	a.note(webhook.TranscriptionCompleted, system, "voicemail/"+id.String(), version)
	return []events.State{
		&events.Voicemail{
			ID: id, PhoneSystemID: system, Version: version, CallSid: a.sid("CA"), From: events.Some("+14155550123"), RecordingSid: a.sid("REvoicemail"),
			CreatedAt: events.TimeOf(historyEnd()),
		},
		&events.Transcript{
			PhoneSystemID: system, VoicemailID: events.Some(id), Version: version, Status: events.TranscriptCompleted,
			Text: events.Some("Hello."),
		},
	}
}
