package rebuild_test

import (
	"sync"
	"testing"

	"callboard/projector/rebuild"
)

// A verification compares up to the position, whether or not a projector advances it.
func TestVerify_ProjectorIsBehindOrStopped(t *testing.T) {
	t.Parallel()
	history := sampleEvents(11, 200)
	h := newStoppedHarness(t, history[:len(history)/2])
	h.Publish(history[len(history)/2:]...)
	h.requireVerified("stopped and behind")
	h.requireRebuilt()
	h.StartProjector()
	h.WaitUntilCaughtUp()
	h.requireVerified("caught up")
}

func TestVerify_TwoOperatorsAtATime(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(11, 50))
	config := h.config()
	config.Database = h.RolePool("callboard_operator", nil)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			result, err := rebuild.Verify(t.Context(), config)
			if err != nil || result.Differs() || result.Rows == 0 {
				t.Errorf("comparison = %+v, error = %v, want rows without differences", result, err)
			}
		})
	}
	both.Wait()
}

func TestVerify_WhileEventsArrive(t *testing.T) {
	t.Parallel()
	h, _ := newAppliedHarness(t, sampleEvents(31, 50))
	h.publishPoison()
	stop := h.startLoad(100)
	for range 4 {
		h.requireVerified("while events arrive")
	}
	stop()
	h.WaitUntilCaughtUp()
	h.requireVerified("afterwards")
}

// A snapshot is idle while messages are folded and compared. The server's limit for idle transactions does not end it.
func TestVerify_ServerLimitsIdleTransactions(t *testing.T) {
	t.Parallel()
	h := newStoppedHarness(t, sampleEvents(11, 50))
	config := h.config()
	config.Database = h.RolePool("callboard_operator", map[string]string{"idle_in_transaction_session_timeout": "1ms"})
	if result, err := rebuild.Verify(t.Context(), config); err != nil || result.Differs() {
		t.Fatalf("comparison = %+v, error = %v, want no differences", result, err)
	}
}
