package lock_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
	"callboard/projector/lock"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(8)
	schematest.Run(m)
}

func TestLocks_TerminateUnresponsiveOwnersOnly(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	pool := database.RolePool(t, "callboard_projector")
	locks := func() *lock.Locks {
		l, err := lock.New(t.Context(), lock.Partitions, pool, pool)
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
	check := func(checks int) []lock.Session {
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
	operator, err := pgx.Connect(t.Context(), database.RoleURL("callboard_operator"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = operator.Close(context.Background()) }()
	var seen int
	if err := operator.QueryRow(t.Context(), "select count(application_name) from control.partition_owner").Scan(&seen); err != nil || seen != 3 {
		t.Errorf("partitions with an owner = %d, %v, want 3", seen, err)
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

// Locks of one class are not those of another.
func TestLocks_OfAClass(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	pool := database.RolePool(t, "callboard_projector")
	for _, class := range []int32{lock.Partitions, lock.Shards} {
		l, err := lock.New(t.Context(), class, pool, pool)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		if locked, err := l.TryLock(t.Context(), []int{1}); err != nil || len(locked) != 1 {
			t.Errorf("locked of class %x = %v, %v, want 1", class, locked, err)
		}
	}
	var partitions, shards int
	err := database.Pool(t).QueryRow(t.Context(),
		"select (select count(*) from control.partition_owner), (select count(*) from webhook.shard_owner)").Scan(&partitions, &shards)
	if err != nil || partitions != 1 || shards != 1 {
		t.Errorf("partitions and shards with an owner = %d, %d, %v, want 1 and 1", partitions, shards, err)
	}
}

// A fan-out holds a lock of the class with a negative key. It owns nothing, so it is not terminated, however long a statement takes.
func TestLocks_OfAFanOut(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	pool := database.RolePool(t, "callboard_webhooks")
	fanOut, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fanOut.Rollback(context.Background()) }()
	schematest.Exec(t, fanOut, "select pg_advisory_xact_lock_shared($1, -1)", lock.Shards)
	l, err := lock.New(t.Context(), lock.Shards, pool, pool)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for range 3 {
		if terminated, err := l.TerminateUnresponsive(t.Context(), 1); err != nil || len(terminated) != 0 {
			t.Errorf("terminated = %v, %v, want none", terminated, err)
		}
	}
}
