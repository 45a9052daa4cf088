package projector_test

import (
	"testing"

	"callboard/projector"
	"callboard/schema/schematest"
)

func TestLocks_TerminateUnresponsiveOwnersOnly(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	pool := database.RolePool(t, "callboard_projector")
	locks := func() *projector.Locks {
		l, err := projector.NewLocks(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	owner, other := locks(), locks()
	if locked, err := owner.TryLock(t.Context(), []int{1, 2}); err != nil || len(locked) != 2 {
		t.Fatalf("locked = %v, %v, want 1 and 2", locked, err)
	}
	if locked, err := other.TryLock(t.Context(), []int{2, 3}); err != nil || len(locked) != 1 || locked[0] != 3 {
		t.Errorf("locked by the other = %v, %v, want 3", locked, err)
	}
	check := func(checks int) []projector.Session {
		t.Helper()
		terminated, err := other.TerminateUnresponsive(t.Context(), checks)
		if err != nil {
			t.Fatal(err)
		}
		return terminated
	}
	for range 5 {
		if _, err := owner.TryLock(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if terminated := check(1); len(terminated) != 0 {
			t.Errorf("terminated although the owner sends statements = %v, want none", terminated)
		}
	}
	// The operator sees who owns what, in sessions of another role.
	operator := database.Connect(t, "callboard_operator", nil)
	const owners = "select count(application_name) from control.partition_owner"
	if seen := schematest.QueryOne[int](t, operator, owners); seen != 3 {
		t.Errorf("partitions with an owner = %d, want 3", seen)
	}
	if terminated := check(2); len(terminated) != 0 {
		t.Errorf("terminated after one silent check = %v, want none", terminated)
	}
	if terminated := check(2); len(terminated) != 1 || terminated[0].PID == 0 {
		t.Errorf("terminated after two silent checks = %v, want the owner of 1 and 2", terminated)
	}
	if _, err := owner.TryLock(t.Context(), nil); err == nil {
		t.Error("the terminated owner's connection works")
	}
	if err := other.Unlock(t.Context(), 3); err != nil {
		t.Error(err)
	}
}
