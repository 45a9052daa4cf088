package rebuild_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
	"callboard/schema"
)

// register makes projectors record notices.
func (h *harness) register() {
	h.Helper()
	h.Exec(`insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state)
		values (gen_random_uuid(), 'n', 'https://example.com', '{call.ended}', 'system', gen_random_uuid(), 'active')`)
}

// publishCalls publishes ended calls of each partition. Each makes one notice.
func (h *harness) publishCalls(ofEach int) {
	h.Helper()
	for range ofEach {
		for partition := range h.Partitions {
			h.PublishStates(projectortest.Call(h.NewSystemIn(partition), uuid.New()))
		}
	}
}

// newAnnouncedHarness returns a harness whose projector has written notices of events of each partition, and was
// stopped.
func newAnnouncedHarness(t *testing.T) (*harness, []events.Event) {
	t.Helper()
	h := newHarness(t)
	h.register()
	stop := h.StartProjector()
	history := sampleEvents(31, 60)
	h.Publish(history...)
	h.publishCalls(1)
	h.WaitUntilCaughtUp()
	stop()
	return h, history
}

// noticesSQL has a line for each notice.
const noticesSQL = "select concat_ws(' ', stream, partition, sequence, ordinal, id, recorded_at) from webhook.notice order by 1"

func (h *harness) notices() []string {
	h.Helper()
	return projectortest.Query[string](h.Harness, noticesSQL)
}

func (h *harness) requireNotices(when string, want []string) {
	h.Helper()
	if got := h.notices(); !slices.Equal(got, want) {
		h.Errorf("%s: notices = %d, want the %d of before: %q", when, len(got), len(want), got)
	}
}

// requireNoticesOfCalls requires that ended calls of each partition, which are published now, make the only new
// notices.
func (h *harness) requireNoticesOfCalls(when string, ofEach int) {
	h.Helper()
	before := int64(len(h.notices()))
	h.publishCalls(ofEach)
	h.WaitUntilCaughtUp()
	h.requireCount(when+": new notices", int64(ofEach*h.Partitions), "select count(*) - $1 from webhook.notice", before)
	h.requireCount(when+": notices above the floor", 0, `
		select count(*)
		from webhook.notice n
		left join webhook.floor f using (stream, partition)
		where n.sequence > coalesce(f.sequence, 0)`)
}

// requireFloors requires that the floor of every partition is its position.
func (h *harness) requireFloors(when string) {
	h.Helper()
	h.requireCount(when+": floors at the positions", int64(h.Partitions), `
		select count(*)
		from projection.position
		join webhook.floor using (stream, partition, sequence)`)
}

func (h *harness) requireWithoutNotices(when string, result rebuild.Result, want int) {
	h.Helper()
	if result.WithoutNotices != want {
		h.Errorf("%s: partitions without notices = %d, want %d", when, result.WithoutNotices, want)
	}
}

func TestOperations_AnnounceNothingTwice(t *testing.T) {
	h, history := newAnnouncedHarness(t)
	// Messages that make no notices, so that the positions are above the floors.
	h.PublishStates(projectortest.PhoneSystem(uuid.New()))
	stop := h.StartProjector()
	h.WaitUntilCaughtUp()
	stop()
	want := h.notices()
	if len(want) == 0 {
		t.Fatal("notices = 0, want some")
	}
	h.requireWithoutNotices("rebuild", h.rebuild(), 0)
	h.requireNotices("rebuild", want)
	h.requireFloors("rebuild")
	h.requireWithoutNotices("rollback", h.rollback(), 0)
	h.requireWithoutNotices("rollback", h.rollback(), 0)
	h.requireNotices("rollback", want)
	h.requireFloors("rollback")
	h.requireVerified("verify")
	if _, err := rebuild.Repair(t.Context(), h.config(), systemsOf(history)[0]); err != nil {
		t.Fatal(err)
	}
	h.requireNotices("verify and repair", want)
}

// A projection that is created again has the floors of the notices, which no switch has raised.
func TestRecreateProjection_AnnouncesNothingTwice(t *testing.T) {
	h, _ := newAnnouncedHarness(t)
	want := h.notices()
	if err := schema.RecreateProjection(t.Context(), h.Database.URL()); err != nil {
		t.Fatal(err)
	}
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireNotices("projection created again", want)
	h.requireNoticesOfCalls("afterwards", 1)
}

