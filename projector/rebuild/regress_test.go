package rebuild_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// A stream that ends before the positions has lost messages, and what it grows into is something else: the projector stops, whether it
// looks before or after the stream has grown past its position, and a rebuild takes the stream as it is.
func TestRun_StreamRegressed(t *testing.T) {
	for name, late := range map[string]bool{"noticed at once": false, "noticed when it has grown again": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			stop := s.Start()
			s.Publish(company(5, 60)...)
			s.CaughtUp()
			stop()
			// As if the stream had held ten messages more of each partition, which were applied.
			s.exec("update projection.position set sequence = sequence + 10, message = sequence + 10, stored = clock")
			system := uuid.New()
			if late {
				for range 80 {
					s.Change(projectortest.Call(system, uuid.New()))
				}
			}
			s.Start()
			if _, err := rebuild.Verify(t.Context(), s.config()); err == nil {
				t.Error("verified against a stream that isn't the one")
			}
			s.rebuild()
			for range 20 {
				s.Change(projectortest.Call(system, uuid.New()))
			}
			s.CaughtUp()
			want := int64(20)
			if late {
				want = 100
			}
			if n := s.Number("select count(*) from projection.call_log where system_id = $1", system); n != want {
				t.Errorf("%d calls, want %d", n, want)
			}
			s.mustVerify("after the rebuild")
		})
	}
}
