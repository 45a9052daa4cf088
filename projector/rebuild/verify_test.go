package rebuild_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/projector/rebuild"
)

// A verification compares up to the position, whether or not a projector advances it.
func TestVerify_ProjectorIsBehindOrStopped(t *testing.T) {
	history := sampleEvents(11, 200)
	h := newStoppedHarness(t, history[:len(history)/2])
	h.Publish(history[len(history)/2:]...)
	h.requireVerified("stopped and behind")
	h.requireRebuilt()
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireVerified("caught up")
}

// An operator may verify, all of it and one phone system, and leaves nothing behind.
func TestVerify_Operator(t *testing.T) {
	history := sampleEvents(11, 50)
	h := newStoppedHarness(t, history)
	config := h.config()
	config.Database = h.Database.RolePool(h, "callboard_operator")
	for _, system := range []uuid.NullUUID{{}, {UUID: systemsOf(history)[0], Valid: true}, {Valid: true}} {
		result, err := rebuild.Verify(t.Context(), config, system)
		if err != nil || result.Differs() || result.Rows == 0 {
			t.Errorf("%v: comparison = %+v, error = %v, want rows without differences", system, result, err)
		}
	}
	h.requireCount("tables that are left", 0, "select count(*) from pg_class where relnamespace = 'verification'::regnamespace and relkind = 'r'")
}