// Calls that end while generations are built and switched are applied and announced once.
func TestRun_AnnouncesEventsMeanwhileOnce(t *testing.T) {
	h := newHarness(t)
	h.register()
	h.StartProjector()
	h.publishCalls(5)
	h.WaitUntilCaughtUp()
	publish := func() { h.publishCalls(5) }
	rebuilt := h.rebuild(onStep(rebuild.StepLoad, publish), onStep(rebuild.StepIndex, publish), onStep(rebuild.StepSwitch, publish))
	h.requireWithoutNotices("rebuild", rebuilt, 0)
	h.publishCalls(5)
	h.requireWithoutNotices("rollback", h.rollback(), 0)
	h.WaitUntilCaughtUp()
	h.requireCount("notices", int64(25*h.Partitions), "select count(*) from webhook.notice")
	h.requireCount("events", int64(25*h.Partitions), "select count(distinct id) from webhook.notice")
	h.requireCalls(int64(25 * h.Partitions))
	h.requireVerified("rolled back")
}

// What only a rebuild has folded is not announced. It says of how many partitions, if there is an endpoint.
func TestRun_CountsPartitionsWithoutNoticesOfReplacedStream(t *testing.T) {
	h, history := newAnnouncedHarness(t)
	want := h.notices()
	h.ReplaceStream()
	h.Publish(history...)
	h.publishPoison()
	h.requireWithoutNotices("rebuild", h.rebuild(), h.Partitions)
	h.requireNotices("rebuild", want)
	h.requireFloors("rebuild")
	h.requireWithoutNotices("second rebuild", h.rebuild(), 0)
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireNotices("continued", want)
	h.requireNoticesOfCalls("continued", 1)

	h.ReplaceStream()
	h.Publish(history...)
	h.Exec("update webhook.endpoint set state = 'removed'")
	h.requireWithoutNotices("rebuild without an endpoint", h.rebuild(), 0)
}

// Of a partition that no projector has claimed, messages above the floor were not announced.
func TestRun_CountsUnclaimedPartitions(t *testing.T) {
	h := newHarness(t)
	h.register()
	h.publishCalls(3)
	h.Exec(`insert into webhook.floor select $1, partition, $2 from unnest('{0,2}'::smallint[]) partition`,
		h.StreamID(), 2*h.Partitions)
	h.requireWithoutNotices("rebuild", h.rebuild(), h.Partitions)
	h.requireFloors("rebuild")
	h.requireNotices("rebuild", nil)
	h.StartProjector()
	h.requireNoticesOfCalls("claimed", 1)
}

// New messages have the sequences of those that the stream has lost. They are announced although the floors were
// above them; notices of the lost ones are deleted.
func TestRun_AnnouncesNewMessagesAfterLostOnes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		grown int // calls of each partition since the loss
	}{{"noticed at once", 0}, {"noticed after it has grown", 20}} {
		t.Run(test.name, func(t *testing.T) {
			h, _ := newAnnouncedHarness(t)
			h.loseMessages("projection")
			h.Exec(`
				update webhook.floor f set sequence = p.sequence from projection.position p where p.partition = f.partition;
				insert into webhook.fanout select * from webhook.floor;
				update webhook.endpoint set stream = f.stream, from_sequence = f.sequence from webhook.floor f;
				insert into webhook.notice (stream, partition, sequence, ordinal, id, kind, system_id, call_sid, at)
				select stream, partition, sequence, 0, 'evt_lost', 'call.ended', gen_random_uuid(), 'CA', now() from webhook.floor`)
			h.publishCalls(test.grown)
			h.requireWithoutNotices("rebuild", h.rebuild(), min(test.grown, 1)*h.Partitions)
			h.requireFloors("rebuild")
			if test.grown == 0 {
				h.requireCount("lost notices", 0, "select count(*) from webhook.notice where id = 'evt_lost'")
				h.requireCount("cursors above the floor", 0, `select count(*)
					from webhook.fanout c
					join webhook.floor f using (stream, partition)
					where c.sequence > f.sequence`)
				h.requireCount("endpoints above the floor", 0,
					"select count(*) from webhook.endpoint where from_sequence > (select max(sequence) from webhook.floor)")
			}
			h.StartProjector()
			h.requireNoticesOfCalls("continued", 2)
		})
	}
}
